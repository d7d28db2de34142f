// compiled by nvcc where CUDA is on
#include "kernels/launch/device_parts.hpp"

#include <algorithm>

namespace whilst {
namespace {

struct only_links {
  WHILST_HD void operator()() const {}
};

struct reopen_loop {
  control* loop;
  WHILST_HD void operator()() const { loop->reopen(); }
};

}  // namespace

std::unique_ptr<recorded_step> make_reopener(control* loop) {
  return std::make_unique<map_step<detail::no_map, reopen_loop>>("reopen", 0, detail::no_map{}, reopen_loop{loop});
}

std::unique_ptr<recorded_step> make_publisher() {
  return std::make_unique<map_step<detail::no_map, only_links>>("arm", 0, detail::no_map{}, only_links{});
}

#if WHILST_WITH_CUDA

namespace {

constexpr int words_a_launch = 32;

struct word_writes {
  std::uint64_t* address[words_a_launch];
  std::uint64_t value[words_a_launch];
  int count;
};

__global__ void write_words_kernel(const __grid_constant__ word_writes writes) {
  if (static_cast<int>(threadIdx.x) < writes.count) *writes.address[threadIdx.x] = writes.value[threadIdx.x];
}

__global__ void selection_kernel(const __grid_constant__ selection what) {
  const bool runs = !what.guard || *what.guard;
  const int wanted = what.has_else ? (*what.flag ? 0 : 1) : *what.flag;
  const bool in_range = runs && wanted >= 0 && wanted < what.bodies;
  if (what.one_node) {
    cudaGraphSetConditional(what.conditions[0], static_cast<unsigned>(in_range ? wanted : what.bodies));
  } else {
    for (int k = 0; k < what.bodies; ++k) set_condition(what.conditions[k], in_range && k == wanted);
  }
}

}  // namespace

void launch_selection(cudaStream_t stream, const selection& what) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  WHILST_CUDA("launching the choice of a select", cudaLaunchKernelEx(&config, selection_kernel, what));
}

void load_write_words() {
  cudaFuncAttributes attributes{};
  WHILST_CUDA("loading the writer of parameters", cudaFuncGetAttributes(&attributes, write_words_kernel));
}

void write_words(cudaStream_t stream, const std::vector<std::uint64_t*>& addresses,
                 const std::vector<std::uint64_t>& words) {
  for (std::size_t first = 0; first < words.size(); first += words_a_launch) {
    word_writes writes{};
    writes.count = static_cast<int>(std::min<std::size_t>(words_a_launch, words.size() - first));
    for (int i = 0; i < writes.count; ++i) {
      writes.address[i] = addresses[first + static_cast<std::size_t>(i)];
      writes.value[i] = words[first + static_cast<std::size_t>(i)];
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(words_a_launch);
    config.stream = stream;
    WHILST_CUDA("writing a program's parameters", cudaLaunchKernelEx(&config, write_words_kernel, writes));
  }
}

#endif

}  // namespace whilst
