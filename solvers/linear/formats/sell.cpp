// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/formats/gathered_matrix.hpp"
#include "solvers/linear/formats/row_slices.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {
namespace {

/// SELL-C-sigma: M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, "A unified sparse matrix data format for
/// efficient general sparse matrix-vector multiplication on modern processors with wide SIMD units", SIAM J. Sci.
/// Comput. 36 (2014). Slices of C = 32 rows, a warp, padded to the longest of them and stored by columns: thread k of
/// the warp reads entry j of its row beside those of its neighbours. Within each sigma = 4096 rows the longest come
/// first, so that rows of a slice are about equally long; y is written in the matrix's own order.
///
/// Two things are stored in half the bytes where nothing is lost by it: columns, as 16-bit distances from the row, if
/// all fit; and values in double, as float, in each solve whose values all have one. If that is asked for, values are
/// rounded to float, unless some are beyond its range; sums are still in double.
constexpr index_type slice_rows = warp_threads;
using distance = std::int16_t;
constexpr std::int32_t farthest = 32767;
constexpr distance no_distance = -32768;

struct sell_layout {
  std::vector<std::int32_t> slice_offsets;           ///< in entries
  std::vector<std::int32_t> column_indices, origin;  ///< of each stored entry; `padding`, and -1
  std::vector<std::int32_t> row_of;                  ///< of each place in a slice, -1 beyond the last; empty: in order
  std::vector<distance> distances;                   ///< of columns from rows; empty if they do not fit
};

std::vector<distance> distances_of(const sell_layout& of) {
  const std::size_t slices = of.slice_offsets.size() - 1;
  std::vector<distance> made(of.column_indices.size(), no_distance);
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const auto begin = static_cast<std::size_t>(of.slice_offsets[slice]);
    for (std::size_t k = begin; k < static_cast<std::size_t>(of.slice_offsets[slice + 1]); ++k) {
      if (of.column_indices[k] == padding) continue;
      const std::size_t place = slice * slice_rows + (k - begin) % slice_rows;
      const auto row = of.row_of.empty() ? static_cast<std::int32_t>(place) : of.row_of[place];
      const std::int64_t far = std::int64_t{of.column_indices[k]} - row;
      if (far < -farthest || far > farthest) return {};
      made[k] = static_cast<distance>(far);
    }
  }
  return made;
}

sell_layout sell_layout_of(const host_pattern& A) {
  row_slices slices = slice_rows_of(
      A.rows(), slice_rows, [&](index_type row) { return A.length(row); }, "sell", slice_rows);
  sell_layout made;
  const auto places = static_cast<std::size_t>(slices.count() * slice_rows);
  const auto stored = static_cast<std::size_t>(slices.steps() * slice_rows);
  made.row_of = std::move(slices.row_of);
  made.slice_offsets = std::move(slices.offsets);
  for (std::int32_t& offset : made.slice_offsets) offset *= static_cast<std::int32_t>(slice_rows);
  made.column_indices.assign(stored, padding);
  made.origin.assign(stored, -1);
  detail::visit_ranges(places, [&](std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place) {
      const index_type row = made.row_of.empty() ? static_cast<index_type>(place) : made.row_of[place];
      if (row < 0 || row >= A.rows()) continue;
      std::size_t to = static_cast<std::size_t>(made.slice_offsets[place / slice_rows]) + place % slice_rows;
      for (index_type k = A.begin(row); k < A.begin(row + 1); ++k, to += slice_rows) {
        made.column_indices[to] = A.column(k);
        made.origin[to] = static_cast<std::int32_t>(k);
      }
    }
  });
  made.distances = distances_of(made);
  return made;
}

/// The values as float, and what choose_value_bytes must know of them.
struct shorten {
  const double* values;
  float* in_float;
  WHILST_HD auto operator()(index_type k) const {
    const double value = values[k];
    in_float[k] = static_cast<float>(value);
    return choose_value_bytes::judge(value);
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(double) + sizeof(float)); }
};

/// At each place of the slices, a row's entry of y. Column: 32 bits for a column, 16 for its distance.
template <class T, class Column>
struct sell_product {
  static constexpr bool fetches_constants = true;  // the pattern, which no step writes
  const std::int32_t *slice_offsets, *row_of;
  const Column* column_indices;
  const T* values;
  const float* in_float;  ///< the values where *value_bytes are few; both null where T is float
  const int* value_bytes;
  index_type rows;
  index_type matrix_bytes;
  const T* x;
  T* y;

  /// Some entries of a row, whose reads are all in flight at once.
  struct piece {
    static constexpr int held = on_device ? 8 : 1;
    std::int32_t column[held];
    std::int32_t next, end, row;
  };
  struct entry_of_y {
    T value;
    std::int32_t row;
  };
  template <class Team>
  WHILST_HD piece fetch(index_type place, const Team&) const {
    const index_type slice = place / slice_rows;
    piece p;
    p.next = read_constant(slice_offsets + slice) + static_cast<std::int32_t>(place % slice_rows);
    p.end = read_constant(slice_offsets + slice + 1);
    p.row = row_of ? read_constant(row_of + place) : static_cast<std::int32_t>(place < rows ? place : -1);
    load_columns(p);
    return p;
  }
  template <class Team>
  WHILST_HD entry_of_y read(index_type, const Team&, const piece& p) const {
    return {value_bytes && *value_bytes <= 4 ? row(p, in_float) : row(p, values), p.row};
  }
  WHILST_HD void operator()(index_type, const entry_of_y& e) const {
    if (e.row >= 0) y[e.row] = e.value;
  }
  index_type bytes(index_type) const { return matrix_bytes + 2 * rows * static_cast<index_type>(sizeof(T)); }

 private:
  static_assert(slice_rows == 32);
  template <class Value>
  WHILST_HD T row(piece p, const Value* from) const {
    T sum = times(p, from);
    for (p.next += piece::held * 32; p.next < p.end; p.next += piece::held * 32) {
      load_columns(p);
      sum += times(p, from);
    }
    return sum;
  }
  WHILST_HD void load_columns(piece& p) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) {
      const std::int32_t k = p.next + j * 32;
      if constexpr (sizeof(Column) == sizeof(distance)) {
        const distance far = k < p.end ? read_constant(column_indices + k) : no_distance;
        p.column[j] = far == no_distance ? padding : p.row + far;
      } else {
        p.column[j] = k < p.end ? read_constant(column_indices + k) : padding;
      }
    }
  }
  /// Padding is skipped, not multiplied by zero: x may hold NaN.
  template <class Value>
  WHILST_HD T times(const piece& p, const Value* from) const {
    T value[piece::held], factor[piece::held], sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) {  // not by the column, which may still be on its way
      const std::int32_t k = p.next + j * 32;
      value[j] = k < p.end ? static_cast<T>(from[k]) : T(0);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) factor[j] = p.column[j] >= 0 ? x[p.column[j]] : T(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) sum += value[j] * factor[j];
    return sum;
  }
};

template <class T, class Column>
class sell_matrix final : public gathered_matrix<T> {
  static constexpr bool may_shorten = sizeof(T) > sizeof(float);

 public:
  sell_matrix(const solve_request<T>& csr, const sell_layout& made, const std::vector<Column>& columns, bool rounds)
      : gathered_matrix<T>(csr, made.origin),
        rounds_(rounds),
        places_(static_cast<index_type>(made.slice_offsets.size() - 1) * slice_rows),
        slice_offsets_(this->keep(made.slice_offsets)),
        row_of_(made.row_of.empty() ? nullptr : this->keep(made.row_of)),
        column_indices_(this->keep(columns)) {}

  void take_memory(workspace& memory) override {
    gathered_matrix<T>::take_memory(memory);
    if (!may_shorten) return;
    in_float_ = memory.take<float>(this->stored());
    value_bytes_ = memory.take<int>(1);
  }
  void prepare(recorder& run) const override {
    gathered_matrix<T>::prepare(run);
    if constexpr (may_shorten)
      run.step("values in float", this->stored(), shorten{this->values(), in_float_},
               choose_value_bytes{rounds_, sizeof(T), value_bytes_});
  }
  index_type bytes_a_product(int value_bytes) const override {
    constexpr index_type index = sizeof(std::int32_t);
    return this->stored() * static_cast<index_type>((value_bytes <= 4 ? sizeof(float) : sizeof(T)) + sizeof(Column)) +
           (places_ / slice_rows + 1) * index + (row_of_ ? places_ * index : 0);
  }
  void apply(recorder& run, const T* x, T* y) const override {
    run.step("y = A x", places_,
             sell_product<T, Column>{slice_offsets_, row_of_, column_indices_, this->values(), in_float_, value_bytes_,
                                     this->rows(), bytes_a_product(rounds_ ? 4 : sizeof(T)), x, y});
  }

 private:
  bool rounds_;
  index_type places_;
  const std::int32_t *slice_offsets_, *row_of_;
  const Column* column_indices_;
  float* in_float_ = nullptr;
  int* value_bytes_ = nullptr;
};

}  // namespace

template <class T>
std::unique_ptr<formatted_matrix<T>> make_sell_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr,
                                                      bool in_float) {
  const sell_layout made = sell_layout_of(host_pattern(pattern));
  if (made.distances.size() == made.column_indices.size())
    return std::make_unique<sell_matrix<T, distance>>(csr, made, made.distances, in_float);
  return std::make_unique<sell_matrix<T, std::int32_t>>(csr, made, made.column_indices, in_float);
}
template std::unique_ptr<formatted_matrix<WHILST_NUMBER>> make_sell_matrix(const csr_matrix<WHILST_NUMBER>&,
                                                                           const solve_request<WHILST_NUMBER>&, bool);

}  // namespace whilst
