// compiled for each number type, by nvcc where CUDA is on
#include <algorithm>
#include <limits>

#include "solvers/linear/formats/bsr_layout.hpp"
#include "solvers/linear/formats/gathered_matrix.hpp"

namespace whilst {
namespace {

constexpr std::int32_t no_block = std::numeric_limits<std::int32_t>::min();

/// A row of blocks times x, by some lanes of a warp: floor(lanes / b) blocks at a time, one of their rows a lane. On
/// the host one lane has all rows.
template <class T, int b>
struct bsr_product {
  static constexpr bool fetches_constants = true;  // the pattern, which no step writes
  const std::int32_t *row_offsets, *columns;
  const std::uint64_t* masks;
  const T* values;
  index_type rows;
  int lanes;
  index_type matrix_bytes;
  const T* x;
  T* y;

  static constexpr int rows_a_lane = on_device ? 1 : b;
  static constexpr unsigned full_row = (1u << b) - 1;
  /// Blocks whose reads are in flight at once.
  struct piece {
    static constexpr int held = on_device ? (b == 2 ? 6 : b == 3 ? 4 : b == 4 ? 3 : 2) : 1;
    std::int32_t column[held];
    std::int32_t next, end;
  };
  struct entries_of_y {
    T value[rows_a_lane];
  };
  WHILST_HD int lanes_wanted() const { return lanes; }
  /// Blocks that a team reads at once. A lane of which no block is left idles.
  template <class Team>
  WHILST_HD static std::int32_t at_once(const Team& team) {
    return on_device ? team.size() / b : 1;
  }
  template <class Team>
  WHILST_HD piece fetch(index_type I, const Team& team) const {
    piece p;
    const std::int32_t begin = read_constant(row_offsets + I), mine = on_device ? team.rank() / b : 0;
    p.end = mine < at_once(team) ? read_constant(row_offsets + I + 1) : begin;
    p.next = begin + mine;
    load_columns(p, team);
    return p;
  }
  template <class Team>
  WHILST_HD entries_of_y read(index_type, const Team& team, piece p) const {
    entries_of_y sum{};
    add(sum, p, team);
    for (p.next += piece::held * at_once(team); p.next < p.end; p.next += piece::held * at_once(team)) {
      load_columns(p, team);
      add(sum, p, team);
    }
    if constexpr (on_device) {
      const T mine = sum.value[0];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int r = 0; r < b; ++r) {
        const T total = team.sum(team.rank() % b == r ? mine : T(0));
        if (team.rank() == r) sum.value[0] = total;
      }
    }
    return sum;
  }
  template <class Team>
  WHILST_HD void operator()(index_type I, const Team& team, const entries_of_y& e) const {
    for (int r = 0; r < rows_a_lane; ++r) {
      const index_type row = I * b + team.rank() + r;
      if (team.rank() < b && row < rows) y[row] = e.value[r];
    }
  }
  index_type bytes(index_type) const { return matrix_bytes + 2 * rows * static_cast<index_type>(sizeof(T)); }

 private:
  template <class Team>
  WHILST_HD void load_columns(piece& p, const Team& team) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < piece::held; ++j) {
      const std::int32_t k = p.next + j * at_once(team);
      p.column[j] = k < p.end ? read_constant(columns + k) : no_block;
    }
  }
  /// Adds the products with the blocks held. Padding is skipped, not multiplied by zero: x may hold NaN.
  template <class Team>
  WHILST_HD void add(entries_of_y& sum, const piece& p, const Team& team) const {
    for (int s = 0; s < rows_a_lane; ++s) {
      const int r = on_device ? team.rank() % b : s;
      T value[piece::held][b], factor[piece::held][b];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < piece::held; ++j) {  // not by the column, which may still be on its way
        const std::int32_t k = p.next + j * at_once(team);
        const T* const of_row = values + (static_cast<index_type>(k) * b + r) * b;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int c = 0; c < b; ++c) value[j][c] = k < p.end ? of_row[c] : T(0);
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < piece::held; ++j) {
        const bool is_there = p.column[j] != no_block, is_full = p.column[j] >= 0;
        const index_type column = is_full ? p.column[j] : is_there ? ~p.column[j] : 0;
        unsigned there = is_there ? full_row : 0;
        if (is_there && !is_full) there &= static_cast<unsigned>(masks[p.next + j * at_once(team)] >> (r * b));
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
        for (int c = 0; c < b; ++c) sum.value[s] += value[j][c] * factor[j][c];
    }
  }
};

template <class T, int b>
class bsr_matrix final : public gathered_matrix<T> {
 public:
  bsr_matrix(const solve_request<T>& csr, const bsr_layout& made)
      : gathered_matrix<T>(csr, made.origin),
        rows_(static_cast<index_type>(made.row_offsets.size()) - 1),
        blocks_(static_cast<index_type>(made.columns.size())),
        row_offsets_(this->keep(made.row_offsets)),
        columns_(this->keep(made.columns)),
        masks_(made.masks.empty() ? nullptr : this->keep(made.masks)),
        partial_(std::count_if(made.columns.begin(), made.columns.end(), [](std::int32_t at) { return at < 0; })) {}

  index_type bytes_a_product(bool) const override {
    constexpr index_type index = sizeof(std::int32_t), mask = sizeof(std::uint64_t);
    return blocks_ * (b * b * index_type{sizeof(T)} + index) + partial_ * mask + (rows_ + 1) * index;
  }
  void apply(recorder& run, const T* x, T* y) const override {
    run.step("y = A x", rows_,
             bsr_product<T, b>{row_offsets_, columns_, masks_, this->values(), this->rows(), lanes(),
                               bytes_a_product(false), x, y});
  }

 private:
  /// The fewest that read an average row of blocks in one piece.
  int lanes() const {
    constexpr int held = b == 2 ? 6 : b == 3 ? 4 : b == 4 ? 3 : 2;
    int lanes = b == 2 ? 2 : b <= 4 ? 4 : 8;
    while (lanes < 32 && index_type{lanes / b} * held * rows_ < blocks_) lanes *= 2;
    return lanes;
  }
  index_type rows_, blocks_;  ///< of blocks
  const std::int32_t *row_offsets_, *columns_;
  const std::uint64_t* masks_;
  index_type partial_;  ///< blocks that are not full
};

template <class T>
std::unique_ptr<formatted_matrix<T>> made_from(const bsr_layout& layout, const solve_request<T>& csr) {
  return with_block(layout.block, [&](auto b) -> std::unique_ptr<formatted_matrix<T>> {
    return std::make_unique<bsr_matrix<T, b()>>(csr, layout);
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
