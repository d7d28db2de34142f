#include "solvers/linear/formats/bsr_layout.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "solvers/linear/host_array.hpp"

namespace whilst {
namespace {

constexpr int least_block = 2, most_block = 6;

/// The blocks of one row of blocks, in the order in which the rows below one another name them. A position that comes
/// twice takes a second block of the same column.
template <int b>
class row_of_blocks {
 public:
  struct block {
    std::int32_t column, next;  ///< next: another one of this column, -1 for none
    std::uint64_t mask;
    std::array<std::int32_t, b * b> origin;
  };
  explicit row_of_blocks(const host_pattern& A)
      : A_(A), first_(static_cast<std::size_t>((A.columns() + b - 1) / b), -1) {}

  const std::vector<block>& read(index_type row_of_blocks) {
    for (const block& one : blocks_) first_[static_cast<std::size_t>(one.column)] = -1;
    blocks_.clear();
    const index_type begin = row_of_blocks * b, end = std::min(begin + b, A_.rows());
    for (index_type i = begin; i < end; ++i)
      for (index_type k = A_.begin(i); k < A_.begin(i + 1); ++k) add(static_cast<int>(i - begin), A_.column(k), k);
    return blocks_;
  }

 private:
  void add(int row, std::int32_t column, index_type k) {
    const int at = row * b + column % b;
    std::int32_t& first = first_[static_cast<std::size_t>(column / b)];
    std::int32_t found = first;
    while (found >= 0 && (blocks_[static_cast<std::size_t>(found)].mask >> at & 1))
      found = blocks_[static_cast<std::size_t>(found)].next;
    if (found < 0) {
      found = static_cast<std::int32_t>(blocks_.size());
      block made{column / b, first, 0, {}};
      made.origin.fill(-1);
      blocks_.push_back(made);
      first = found;
    }
    block& taken = blocks_[static_cast<std::size_t>(found)];
    taken.mask |= std::uint64_t{1} << at;
    taken.origin[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(k);
  }

  const host_pattern& A_;
  std::vector<std::int32_t> first_;  ///< of each column of blocks, the block added last; -1 for none
  std::vector<block> blocks_;
};

/// Calls visit(I, the blocks of row I), on the host's threads.
template <int b, class Visit>
void visit_rows(const host_pattern& A, const Visit& visit) {
  const index_type rows = (A.rows() + b - 1) / b;
  detail::visit_ranges(static_cast<std::size_t>(rows), [&](std::size_t begin, std::size_t end) {
    row_of_blocks<b> row(A);
    for (std::size_t I = begin; I < end; ++I) visit(I, row.read(static_cast<index_type>(I)));
  });
}
template <int b>
index_type count_blocks(const host_pattern& A) {
  std::atomic<index_type> count{0};
  visit_rows<b>(A, [&](std::size_t, const auto& blocks) { count += static_cast<index_type>(blocks.size()); });
  return count;
}
template <int b>
bsr_layout lay_out(const host_pattern& A) {
  bsr_layout made{b, std::vector<std::int32_t>(static_cast<std::size_t>((A.rows() + b - 1) / b) + 1, 0), {}, {}, {}};
  visit_rows<b>(A, [&](std::size_t I, const auto& blocks) {
    made.row_offsets[I + 1] = static_cast<std::int32_t>(blocks.size());
  });
  for (std::size_t I = 1; I < made.row_offsets.size(); ++I) made.row_offsets[I] += made.row_offsets[I - 1];
  const auto count = static_cast<std::size_t>(made.row_offsets.back());
  made.columns.resize(count);
  made.origin.resize(count * b * b);
  made.masks.resize(count);
  constexpr std::uint64_t full = (std::uint64_t{1} << (b * b)) - 1;
  std::atomic<bool> all_full{true};
  visit_rows<b>(A, [&](std::size_t I, const auto& blocks) {
    auto to = static_cast<std::size_t>(made.row_offsets[I]);
    for (const auto& one : blocks) {
      made.columns[to] = one.mask == full ? one.column : ~one.column;
      made.masks[to] = one.mask;
      std::copy(one.origin.begin(), one.origin.end(), made.origin.begin() + static_cast<std::ptrdiff_t>(to * b * b));
      if (one.mask != full) all_full = false;
      ++to;
    }
  });
  if (all_full) made.masks.clear();
  return made;
}

}  // namespace

bsr_layout lay_out_blocks(const host_pattern& A, index_type bytes_each) {
  constexpr index_type index = sizeof(std::int32_t);
  index_type least = A.nonzeros() * (bytes_each + index);
  int best = 0;
  for (int block = least_block; block <= most_block; ++block) {
    const index_type count = with_block(block, [&](auto b) { return count_blocks<b()>(A); });
    const index_type bytes = count * (block * block * bytes_each + index);
    if (bytes > least) continue;  // of equals the larger blocks
    least = bytes;
    best = block;
    check_stored_entries("bsr", count * block * block);
  }
  if (best == 0)
    throw error("storing a matrix as bsr", "in blocks of any size from 2 to 6 it would be larger than in csr",
                "Use another format, or auto");
  return with_block(best, [&](auto b) { return lay_out<b()>(A); });
}

}  // namespace whilst
