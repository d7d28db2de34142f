// compiled for each number type, by nvcc where CUDA is on
#include <algorithm>

#include "solvers/linear/formats/gathered_matrix.hpp"
#include "solvers/linear/host_array.hpp"

namespace whilst {
namespace {

/// CSR in equal pieces of 32 nonzeros, one a thread, whatever the rows' lengths: after the tiles of W. Liu, B. Vinter,
/// "CSR5: an efficient storage format for cross-platform sparse matrix-vector multiplication", Proc. ICS 2015. The
/// pieces of a warp are stored by turns, so that its threads read side by side. A word a piece has a bit for each entry
/// that begins a row; a thread adds up its entries in order and writes what rows begin and end within its piece.
///
/// What remains of a piece is at most two sums: the part of a row that began before, in `first`, and of one that goes
/// on, in `last`. Further steps add these, for each such row in a fixed order and without atomics; those of rows of
/// many pieces in two rounds, by groups. They also write the zeros of empty rows.
constexpr index_type piece_entries = 32, tile = 32 * piece_entries, group_pieces = 256;
constexpr index_type pieces_alone = 8;  ///< most that a row's sum reads one by one, without groups

/// A range of partial sums.
struct partial_range {
  std::int32_t begin, end;
};
/// A row that is in several pieces, or in none.
struct row_of_pieces {
  std::int32_t row, begins_in;  ///< begins_in: the piece of its first entries, -1 for an empty row
  partial_range rest;           ///< what is added to the sum there
};

struct balanced_layout {
  std::vector<std::int32_t> column_indices, origin;  ///< by tiles
  std::vector<std::uint32_t> starts;                 ///< and one word more, 1 if a piece ends with the last row
  std::vector<std::int32_t> first_row;               ///< of each piece: which row, not counting empty ones
  std::vector<std::int32_t> row_of;                  ///< rows that are not empty; empty if all are
  std::vector<partial_range> groups;                 ///< of `first`; their sums lie behind it
  std::vector<row_of_pieces> rows;
};

/// Where entry k of the CSR matrix is stored.
index_type place_of(index_type k) {
  const index_type piece = k / piece_entries, in_tile = piece % 32;
  return piece / 32 * tile + k % piece_entries * 32 + in_tile;
}

balanced_layout lay_out(const host_pattern& A) {
  balanced_layout made;
  const index_type nonzeros = A.nonzeros(), pieces = (nonzeros + piece_entries - 1) / piece_entries;
  const auto stored = static_cast<std::size_t>((nonzeros + tile - 1) / tile * tile);
  check_stored_entries("balanced", static_cast<index_type>(stored));
  made.column_indices.assign(stored, padding);
  made.origin.assign(stored, -1);
  detail::visit_ranges(static_cast<std::size_t>(nonzeros), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const auto to = static_cast<std::size_t>(place_of(static_cast<index_type>(k)));
      made.column_indices[to] = A.column(static_cast<index_type>(k));
      made.origin[to] = static_cast<std::int32_t>(k);
    }
  });

  made.starts.assign(static_cast<std::size_t>(pieces) + 1, 0);
  made.first_row.assign(static_cast<std::size_t>(pieces), 0);
  const auto begin_row = [&](index_type k) {
    made.starts[static_cast<std::size_t>(k / piece_entries)] |= 1u << (k % piece_entries);
  };
  for (index_type i = 0; i < A.rows(); ++i) {
    const index_type begin = A.begin(i), end = A.begin(i + 1);
    if (begin == end) {
      made.rows.push_back({static_cast<std::int32_t>(i), -1, {0, 0}});
      continue;
    }
    const auto number = static_cast<std::int32_t>(made.row_of.size());
    made.row_of.push_back(static_cast<std::int32_t>(i));
    begin_row(begin);
    const index_type in = begin / piece_entries, last = (end - 1) / piece_entries;
    for (index_type p = (begin + piece_entries - 1) / piece_entries; p <= last; ++p)
      made.first_row[static_cast<std::size_t>(p)] = number;
    if (last == in) continue;
    partial_range rest{static_cast<std::int32_t>(in + 1), static_cast<std::int32_t>(last + 1)};
    if (last - in > pieces_alone) {
      const index_type before = pieces + static_cast<index_type>(made.groups.size());
      for (index_type p = in + 1; p <= last; p += group_pieces)
        made.groups.push_back(
            {static_cast<std::int32_t>(p), static_cast<std::int32_t>(std::min(p + group_pieces, last + 1))});
      rest = {static_cast<std::int32_t>(before),
              static_cast<std::int32_t>(pieces + static_cast<index_type>(made.groups.size()))};
    }
    made.rows.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(in), rest});
  }
  begin_row(nonzeros);  // ends the last row
  if (static_cast<index_type>(made.row_of.size()) == A.rows()) made.row_of.clear();
  return made;
}

/// A piece times x.
template <class T>
struct product_of_pieces {
  static constexpr bool fetches_constants = true;  // the pattern, which no step writes
  const std::int32_t *column_indices, *first_row, *row_of;
  const std::uint32_t* starts;
  const T* values;
  index_type matrix_bytes, vector_bytes;
  const T* x;
  T *y, *first, *last;

  static constexpr int held = on_device ? 8 : 1;  ///< entries whose reads are in flight at once
  struct piece {
    std::uint32_t starts;
    bool ends_row;  ///< the next piece begins a row
    std::int32_t row;
    std::int32_t column[held];
  };
  template <class Team>
  WHILST_HD piece fetch(index_type p, const Team&) const {
    piece e;
    e.starts = read_constant(starts + p);
    e.ends_row = read_constant(starts + p + 1) & 1;
    e.row = read_constant(first_row + p);
    load_columns(e, p, 0);
    return e;
  }
  WHILST_HD void operator()(index_type p, piece e) const {
    bool began_before = !(e.starts & 1);
    T sum = 0;
    for (int done = 0; done < piece_entries; done += held) {
      if (done > 0) load_columns(e, p, done);
      T value[held], factor[held];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) value[j] = values[place(p, done + j)];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      // Padding is skipped, not multiplied by zero: x may hold NaN.
      for (int j = 0; j < held; ++j) factor[j] = e.column[j] >= 0 ? x[e.column[j]] : T(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) {
        const int k = done + j;
        if (k > 0 && (e.starts >> k & 1)) {
          (began_before ? first[p] : of_y(e.row)) = sum;
          began_before = false;
          ++e.row;
          sum = 0;
        }
        sum += value[j] * factor[j];
      }
    }
    (began_before ? first[p] : e.ends_row ? of_y(e.row) : last[p]) = sum;
  }
  index_type bytes(index_type) const { return matrix_bytes + vector_bytes; }

 private:
  WHILST_HD static index_type place(index_type p, int k) { return p / 32 * tile + k * 32 + p % 32; }
  WHILST_HD T& of_y(std::int32_t row) const { return y[row_of ? row_of[row] : row]; }
  WHILST_HD void load_columns(piece& e, index_type p, int done) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) e.column[j] = read_constant(column_indices + place(p, done + j));
  }
};

/// The share of a lane in the sum of a range.
template <class T, class Team>
WHILST_HD T share_of(const T* partial, partial_range of, const Team& team) {
  T sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
  for (std::int32_t k = of.begin + team.rank(); k < of.end; k += team.size()) sum += partial[k];
  return sum;
}

/// The sum of a group of pieces, behind their own.
template <class T>
struct sum_of_group {
  const partial_range* groups;
  T* partial;
  index_type pieces;
  WHILST_HD int lanes_wanted() const { return 32; }
  template <class Team>
  WHILST_HD void operator()(index_type g, const Team& team) const {
    const T sum = team.sum(share_of(partial, groups[g], team));
    if (team.rank() == 0) partial[pieces + g] = sum;
  }
};

/// Rows that are in several pieces, or in none.
template <class T>
struct sum_of_row {
  const row_of_pieces* rows;
  const T *partial, *last;
  T* y;
  WHILST_HD int lanes_wanted() const { return 4; }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    const row_of_pieces of = rows[k];
    const T rest = team.sum(share_of(partial, of.rest, team));
    if (team.rank() == 0) y[of.row] = of.begins_in < 0 ? T(0) : last[of.begins_in] + rest;
  }
};

template <class T>
class balanced_matrix final : public gathered_matrix<T> {
 public:
  balanced_matrix(const solve_request<T>& csr, const balanced_layout& made)
      : gathered_matrix<T>(csr, made.origin),
        pieces_(static_cast<index_type>(made.first_row.size())),
        groups_(static_cast<index_type>(made.groups.size())),
        rows_apart_(static_cast<index_type>(made.rows.size())),
        column_indices_(this->keep(made.column_indices)),
        first_row_(this->keep(made.first_row)),
        row_of_(made.row_of.empty() ? nullptr : this->keep(made.row_of)),
        starts_(this->keep(made.starts)),
        group_(this->keep(made.groups)),
        row_apart_(this->keep(made.rows)) {}

  void take_memory(workspace& memory) override {
    gathered_matrix<T>::take_memory(memory);
    partial_ = memory.take<T>(pieces_ + groups_);
    last_ = memory.take<T>(pieces_);
  }
  index_type bytes_a_product(bool) const override {
    constexpr index_type index = sizeof(std::int32_t), each = sizeof(T);
    return this->nonzeros() * (each + index) + pieces_ * 2 * index +
           (row_of_ ? (this->rows() - rows_apart_) * index : 0) +  // at least
           2 * (pieces_ + rows_apart_) * each + rows_apart_ * index_type{sizeof(row_of_pieces)};
  }
  void apply(recorder& run, const T* x, T* y) const override {
    run.step("y = A x by pieces", pieces_,
             product_of_pieces<T>{column_indices_, first_row_, row_of_, starts_, this->values(), bytes_a_product(false),
                                  2 * this->rows() * index_type{sizeof(T)}, x, y, partial_, last_});
    if (groups_ > 0) run.step("groups of pieces", groups_, sum_of_group<T>{group_, partial_, pieces_});
    if (rows_apart_ > 0) run.step("rows of several pieces", rows_apart_, sum_of_row<T>{row_apart_, partial_, last_, y});
  }

 private:
  index_type pieces_, groups_, rows_apart_;
  const std::int32_t *column_indices_, *first_row_, *row_of_;
  const std::uint32_t* starts_;
  const partial_range* group_;
  const row_of_pieces* row_apart_;
  T *partial_ = nullptr, *last_ = nullptr;
};

}  // namespace

template <class T>
std::unique_ptr<formatted_matrix<T>> make_balanced_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr) {
  return std::make_unique<balanced_matrix<T>>(csr, lay_out(host_pattern(pattern)));
}
template std::unique_ptr<formatted_matrix<WHILST_NUMBER>> make_balanced_matrix(const csr_matrix<WHILST_NUMBER>&,
                                                                               const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
