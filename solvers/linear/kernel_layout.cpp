#include <algorithm>
#include <bit>

#include "whilst/engine/steps/resident.hpp"
#include "whilst/engine/steps/step_frame.hpp"
#include "whilst/linear/linear_problems.hpp"

namespace whilst {
namespace {

/// Threads for each of many systems of so many rows: up to 32 share a warp, more are a block. The fastest of the powers
/// of two for conjugate gradients on an H200; BiCGSTAB's optima are the same. Fewer threads keep more of them busy in
/// the sums and in the last rows; more threads keep fewer systems, and with them fewer bytes, in flight.
int threads_for_each(index_type rows) {
  struct range {
    index_type most_rows;
    int threads;
  };
  constexpr range ranges[] = {{6, 4}, {30, 8}, {80, 16}, {200, 32}, {400, 128}, {800, 256}};
  for (const range& of : ranges)
    if (rows <= of.most_rows) return of.threads;
  return 512;
}

/// A larger one gets a block for each so many threads, or up to twice that. On an H200 half as many, or twice as many,
/// do nearly as well.
constexpr index_type threads_worth_a_block = 128;

#if WHILST_WITH_CUDA
/// Up to so many rows of a thread each, one block is faster: it meets by its own barrier. Measured on an H200.
constexpr index_type most_rows_of_one_block = 256;
/// Shared memory of a block that its sums and mailbox take, at most.
constexpr index_type most_static_shared = 14 * 1024;
#endif

/// A leader apart from the threads that have rows costs nothing where a block has few of these: see cluster_team.
int with_leaders(int threads) {
  constexpr int leaders = 32;
  return threads > leaders && threads + leaders <= threads_of_cluster_block ? threads + leaders : threads;
}

index_type rounded_up(index_type bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

kernel_layout kernel_layout_for([[maybe_unused]] const place& where, index_type rows, int lanes, index_type systems,
                                [[maybe_unused]] bool spans_blocks,
                                const std::function<index_type(int)>& bytes_of_block) {
  index_type multiprocessors = 1, fast_memory_bytes = 0, most_blocks = 1;
#if WHILST_WITH_CUDA
  if (!where.on_host()) {
    const device_traits device = traits_of_device(where.device());
    multiprocessors = device.multiprocessors;
    fast_memory_bytes = static_cast<index_type>(device.fast_memory_bytes) - most_static_shared;
    if (spans_blocks && (lanes > 1 || rows > most_rows_of_one_block))
      most_blocks = std::min<index_type>(largest_cluster_of(where.device()), multiprocessors / systems);
  }
#endif
  // A system that has a multiprocessor to itself gets all the threads that it has rows for; one that has several,
  // blocks on each.
  kernel_layout layout;
  layout.threads = systems <= multiprocessors ? threads_for_problem(rows) : threads_for_each(rows);
  for (index_type blocks = 2; blocks <= most_blocks && blocks * threads_worth_a_block / 2 < rows * lanes; blocks *= 2) {
    const index_type share = (rows + blocks - 1) / blocks;
    const int shift = std::bit_width(static_cast<std::uint64_t>(share - 1));
    const index_type bytes = rounded_up(bytes_of_block(shift));
    if (bytes > fast_memory_bytes) continue;
    layout.shift = shift;
    layout.blocks = static_cast<int>((rows - 1) >> shift) + 1;
    layout.threads = std::min(threads_for_problem((index_type{1} << shift) * lanes), threads_of_cluster_block);
    layout.bytes = bytes;
    layout.in_fast_memory = true;
  }
  if (layout.blocks > 0) {
    layout.threads = with_leaders(layout.threads);
    return layout;
  }
  layout.bytes = rounded_up(bytes_of_block(layout.shift));
  if (layout.threads <= 32 && systems > 1) return layout;
  layout.blocks = 1;
  // Shared memory is faster; many blocks per multiprocessor must divide it.
  layout.in_fast_memory = layout.bytes <= (systems == 1 ? fast_memory_bytes : fast_memory_bytes / 4);
  if (layout.as_cluster(spans_blocks, systems)) layout.threads = with_leaders(layout.threads);
  return layout;
}

}  // namespace whilst
