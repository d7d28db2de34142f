// compiled for each number type, by nvcc where CUDA is on
#include <bit>

#include "solvers/linear/formats/gathered_matrix.hpp"
#include "solvers/linear/formats/row_scan.hpp"

namespace whilst {
namespace {

/// CSR in tiles of 1024 nonzeros, one a block of threads, whatever the rows' lengths: so where a tile lies is known
/// without a look, and every read is aligned. Neighbouring threads read and multiply neighbouring entries; then each
/// adds up a few consecutive products, and what it has of a row that began before it, the block adds up by a scan of
/// sums that begin anew where a row does: after the tiles of W. Liu, B. Vinter, "CSR5: an efficient storage format for
/// cross-platform sparse matrix-vector multiplication", Proc. ICS 2015, and G. Blelloch's segmented scan, "Prefix sums
/// and their applications", 1990. A bit for each entry tells where rows begin. A warp has its rows' sums side by side
/// before it writes them to y.
///
/// What the tiles of a row have of it, two neighbours add up, then two pairs of neighbours, and so on: always the same
/// sums, whoever comes second. A further step writes the zeros of empty rows.
constexpr int tile_entries = 1024, word_bits = 32, words_a_tile = tile_entries / word_bits, threads = 128;

/// The rows that a tile may share with others.
struct alignas(8) tile_ends {
  std::int32_t first_begins_in;  ///< the tile where the row of its first entry begins
  std::int32_t last_ends_in;     ///< the tile where the row of its last entry ends
};
/// What is known of 32 entries of a tile.
struct alignas(8) word_of_rows {
  std::uint32_t starts;     ///< bit k: entry k begins a row
  std::int32_t row_before;  ///< of the entry before these: which row, not counting empty ones
};

struct balanced_layout {
  std::vector<tile_ends> tiles;
  std::vector<word_of_rows> words;   ///< of each tile
  std::vector<std::int32_t> row_of;  ///< rows that are not empty; empty if all are
  std::vector<std::int32_t> empty_rows;
};

balanced_layout balanced_layout_of(const host_pattern& A) {
  balanced_layout made;
  const auto tiles = static_cast<std::int32_t>((A.nonzeros() + tile_entries - 1) / tile_entries);
  for (std::int32_t t = 0; t < tiles; ++t) made.tiles.push_back({t, t});
  std::int32_t number = -1;  // of the last row, not counting empty ones
  const auto have_words = [&](index_type count) { made.words.resize(static_cast<std::size_t>(count), {0, number}); };
  for (index_type i = 0; i < A.rows(); ++i) {
    const index_type begin = A.begin(i), end = A.begin(i + 1);
    if (begin == end) {
      made.empty_rows.push_back(static_cast<std::int32_t>(i));
      continue;
    }
    have_words(begin / word_bits + 1);
    made.words.back().starts |= 1u << (begin % word_bits);
    made.row_of.push_back(static_cast<std::int32_t>(i));
    ++number;
    const auto first = static_cast<std::size_t>(begin / tile_entries);
    const auto last = static_cast<std::size_t>((end - 1) / tile_entries);
    for (std::size_t t = first; t < last; ++t) {
      made.tiles[t].last_ends_in = static_cast<std::int32_t>(last);
      made.tiles[t + 1].first_begins_in = static_cast<std::int32_t>(first);
    }
  }
  have_words(index_type{tiles} * words_a_tile);
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
  static constexpr int blocks_wanted = 9;          // with more, registers do not hold all that a thread reads at once
  static constexpr bool fetches_constants = true;  // the pattern; values may be those that a step has scaled
  const tile_ends* tiles;
  const word_of_rows* words;
  const std::int32_t *column_indices, *row_of;
  constant_slot<const T> values;
  std::int32_t nonzeros;
  index_type bytes_moved;
  const T* x;
  T* y;
  bits_of<T>* meetings;  ///< where two groups of tiles meet that share a row: that of the second group's first tile

  static constexpr int members = on_device ? threads : 1;
  static constexpr int each = tile_entries / members;  ///< products that a thread adds up
  /// A warp multiplies the entries that it adds up: those of a thread are so far from each other.
  static constexpr int apart = on_device ? 32 : 1;
  /// Entries that a thread has in registers, so that all their reads are in flight at once.
  static constexpr int held = on_device ? each : 1;
  struct entries {
    const T* values;
    std::int32_t column[held];
    word_of_rows word;  ///< of the first product that the thread adds up
  };
  WHILST_HD static constexpr int threads_wanted() { return threads; }
  static index_type fast_memory_bytes() { return padded(tile_entries) * index_type{sizeof(T)}; }

  template <class Team>
  WHILST_HD entries fetch(index_type tile, const Team& team) const {
    const auto t = static_cast<std::int32_t>(tile);
    entries e;
    load_columns(e, first_of(t, team));
    e.values = values.get();
    e.word = read_in_order(words + (t * tile_entries + team.rank() * each) / word_bits);
    return e;
  }
  template <class Team>
  WHILST_HD void operator()(index_type tile, const Team& team, entries e) const {
    const auto t = static_cast<std::int32_t>(tile);
    T on_host[on_device ? 1 : place_of(tile_entries)];
    T* const product = on_device ? static_cast<T*>(team.fast_memory()) : on_host;
    const tile_ends ends = read_in_order(tiles + t);
    // The row of the entry before the tile's: it ends here or goes on, or has ended.
    const std::int32_t came = read_in_order(&words[t * words_a_tile].row_before);
    for (int done = 0; done < each; done += held) {
      const std::int32_t first = first_of(t, team) + done * apart;
      if (done > 0) load_columns(e, first);
      T value[held], factor[held];
      // The values first: they do not wait for the columns.
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) value[j] = is_there(first, j) ? read_in_order(e.values + first + j * apart) : T(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) factor[j] = is_there(first, j) ? read_in_order(x + e.column[j]) : T(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j)
        product[place_of(first_in_tile(team)) + place_of((done + j) * apart)] = value[j] * factor[j];
    }
    sync_warp(team);

    const int from = team.rank() * each;
    const std::uint32_t below = e.word.starts & ((1u << (from % word_bits)) - 1);
    const std::int32_t open_row = e.word.row_before + count_ones(below), first_row = of_first(team, open_row);
    // Sums of the rows that end among a warp's products take the place of these.
    T* const sums = product + place_of(first_of_warp(team));
    std::int32_t row = open_row;
    T sum = 0;
    for (int done = 0; done < each; done += held) {
      T own[held];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) own[j] = product[place_of(from) + done + j];
      sync_warp(team);
      if (done > 0 && (from + done) % word_bits == 0) e.word = words[(t * tile_entries + from + done) / word_bits];
      const std::uint32_t starts = e.word.starts >> ((from + done) % word_bits);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) {
        if (starts >> j & 1) {
          sums[row - first_row] = sum;
          ++row;
          sum = 0;
        }
        sum += own[j];
      }
    }
    const bool begins = row != open_row;
    const T before = sum_before(team, sum, begins);
    T sum_of_open = before + sum;
    if (begins) sum_of_open = sums[open_row - first_row] += before;
    sync_warp(team);
    const std::int32_t last_row = of_last(team, row);
    WHILST_ROLLED
    for (std::int32_t k = first_row + within_warp(team); k < last_row; k += apart)
      if (k != came) of_y(k) = sums[k - first_row];
    // Rows that other tiles may share.
    if (begins && open_row == came && ends.first_begins_in < t)
      add_to_row(came, sum_of_open, t, ends.first_begins_in, t);
    if (team.rank() == members - 1)
      add_to_row(row, begins ? sum : sum_of_open, t, row != came ? t : ends.first_begins_in, ends.last_ends_in);
  }
  index_type bytes(index_type) const { return bytes_moved; }

 private:
  /// Where a product lies in shared memory: one more after 128 bytes, so that threads that read a few each do not meet
  /// in the same banks.
  WHILST_HD static constexpr int padded(int k) { return k + k / (128 / static_cast<int>(sizeof(T))); }
  WHILST_HD static constexpr int place_of(int k) { return on_device ? padded(k) : k; }
  WHILST_HD T& of_y(std::int32_t number) const { return y[row_of ? row_of[number] : number]; }
  /// What tile t has of a row that is in tiles `begins_in` to `ends_in`. A group of 1, 2, 4, ... tiles meets the next,
  /// and the one that comes second goes on for both; the last has the row's sum.
  WHILST_HD void add_to_row(std::int32_t number, T sum, std::int32_t t, std::int32_t begins_in,
                            std::int32_t ends_in) const {
    std::int32_t group = t - begins_in;  // its first tile, counted from the row's
    for (std::int32_t size = 1; size <= ends_in - begins_in; size *= 2) {
      const std::int32_t second = group | size;
      if (begins_in + second > ends_in) continue;
      if (!adds_other(meetings + begins_in + second, sum)) return;
      group &= ~size;
    }
    of_y(number) = sum;
  }
  template <class Team>
  WHILST_HD static int within_warp(const Team& team) {
    return static_cast<int>(static_cast<unsigned>(team.rank()) % apart);  // shorter than that of an int
  }
  template <class Team>
  WHILST_HD static int first_of_warp(const Team& team) {
    return (team.rank() - within_warp(team)) * each;
  }
  /// The first entry of a tile that a thread multiplies.
  template <class Team>
  WHILST_HD static int first_in_tile(const Team& team) {
    return first_of_warp(team) + within_warp(team);
  }
  template <class Team>
  WHILST_HD static std::int32_t first_of(std::int32_t t, const Team& team) {
    return t * tile_entries + first_in_tile(team);
  }
  /// Entries beyond the last are skipped, not multiplied by zero: x may hold NaN.
  WHILST_HD bool is_there(std::int32_t first, int j) const { return j * apart < nonzeros - first; }
  WHILST_HD void load_columns(entries& e, std::int32_t first) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j)
      if (is_there(first, j)) e.column[j] = read_constant(column_indices + first + j * apart);
  }
};

template <class T>
struct nobody_at_meetings {
  bits_of<T>* meetings;
  WHILST_HD void operator()(index_type k) const { meetings[k] = nobody<T>; }
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
        tile_(this->keep(made.tiles)),
        words_(this->keep(made.words)),
        row_of_(made.row_of.empty() ? nullptr : this->keep(made.row_of)),
        empty_row_(this->keep(made.empty_rows)) {}

  void take_memory(workspace& memory) override { meetings_ = memory.take<bits_of<T>>(tiles_); }
  void prepare(recorder& run) const override {
    if (tiles_ > 0) run.step("rows of several tiles", tiles_, nobody_at_meetings<T>{meetings_});
  }
  index_type bytes_a_product(int) const override {
    constexpr index_type index = sizeof(std::int32_t), each = sizeof(T);
    return this->nonzeros() * (each + index) +
           tiles_ * index_type{sizeof(tile_ends) + words_a_tile * sizeof(word_of_rows)} +
           (row_of_ ? this->rows() * index : 0);
  }
  void apply(recorder& run, const T* x, T* y) const override {
    run.team(
        "y = A x by tiles", tiles_,
        product_of_tile<T>{tile_, words_, this->column_indices_of_csr(), row_of_, this->values_of_csr(),
                           static_cast<std::int32_t>(this->nonzeros()),
                           bytes_a_product(sizeof(T)) + 2 * this->rows() * index_type{sizeof(T)}, x, y, meetings_});
    if (empty_rows_ > 0) run.step("empty rows", empty_rows_, zero_of_row<T>{empty_row_, y});
  }

 private:
  index_type tiles_, empty_rows_;
  const tile_ends* tile_;
  const word_of_rows* words_;
  const std::int32_t *row_of_, *empty_row_;
  bits_of<T>* meetings_ = nullptr;
};

}  // namespace

template <class T>
std::unique_ptr<formatted_matrix<T>> make_balanced_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr) {
  return std::make_unique<balanced_matrix<T>>(csr, balanced_layout_of(host_pattern(pattern)));
}
template std::unique_ptr<formatted_matrix<WHILST_NUMBER>> make_balanced_matrix(const csr_matrix<WHILST_NUMBER>&,
                                                                               const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
