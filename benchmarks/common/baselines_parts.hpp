#pragma once

/// What the baselines share: checks, the matrix on the device, timing.

#include "benchmarks/common/baselines.hpp"
#include "whilst/error.hpp"

#if WHILST_WITH_CUDA
#include <algorithm>
#include <functional>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#endif

namespace whilst::baselines {

inline constexpr const char* host_driven_name = "host-driven cuSPARSE and cuBLAS";
inline constexpr const char* hand_written_name = "hand-written WHILE graph";

template <class T>
void check_sizes(const std::string& name, const csr_matrix<T>& A, std::span<const T> b) {
  if (A.rows() == A.columns() && static_cast<index_type>(b.size()) == A.rows()) return;
  throw error("running the baseline '" + name + "'",
              "the matrix is " + std::to_string(A.rows()) + " x " + std::to_string(A.columns()) + " and b has " +
                  std::to_string(b.size()) + " entries",
              "Give a square matrix and one entry of b a row");
}

#if WHILST_WITH_CUDA

/// Why nothing can be timed; empty if it can.
template <class T>
std::string why_not(const csr_matrix<T>& A, index_type iterations) {
  if (A.rows() == 0 || iterations <= 0) return "there is nothing to time";
  std::string note;
  if (cuda::device_count(&note) == 0) return note.empty() ? "there is no CUDA device" : note;
  return {};
}

inline place current_gpu() {
  int device = 0;
  WHILST_CUDA("asking for the current device", cudaGetDevice(&device));
  return place::gpu(device);
}

/// The matrix on the device: borrowed if it is there already, otherwise copied.
template <class T>
struct device_matrix {
  raw_buffer offset_copy, column_copy, value_copy;
  const void* offsets;
  const std::int32_t* columns;
  const T* values;

  device_matrix(const csr_matrix<T>& A, place where) {
    offsets = A.row_offsets_data();
    columns = A.column_indices_data();
    values = A.values_data();
    if (A.is_on_device()) return;
    const auto copy = [&](raw_buffer& target, const void* source, std::size_t bytes) {
      target = raw_buffer(where, bytes);
      target.upload(source, bytes);
      return target.data();
    };
    const auto rows = static_cast<std::size_t>(A.rows()), nonzeros = static_cast<std::size_t>(A.nonzeros());
    offsets = copy(offset_copy, offsets, (A.has_64bit_offsets() ? 8 : 4) * (rows + 1));
    columns = static_cast<const std::int32_t*>(copy(column_copy, columns, sizeof(std::int32_t) * nonzeros));
    values = static_cast<const T*>(copy(value_copy, values, sizeof(T) * nonzeros));
  }
};

/// Median seconds of `run` on `stream`, by events, after one warm-up run: seven runs, fewer if they are long. `prepare`
/// is enqueued before each and not timed.
inline double median_seconds(cudaStream_t stream, const std::function<void()>& prepare,
                             const std::function<void()>& run) {
  cudaEvent_t made = nullptr;
  WHILST_CUDA("making an event", cudaEventCreate(&made));
  const cuda::event begin(made);
  WHILST_CUDA("making an event", cudaEventCreate(&made));
  const cuda::event end(made);
  std::vector<float> milliseconds;
  float total = 0;
  for (int repeat = -1; repeat < 7 && (repeat < 3 || total < 1000); ++repeat) {
    prepare();
    WHILST_CUDA("timing a baseline", cudaEventRecord(begin.get(), stream));
    run();
    WHILST_CUDA("timing a baseline", cudaEventRecord(end.get(), stream));
    WHILST_CUDA("running a baseline", cudaEventSynchronize(end.get()));
    float elapsed = 0;
    WHILST_CUDA("timing a baseline", cudaEventElapsedTime(&elapsed, begin.get(), end.get()));
    if (repeat < 0) continue;
    milliseconds.push_back(elapsed);
    total += elapsed;
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return 1e-3 * milliseconds[milliseconds.size() / 2];
}

#endif

}  // namespace whilst::baselines
