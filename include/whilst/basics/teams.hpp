#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/lanes.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

/// @file
/// A team is a few threads that work on one index together. Every team has rank(), size(), sync() and sum(x), which
/// gives every thread the total over the team. On the host a team is one thread, so a functor written for a team is
/// serial there. Two kinds: `lanes`, up to a warp, and `block_team`, a whole block.

/// The teams of finishes that declare whole_warp. Their sizes are compile-time constants: thread k % size() holds
/// element k of an array as its entry k / size(); broadcast(entry, k % size()) gives it to all.
struct one_thread {
  WHILST_HD static constexpr int rank() { return 0; }
  WHILST_HD static constexpr int size() { return 1; }
  WHILST_HD static double broadcast(double value, int) { return value; }
  WHILST_HD static double sum(double value) { return value; }
  WHILST_HD static void sync() {}
  /// The copy that a finish works on, and writing it back to memory.
  template <class T>
  WHILST_HD static void assign(T& target, const T& source) {
    target = source;
  }
  template <class T>
  WHILST_HD static void copy(T& target, const T& source) {
    if (&target != &source) target = source;  // working in place leaves nothing to copy back
  }
};
#if defined(__CUDACC__)
class whole_warp {
  bool writes_ = true;

 public:
  whole_warp() = default;
  /// For one of several blocks that run the same finish: `writes` is true in the one whose copy() takes effect.
  __device__ explicit whole_warp(bool writes) : writes_(writes) {}
  __device__ static int rank() { return static_cast<int>(threadIdx.x) & 31; }
  __device__ static constexpr int size() { return 32; }
  __device__ static double broadcast(double value, int from) { return __shfl_sync(0xffffffffu, value, from); }
  __device__ static double sum(double value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
  }
  /// Afterwards all threads see what each wrote before.
  __device__ static void sync() { __syncwarp(); }
  /// The threads split the copy into pieces of 16 bytes.
  template <class T>
  __device__ static void assign(T& target, const T& source) {
    static_assert(alignof(T) % 16 == 0 && sizeof(T) % 16 == 0);
    for (unsigned k = threadIdx.x & 31; k < sizeof(T) / 16; k += 32)
      reinterpret_cast<int4*>(&target)[k] = reinterpret_cast<const int4*>(&source)[k];
  }
  template <class T>
  __device__ void copy(T& target, const T& source) const {
    if (writes_) assign(target, source);
  }
};
#endif

#if defined(__CUDACC__)
/// The same lanes where their whole warp takes part, as in the fetch and read phases of a map: no lane mask needed.
class lanes_of_whole_warp {
 public:
  __device__ explicit lanes_of_whole_warp(int size) : rank_(static_cast<int>(threadIdx.x) & (size - 1)), size_(size) {}
  __device__ int rank() const { return rank_; }
  __device__ int size() const { return size_; }
  __device__ void sync() const { __syncwarp(); }
  /// Whether it holds in any lane of the warp, whichever team that is of.
  __device__ static bool any_of_warp(bool holds) { return __any_sync(0xffffffffu, holds); }
  template <class T>
  __device__ T sum(T value) const {
    if (size_ == 1) return value;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      if (size_ > distance) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
  }
  template <class T, int k>
  __device__ sums<T, k> sum(sums<T, k> value) const {
    if (size_ > 1) detail::add_across_lanes(value.value, size_, 0xffffffffu);
    return value;
  }
  /// Reads in a fetch what steps before the last one wrote: see read_early.
  template <class T>
  __device__ static T early(const T* address) {
    return read_early(address);
  }

 private:
  int rank_, size_;
};

/// A whole warp's sums; every lane receives them. Bit for bit what lanes(32).sum gives: the same additions. But where 4
/// to 32 sums are formed, lanes that meet share the work, so that each has half as many left, and the totals are
/// exchanged at the end: for 6 sums 14 shuffles instead of 30. If only the first `giving` lanes have something to add,
/// only those receive the sums.
template <int giving = 32, class T, int k>
__device__ sums<T, k> sums_of_warp(sums<T, k> value) {
  static_assert(giving <= 32 && (giving & (giving - 1)) == 0, "lanes meet in pairs");
  if constexpr (k < 4 || k > giving) {
    return lanes_of_whole_warp(giving).sum(value);
  } else {
    unsigned holder[k] = {};  // the lane that ends up with each sum: constants
    int first[k];             // and where it is among those that the lane holds
#pragma unroll
    for (int j = 0; j < k; ++j) first[j] = j;
    int held = k;
#pragma unroll
    for (int distance = giving / 2; distance > 0; distance /= 2) {
      const int kept = (held + 1) / 2;
      const bool upper = threadIdx.x & distance;
#pragma unroll
      for (int j = 0; j < k; ++j) {
        if (j >= kept) break;
        const T low = value.value[j], high = value.value[j + kept < held ? j + kept : j];
        value.value[j] = (upper ? high : low) + __shfl_xor_sync(0xffffffffu, upper ? low : high, distance);
      }
#pragma unroll
      for (int j = 0; j < k; ++j) {
        if (first[j] < kept) continue;
        first[j] -= kept;
        holder[j] |= distance;
      }
      held = kept;
    }
    const T mine = value.value[0];
#pragma unroll
    for (int j = 0; j < k; ++j) value.value[j] = __shfl_sync(0xffffffffu, mine, holder[j]);
    return value;
  }
}

/// Many sums: lane j % 32 holds entry j as its part j / 32. Each lane of a warp writes its values to shared memory as a
/// row, then adds up a column: a few instructions per sum, where shuffles take 7 times as many.
template <class T, int k>
struct scattered_sums {
  static constexpr int parts = (k + 31) / 32;
  T part[parts];

  /// Room for the rows of a warp. The stride is odd, so neither rows nor columns cause bank conflicts.
  static constexpr int stride = (k < 32 ? k : 32) | 1;
  using rows = T[32 * stride];

  __device__ static scattered_sums of_lanes(const sums<T, k>& value, rows& of_warp) {
    scattered_sums total;
    each_part([&]<int p>() { total.part[p] = of_lanes_part<p>(value, of_warp); });
    return total;
  }

 private:
  /// How many lanes hold different entries of a part; the other lanes repeat them.
  static constexpr int period(int part) {
    int lanes = 1;
    while (lanes < 32 && lanes < k - 32 * part) lanes *= 2;
    return lanes;
  }
  /// The pieces whose entry j of part p this lane reads: first, first + stride, ... below end.
  template <int p>
  struct pieces_of_lane {
    const T* entry;
    unsigned first, stride, end;
    __device__ pieces_of_lane(const T* pieces, unsigned count, unsigned warp, unsigned warps) {
      constexpr unsigned lanes = period(p), groups_a_warp = 32 / lanes;
      const unsigned lane = threadIdx.x % 32, j = 32 * p + lane % lanes;
      entry = pieces + j;
      first = warp * groups_a_warp + lane / lanes;
      stride = warps * groups_a_warp;
      end = j < k ? count : 0;
    }
    /// Issues all loads before waiting for the first; 0 where there is no piece.
    template <unsigned at_once>
    __device__ void read(T (&into)[at_once], unsigned from) const {
#pragma unroll
      for (unsigned q = 0; q < at_once; ++q) {
        const unsigned piece = from + q * stride;
        into[q] = piece < end ? entry[piece * k] : T(0);
      }
    }
  };
  /// Pairwise: one chain of additions is slow.
  template <unsigned count>
  __device__ static T in_a_tree(T (&value)[count]) {
#pragma unroll
    for (unsigned distance = 1; distance < count; distance *= 2)
#pragma unroll
      for (unsigned q = 0; q + distance < count; q += 2 * distance) value[q] += value[q + distance];
    return value[0];
  }

 public:
  /// The sum of `count` pieces of k values each, split among warps. A lane reads `at_once` of them at a time.
  template <unsigned at_once>
  __device__ static scattered_sums of_pieces(const T* pieces, unsigned count, unsigned warp = 0, unsigned warps = 1) {
    scattered_sums total;
    each_part([&]<int p>() {
      const pieces_of_lane<p> mine(pieces, count, warp, warps);
      T sum = 0;
      WHILST_ROLLED
      for (unsigned first = mine.first; first < mine.end; first += at_once * mine.stride) {
        T read[at_once];
        mine.read(read, first);
        sum += in_a_tree(read);
      }
      total.part[p] = over_groups<period(p)>(sum);
    });
    return total;
  }
  /// The same by some of the warps, in two parts: start loading the first `usual` pieces; then form the total.
  template <unsigned warps, unsigned usual>
  class pieces_ahead {
    static_assert(parts == 1);
    static constexpr unsigned stride = warps * (32 / period(0)), at_once = (usual + stride - 1) / stride;
    pieces_of_lane<0> mine_;
    T read_[at_once];

   public:
    __device__ pieces_ahead(const T* pieces, unsigned count, unsigned warp) : mine_(pieces, count, warp, warps) {
      mine_.read(read_, mine_.first);
    }
    __device__ scattered_sums total() {
      T sum = in_a_tree(read_);
      WHILST_ROLLED
      for (unsigned first = mine_.first + at_once * stride; first < mine_.end; first += at_once * stride) {
        mine_.read(read_, first);
        sum += in_a_tree(read_);
      }
      return {{over_groups<period(0)>(sum)}};
    }
  };
  /// Calls use(j, sum j): one lane per sum.
  template <class Use>
  __device__ void each_once(const Use& use) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int p = 0; p < parts; ++p)
      if (32 * p + lane < k) use(32 * p + lane, part[p]);
  }
  __device__ void store(T* target) const {
    each_once([&](int j, T sum) { target[j] = sum; });
  }

 private:
  template <class Use, int... p>
  __device__ static void each_part(const Use& use, std::integer_sequence<int, p...>) {
    (use.template operator()<p>(), ...);
  }
  template <class Use>
  __device__ static void each_part(const Use& use) {
    each_part(use, std::make_integer_sequence<int, parts>());
  }
  /// Adds the values of lanes that are `lanes` or more apart.
  template <unsigned lanes>
  __device__ static T over_groups(T sum) {
#pragma unroll
    for (unsigned distance = 16; distance >= lanes; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    return sum;
  }
  template <int p>
  __device__ static T of_lanes_part(const sums<T, k>& value, rows& of_warp) {
    constexpr unsigned lanes = period(p), groups = 32 / lanes;  // groups of lanes share the rows
    constexpr int count = k - 32 * p < 32 ? k - 32 * p : 32;
    const unsigned lane = threadIdx.x % 32, column = lane % lanes;
    __syncwarp();
    for (int j = 0; j < count; ++j) of_warp[lane * stride + j] = value.value[32 * p + j];
    __syncwarp();
    T sum[4] = {};  // four chains of additions overlap; one would be slow
    const T* const first = of_warp + lane / lanes * lanes * stride + (column < count ? column : 0);
    static_assert(lanes * groups == 32);
#pragma unroll
    for (unsigned row = 0; row < lanes; ++row) sum[row % 4] += first[row * stride];
    return over_groups<lanes>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
};

/// All threads of a block; its size is a multiple of 32.
class block_team {
 public:
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  /// Every thread receives the total, added in a fixed order.
  template <class T, int k>
  __device__ sums<T, k> sum(sums<T, k> value) const {
    __shared__ sums<T, k> of_warp[32];
    value = sums_of_warp(value);
    if (blockDim.x == 32) {
      __syncwarp();
      return value;
    }
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    const unsigned warps = blockDim.x / 32, lane = threadIdx.x & 31;
    sums<T, k> total{};
    if (lane < warps) total = of_warp[lane];
    total = sums_of_warp(total);
    __syncthreads();
    return total;
  }
  template <class T>
  __device__ T sum(T value) const {
    return sum(sums<T, 1>{{value}})[0];
  }
  /// The total, valid where rank() is 0 and, with most_warps = 32, in the whole first warp; that thread also sees what
  /// the block wrote before. Call sync() before the next call. In blocks of at most that many warps, a power of two.
  template <int most_warps = 32, class T, int k>
  __device__ sums<T, k> sum_on_leader(sums<T, k> value) const {
    __shared__ sums<T, k> of_warp[most_warps];
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) & 31;
    value = sums_of_warp(value);
    if (lane == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x >= 32) return value;
    if (warps == 1) return value;
    constexpr int usual_warps = 8;
    if constexpr (most_warps > usual_warps && k < 4) {
      const int one = lane % usual_warps;
      if (warps <= usual_warps) return sums_of_warp<usual_warps>(one < warps ? of_warp[one] : sums<T, k>{});
    }
    return sums_of_warp<most_warps>(lane < warps ? of_warp[lane] : sums<T, k>{});
  }
  /// The same for many sums, through shared memory: the first warp gets the total, in blocks of at most that many
  /// warps. Only a few warps have rows there at a time: they keep it busy, and there is no room for more.
  static constexpr int warps_with_rows = 4;
  template <int most_warps, class T, int k>
  __device__ scattered_sums<T, k> sum_scattered(const sums<T, k>& value) const {
    T* const of_warp = sums_of_warps<most_warps, T, k>();
    __shared__ typename scattered_sums<T, k>::rows rows[warps_with_rows];
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    scattered_sums<T, k> mine;
    if constexpr (most_warps <= warps_with_rows) {
      mine = scattered_sums<T, k>::of_lanes(value, rows[warp]);
    } else {
      WHILST_ROLLED
      for (unsigned first = 0; first < warps; first += warps_with_rows) {
        if (first > 0) __syncthreads();
        if (warp / warps_with_rows == first / warps_with_rows)
          mine = scattered_sums<T, k>::of_lanes(value, rows[warp % warps_with_rows]);
      }
    }
    mine.store(of_warp + warp * k);
    __syncthreads();
    if (warp > 0 || warps == 1) return mine;
    return scattered_sums<T, k>::template of_pieces<4>(of_warp, warps);
  }
  /// Shared memory for k sums of each warp. All callers with the same arguments share one piece.
  template <int most_warps, class T, int k>
  __device__ static T* sums_of_warps() {
    __shared__ T of_warp[most_warps * k];
    return of_warp;
  }
  /// The block as groups of `width` lanes each, for maps that ask for lanes.
  __device__ static lanes divided(int width) { return lanes(width); }
  __device__ int groups(int width) const { return size() / width; }
  __device__ int group(int width) const { return rank() / width; }
  /// The block's dynamic shared memory.
  __device__ static void* fast_memory() {
    extern __shared__ __align__(256) std::byte whilst_fast_memory[];
    return whilst_fast_memory;
  }
  /// Reads in a fetch what steps before the last one wrote: see read_early.
  template <class T>
  __device__ static T early(const T* address) {
    return read_early(address);
  }
};
#endif

}  // namespace whilst
