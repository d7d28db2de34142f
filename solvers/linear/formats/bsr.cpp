// compiled for each number type, by nvcc where CUDA is on
#include <algorithm>
#include <limits>

#include "solvers/linear/formats/bsr_layout.hpp"
#include "solvers/linear/formats/gathered_matrix.hpp"
#include "solvers/linear/formats/row_slices.hpp"

namespace whilst {
namespace {

constexpr std::int32_t no_block = std::numeric_limits<std::int32_t>::min();

/// The blocks in slices (see row_slices) of as many rows of blocks as a warp has threads for: a thread has a row of the
/// matrix, and a step of a slice is a block of each of its rows of blocks.
template <int b>
struct sliced_blocks {
  static constexpr index_type rows_each = warp_threads / b;  ///< of blocks
  static constexpr index_type lanes = rows_each * b;         ///< of a warp that have a row
  static constexpr index_type entries_a_step = lanes * b;

  row_slices slices;
  std::vector<std::int32_t> columns, origin;  ///< by steps; in a step's entries, a column of all blocks after another
  std::vector<std::uint64_t> masks;           ///< as in bsr_layout

  explicit sliced_blocks(const bsr_layout& from)
      : slices(slice_rows_of(
            static_cast<index_type>(from.row_offsets.size()) - 1, rows_each,
            [&](index_type I) { return from.row_offsets[I + 1] - from.row_offsets[I]; }, "bsr", entries_a_step)) {
    const auto steps = static_cast<std::size_t>(slices.steps());
    columns.assign(steps * rows_each, no_block);
    origin.assign(steps * entries_a_step, -1);
    if (!from.masks.empty()) masks.assign(steps * rows_each, 0);
    detail::visit_ranges(static_cast<std::size_t>(slices.count() * rows_each), [&](std::size_t begin, std::size_t end) {
      for (std::size_t place = begin; place < end; ++place) take_row(from, place);
    });
  }

 private:
  void take_row(const bsr_layout& from, std::size_t place) {
    const auto row = slices.row_of.empty() ? static_cast<std::int64_t>(place) : slices.row_of[place];
    if (row < 0 || row + 1 >= static_cast<std::int64_t>(from.row_offsets.size())) return;
    const auto begin = static_cast<std::size_t>(from.row_offsets[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(from.row_offsets[static_cast<std::size_t>(row) + 1]);
    auto step = static_cast<std::size_t>(slices.offsets[place / rows_each]);
    for (std::size_t block = begin; block < end; ++block, ++step) {
      const std::size_t to = step * rows_each + place % rows_each;
      columns[to] = from.columns[block];
      if (!masks.empty()) masks[to] = from.masks[block];
      for (std::size_t r = 0; r < b; ++r)
        for (std::size_t c = 0; c < b; ++c)
          origin[(step * b + c) * lanes + place % rows_each * b + r] = from.origin[(block * b + r) * b + c];
    }
  }
};

/// At each place of the slices, a row's entry of y.
template <class T, int b>
struct bsr_product {
  using layout = sliced_blocks<b>;
  static constexpr bool fetches_constants = true;  // the pattern, which no step writes
  const std::int32_t *slice_offsets, *row_of, *columns;
  const std::uint64_t* masks;
  const T* values;
  index_type rows;
  index_type matrix_bytes;
  const T* x;
  T* y;

  /// Blocks whose reads are in flight at once.
  struct piece {
    static constexpr int held = on_device ? (b == 2 ? 4 : b == 3 ? 3 : 2) : 1;
    std::int32_t column[held];
    std::int32_t next, end;  ///< steps
    std::int32_t row;        ///< of blocks
  };
  struct entry_of_y {
    T value;
    index_type row;
  };
  template <class Team>
  WHILST_HD piece fetch(index_type place, const Team&) const {
    const index_type slice = place / warp_threads, lane = place % warp_threads;
    const index_type of_blocks = slice * layout::rows_each + lane / b;
    piece p;
    p.next = p.end = read_constant(slice_offsets + slice);
    p.row = -1;
    if (lane < layout::lanes) {
      p.end = read_constant(slice_offsets + slice + 1);
      p.row = row_of ? read_constant(row_of + of_blocks) : static_cast<std::int32_t>(of_blocks);
    }
    load_columns(p, lane);
    return p;
  }
  template <class Team>
  WHILST_HD entry_of_y read(index_type place, const Team&, piece p) const {
    const index_type lane = place % warp_threads;
    T sum = times(p, lane);
    for (p.next += piece::held; p.next < p.end; p.next += piece::held) {
      load_columns(p, lane);
      sum += times(p, lane);
    }
    return {sum, p.row < 0 ? rows : p.row * index_type{b} + lane % b};
  }
  WHILST_HD void operator()(index_type, const entry_of_y& e) const {
    if (e.row < rows) y[e.row] = e.value;
  }
  index_type bytes(index_type) const { return matrix_bytes + 2 * rows * static_cast<index_type>(sizeof(T)); }

 private:
  WHILST_HD static index_type block_at(std::int32_t step, index_type lane) {
    return step * layout::rows_each + lane / b;
  }
  WHILST_HD void load_columns(piece& p, index_type lane) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j)
      p.column[j] = p.next + j < p.end ? read_constant(columns + block_at(p.next + j, lane)) : no_block;
  }
  /// The row times the blocks held. Padding is skipped, not multiplied by zero: x may hold NaN.
  WHILST_HD T times(const piece& p, index_type lane) const {
    T value[piece::held][b], factor[piece::held][b], sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) {  // not by the column, which may still be on its way
      const std::int32_t step = p.next + j;
      const T* const from = values + index_type{step} * layout::entries_a_step + lane;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int c = 0; c < b; ++c) value[j][c] = step < p.end ? from[c * layout::lanes] : T(0);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) {
      const bool is_there = p.column[j] != no_block, is_full = p.column[j] >= 0;
      const index_type column = is_full ? p.column[j] : is_there ? ~p.column[j] : 0;
      unsigned there = is_there ? (1u << b) - 1 : 0;
      if (is_there && !is_full) there &= static_cast<unsigned>(masks[block_at(p.next + j, lane)] >> (lane % b * b));
      const T* const from = x + column * b;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int c = 0; c < b; ++c) factor[j][c] = there >> c & 1 ? from[c] : T(0);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int c = 0; c < b; ++c) sum += value[j][c] * factor[j][c];
    return sum;
  }
};

template <class T, int b>
class bsr_matrix final : public gathered_matrix<T> {
 public:
  bsr_matrix(const solve_request<T>& csr, const sliced_blocks<b>& made)
      : gathered_matrix<T>(csr, made.origin),
        slices_(made.slices.count()),
        blocks_(static_cast<index_type>(made.columns.size())),
        slice_offsets_(this->keep(made.slices.offsets)),
        row_of_(made.slices.row_of.empty() ? nullptr : this->keep(made.slices.row_of)),
        columns_(this->keep(made.columns)),
        masks_(made.masks.empty() ? nullptr : this->keep(made.masks)),
        partial_(std::count_if(made.columns.begin(), made.columns.end(),
                               [](std::int32_t at) { return at < 0 && at != no_block; })) {}

  index_type bytes_a_product(int) const override {
    constexpr index_type index = sizeof(std::int32_t), mask = sizeof(std::uint64_t);
    return blocks_ * (b * b * index_type{sizeof(T)} + index) + partial_ * mask + (slices_ + 1) * index +
           (row_of_ ? slices_ * sliced_blocks<b>::rows_each * index : 0);
  }
  void apply(recorder& run, const T* x, T* y) const override {
    run.step("y = A x", slices_ * warp_threads,
             bsr_product<T, b>{slice_offsets_, row_of_, columns_, masks_, this->values(), this->rows(),
                               bytes_a_product(sizeof(T)), x, y});
  }

 private:
  index_type slices_, blocks_;  ///< blocks: those stored
  const std::int32_t *slice_offsets_, *row_of_, *columns_;
  const std::uint64_t* masks_;
  index_type partial_;  ///< blocks that are not full
};

template <class T>
std::unique_ptr<formatted_matrix<T>> made_from(const bsr_layout& layout, const solve_request<T>& csr) {
  return with_block(layout.block, [&](auto b) -> std::unique_ptr<formatted_matrix<T>> {
    return std::make_unique<bsr_matrix<T, b()>>(csr, sliced_blocks<b()>(layout));
  });
}

}  // namespace

template <class T>
std::unique_ptr<formatted_matrix<T>> make_bsr_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr) {
  return made_from<T>(lay_out_blocks(host_pattern(pattern), sizeof(T)), csr);
}
template std::unique_ptr<formatted_matrix<WHILST_NUMBER>> make_bsr_matrix(const csr_matrix<WHILST_NUMBER>&,
                                                                          const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
