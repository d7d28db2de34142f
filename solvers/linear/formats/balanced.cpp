// compiled for each number type, by nvcc where CUDA is on
#include <bit>

#include "solvers/linear/formats/gathered_matrix.hpp"
#include "solvers/linear/formats/row_scan.hpp"

namespace whilst {
namespace {

/// CSR in tiles of up to 1024 nonzeros, one a block of threads, whatever the rows' lengths. A row is whole in a tile if
/// it fits in one. Neighbouring threads read and multiply neighbouring entries; then each adds up a few consecutive
/// products, and what it has of a row that began before it, the block adds up by a scan of sums that begin anew where a
/// row does: after the tiles of W. Liu, B. Vinter, "CSR5: an efficient storage format for cross-platform sparse
/// matrix-vector multiplication", Proc. ICS 2015, and G. Blelloch's segmented scan, "Prefix sums and their
/// applications", 1990. A bit for each entry tells where rows begin.
///
/// What a tile has of a row that began before goes to `first`, and of one that goes on, to `last`. The last of a row's
/// tiles to get there adds these, always in the same order. A further step writes the zeros of empty rows.
constexpr int tile_entries = 1024, word_bits = 32, words_a_tile = tile_entries / word_bits, threads = 256;

struct tile_range {
  std::int32_t begin, end;  ///< of its entries
  std::int32_t came, goes;  ///< rows of several tiles: one that began in an earlier tile, one that goes on; -1 for none
};
/// What is known of 32 entries of a tile.
struct word_of_rows {
  std::uint32_t starts;     ///< bit k: entry k begins a row
  std::int32_t row_before;  ///< of the entry before these: which row, not counting empty ones
};
/// A row that is in several tiles: from the one where it begins, up to the last, included.
struct row_of_tiles {
  std::int32_t row, begins_in, ends_in;
};

struct balanced_layout {
  std::vector<tile_range> tiles;
  std::vector<word_of_rows> words;   ///< of each tile
  std::vector<std::int32_t> row_of;  ///< rows that are not empty; empty if all are
  std::vector<std::int32_t> empty_rows;
  std::vector<row_of_tiles> rows_of_tiles;
};

balanced_layout lay_out(const host_pattern& A) {
  balanced_layout made;
  std::int32_t number = -1;  // of the last row, not counting empty ones
  const auto begin_tile = [&](index_type at) {
    if (!made.tiles.empty()) made.tiles.back().end = static_cast<std::int32_t>(at);
    made.tiles.push_back({static_cast<std::int32_t>(at), 0, -1, -1});
    made.words.resize(made.words.size() + words_a_tile, {0, number});
  };
  const auto entries_left = [&](index_type at) {
    return made.tiles.empty() ? 0 : made.tiles.back().begin + tile_entries - at;
  };
  for (index_type i = 0; i < A.rows(); ++i) {
    index_type at = A.begin(i);
    const index_type end = A.begin(i + 1);
    if (at == end) {
      made.empty_rows.push_back(static_cast<std::int32_t>(i));
      continue;
    }
    const index_type left = entries_left(at);
    if (left == 0 || (end - at > left && end - at <= tile_entries)) begin_tile(at);
    made.row_of.push_back(static_cast<std::int32_t>(i));
    ++number;
    const auto of_tile = static_cast<std::size_t>(at - made.tiles.back().begin);
    word_of_rows* const words = made.words.data() + (made.tiles.size() - 1) * words_a_tile;
    words[of_tile / word_bits].starts |= 1u << (of_tile % word_bits);
    for (std::size_t w = of_tile / word_bits + 1; w < words_a_tile; ++w) words[w].row_before = number;

    if (end - at <= entries_left(at)) continue;
    const auto several = static_cast<std::int32_t>(made.rows_of_tiles.size());
    row_of_tiles row{static_cast<std::int32_t>(i), static_cast<std::int32_t>(made.tiles.size()) - 1, 0};
    made.tiles.back().goes = several;
    while (end - at > entries_left(at)) {
      at += entries_left(at);
      begin_tile(at);
      made.tiles.back().came = several;
    }
    row.ends_in = static_cast<std::int32_t>(made.tiles.size()) - 1;
    made.rows_of_tiles.push_back(row);
  }
  if (!made.tiles.empty()) made.tiles.back().end = static_cast<std::int32_t>(A.nonzeros());
  if (made.empty_rows.empty()) made.row_of.clear();
  return made;
}

WHILST_HD int count_ones(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

/// A tile times x.
template <class T>
struct product_of_tile {
  static constexpr bool whole_block = true;
  static constexpr int blocks_wanted = 5;  // more of them at work hide more of the latency of x; with 6, registers spill
  static constexpr bool fetches_constants = true;  // the pattern; values may be those that a step has scaled
  const tile_range* tiles;
  const word_of_rows* words;
  const std::int32_t *column_indices, *row_of;
  constant_slot<const T> values;
  const row_of_tiles* rows_of_tiles;
  index_type bytes_moved;
  const T* x;
  T *y, *first, *last;
  std::uint32_t* arrived;  ///< of each row of several tiles: how many of them have their part

  /// Of a team. No kernel needs so many registers that a block would have fewer.
  static constexpr int members = on_device ? threads : 1;
  static constexpr int each = tile_entries / members;  ///< products that a thread adds up
  /// Entries that a thread has in registers, so that all their reads are in flight at once.
  static constexpr int held = on_device ? each : 1;
  struct entries {
    tile_range tile;
    word_of_rows word;  ///< of the first product that the thread adds up
    std::int32_t column[held];
  };
  WHILST_HD static constexpr int threads_wanted() { return threads; }
  static index_type fast_memory_bytes() { return place_of(tile_entries) * index_type{sizeof(T)}; }

  template <class Team>
  WHILST_HD entries fetch(index_type t, const Team& team) const {
    entries e;
    const tile_range* const tile = tiles + t;
    e.tile = {read_constant(&tile->begin), read_constant(&tile->end), read_constant(&tile->came),
              read_constant(&tile->goes)};
    e.word = read_word(t, team.rank() * each);
    load(e, 0, team);
    return e;
  }
  template <class Team>
  WHILST_HD void operator()(index_type t, const Team& team, entries e) const {
    T on_host[on_device ? 1 : place_of(tile_entries)];
    T* const product = on_device ? static_cast<T*>(team.fast_memory()) : on_host;
    for (int done = 0; done < tile_entries; done += held * members) {
      if (done > 0) load(e, done, team);
      const T* const v = values.get() + e.tile.begin;
      T value[held], factor[held];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) {
        const int k = done + j * members + team.rank();
        value[j] = e.column[j] >= 0 ? v[k] : T(0);
      }
      // Entries beyond the tile's are skipped, not multiplied by zero: x may hold NaN.
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) factor[j] = e.column[j] >= 0 ? x[e.column[j]] : T(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) product[place_of(done + j * members + team.rank())] = value[j] * factor[j];
    }
    team.sync();

    const int from = team.rank() * each;
    const std::uint32_t below = e.word.starts & ((1u << (from % word_bits)) - 1);
    const std::int32_t open_row = e.word.row_before + count_ones(below);
    const bool begins_at_once = from == 0 && (e.word.starts & 1);
    std::int32_t row = open_row;
    T sum = 0, sum_of_open = 0;
    bool begins = false;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < each; ++j) {
      const int k = from + j;
      if (j > 0 && each > word_bits && k % word_bits == 0) e.word = read_word(t, k);
      if (e.word.starts >> (k % word_bits) & 1) {
        if (begins) {
          of_y(row) = sum;
        } else {
          sum_of_open = sum;
        }
        begins = true;
        ++row;
        sum = 0;
      }
      sum += product[place_of(k)];
    }
    const running_sum<T> before = sum_before(team, sum, begins);
    if (begins && !begins_at_once) (before.begins ? of_y(open_row) : first[t]) = before.sum + sum_of_open;
    if (team.rank() == members - 1) {
      const bool began_here = begins || before.begins;
      (!began_here ? first[t] : e.tile.goes >= 0 ? last[t] : of_y(row)) = begins ? sum : before.sum + sum;
    }
    if (e.tile.came >= 0) add_tiles(e.tile.came, team);
    if (e.tile.goes >= 0) add_tiles(e.tile.goes, team);
  }
  index_type bytes(index_type) const { return bytes_moved; }

 private:
  /// Where a product lies in shared memory: one more after 128 bytes, so that threads that read four each do not meet
  /// in the same banks.
  WHILST_HD static constexpr int place_of(int k) { return k + k / (128 / static_cast<int>(sizeof(T))); }
  WHILST_HD T& of_y(std::int32_t number) const { return y[row_of ? row_of[number] : number]; }
  /// If all tiles of a row have their part, adds these. They are read past the cache; the barriers of arrives_last keep
  /// the compiler from reading them before.
  template <class Team>
  WHILST_HD void add_tiles(std::int32_t k, const Team& team) const {
    const row_of_tiles row = rows_of_tiles[k];
    if (!arrives_last(team, arrived + k, static_cast<std::uint32_t>(row.ends_in - row.begins_in + 1))) return;
    T sum = 0;
    for (std::int32_t t = row.begins_in + 1 + team.rank(); t <= row.ends_in; t += team.size())
      sum += read_early(first + t);
    sum = team.sum(sum);
    if (team.rank() == 0) y[row.row] = read_early(last + row.begins_in) + sum;
  }
  /// What is known of the entries around number k of a tile.
  WHILST_HD word_of_rows read_word(index_type tile, int k) const {
    const word_of_rows* const word = words + tile * words_a_tile + k / word_bits;
    return {read_constant(&word->starts), read_constant(&word->row_before)};
  }
  template <class Team>
  WHILST_HD void load(entries& e, int done, const Team& team) const {
    const std::int32_t* const columns = column_indices + e.tile.begin;
    const int left = e.tile.end - e.tile.begin;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      const int k = done + j * members + team.rank();
      e.column[j] = k < left ? read_constant(columns + k) : padding;
    }
  }
};

struct nobody_arrived {
  std::uint32_t* arrived;
  WHILST_HD void operator()(index_type k) const { arrived[k] = 0; }
};
template <class T>
struct zero_of_row {
  const std::int32_t* rows;
  T* y;
  WHILST_HD void operator()(index_type k) const { y[rows[k]] = 0; }
};

template <class T>
class balanced_matrix final : public patterned_matrix<T> {
 public:
  balanced_matrix(const solve_request<T>& csr, const balanced_layout& made)
      : patterned_matrix<T>(csr),
        tiles_(static_cast<index_type>(made.tiles.size())),
        empty_rows_(static_cast<index_type>(made.empty_rows.size())),
        rows_of_tiles_(static_cast<index_type>(made.rows_of_tiles.size())),
        tile_(this->keep(made.tiles)),
        words_(this->keep(made.words)),
        row_of_(made.row_of.empty() ? nullptr : this->keep(made.row_of)),
        empty_row_(this->keep(made.empty_rows)),
        row_of_tiles_(this->keep(made.rows_of_tiles)) {}

  void take_memory(workspace& memory) override {
    first_ = memory.take<T>(tiles_);
    last_ = memory.take<T>(tiles_);
    arrived_ = memory.take<std::uint32_t>(rows_of_tiles_);
  }
  void prepare(recorder& run) const override {
    if (rows_of_tiles_ > 0) run.step("rows of several tiles", rows_of_tiles_, nobody_arrived{arrived_});
  }
  index_type bytes_a_product(int) const override {
    constexpr index_type index = sizeof(std::int32_t), each = sizeof(T);
    return this->nonzeros() * (each + index) +
           tiles_ * index_type{sizeof(tile_range) + words_a_tile * sizeof(word_of_rows)} +
           (row_of_ ? this->rows() * index : 0) + rows_of_tiles_ * index_type{sizeof(row_of_tiles)};
  }
  void apply(recorder& run, const T* x, T* y) const override {
    run.team("y = A x by tiles", tiles_,
             product_of_tile<T>{tile_, words_, this->column_indices_of_csr(), row_of_, this->values_of_csr(),
                                row_of_tiles_, bytes_a_product(sizeof(T)) + 2 * this->rows() * index_type{sizeof(T)}, x,
                                y, first_, last_, arrived_});
    if (empty_rows_ > 0) run.step("empty rows", empty_rows_, zero_of_row<T>{empty_row_, y});
  }

 private:
  index_type tiles_, empty_rows_, rows_of_tiles_;
  const tile_range* tile_;
  const word_of_rows* words_;
  const std::int32_t *row_of_, *empty_row_;
  const row_of_tiles* row_of_tiles_;
  T *first_ = nullptr, *last_ = nullptr;
  std::uint32_t* arrived_ = nullptr;
};

}  // namespace

template <class T>
std::unique_ptr<formatted_matrix<T>> make_balanced_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr) {
  return std::make_unique<balanced_matrix<T>>(csr, lay_out(host_pattern(pattern)));
}
template std::unique_ptr<formatted_matrix<WHILST_NUMBER>> make_balanced_matrix(const csr_matrix<WHILST_NUMBER>&,
                                                                               const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
