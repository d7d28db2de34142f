// compiled by nvcc where CUDA is on
#include "kernels/engine/device_parts.hpp"

#include <algorithm>
#include <map>
#include <mutex>

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

std::unique_ptr<recorded_step> make_iteration_counter() {
  return std::make_unique<map_step<detail::no_map, count_iteration>>("count the iteration", 0, detail::no_map{},
                                                                     count_iteration{});
}

std::unique_ptr<recorded_step> make_publisher() {
  return std::make_unique<map_step<detail::no_map, only_links>>("arm", 0, detail::no_map{}, only_links{});
}

#if WHILST_WITH_CUDA

namespace {

/// Kernel arguments cost host time and most programs have few words; many words go in batches that fit 4 KiB.
constexpr std::size_t least_words = 8, few_words = 32, many_words = 160;

template <std::size_t most>
struct word_writes {
  word_write of[most];
  int count;
};
static_assert(sizeof(word_writes<many_words>) <= 4096, "what a kernel's arguments may take");

template <std::size_t most>
__global__ void write_words_kernel(const __grid_constant__ word_writes<most> writes) {
  if (static_cast<int>(threadIdx.x) < writes.count) writes.of[threadIdx.x].write();
}

std::size_t words_a_launch(const std::vector<word_write>& words) {
  return words.size() <= least_words ? least_words : words.size() <= few_words ? few_words : many_words;
}

/// Calls use(kernel, threads, arguments) with the kernel that writes the words from `first` on.
template <class Use>
void with_writer(const std::vector<word_write>& words, std::size_t first, const Use& use) {
  const auto with = [&](auto writes, auto* kernel, std::size_t most) {
    const std::size_t count = std::min(most, words.size() - first);
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(first), count, writes.of);
    writes.count = static_cast<int>(count);
    void* arguments[] = {&writes};
    use(reinterpret_cast<void*>(kernel), static_cast<unsigned>(most), arguments);
  };
  switch (words_a_launch(words)) {
    case least_words:
      return with(word_writes<least_words>{}, &write_words_kernel<least_words>, least_words);
    case few_words:
      return with(word_writes<few_words>{}, &write_words_kernel<few_words>, few_words);
    default:
      return with(word_writes<many_words>{}, &write_words_kernel<many_words>, many_words);
  }
}

__global__ void fills_multiprocessor_kernel() {}

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

void load_write_words(const std::vector<word_write>& words) {
  if (words.empty()) return;
  with_writer(words, 0, [](void* kernel, unsigned, void**) {
    cudaFuncAttributes attributes{};
    WHILST_CUDA("loading the writer of parameters", cudaFuncGetAttributes(&attributes, kernel));
  });
}

void write_words(cudaStream_t stream, const std::vector<word_write>& words, const std::function<void()>& after_each) {
  for (std::size_t first = 0; first < words.size(); first += words_a_launch(words)) {
    with_writer(words, first, [&](void* kernel, unsigned threads, void** arguments) {
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(1);
      config.blockDim = dim3(threads);
      config.stream = stream;
      WHILST_CUDA("writing a program's parameters", cudaLaunchKernelExC(&config, kernel, arguments));
    });
    after_each();
  }
}

void update_words(cudaGraphExec_t exec, const std::vector<cudaGraphNode_t>& nodes,
                  const std::vector<word_write>& former, const std::vector<word_write>& words) {
  const std::size_t step = words_a_launch(words);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto first = static_cast<std::ptrdiff_t>(k * step);
    const auto last = static_cast<std::ptrdiff_t>(std::min(words.size(), (k + 1) * step));
    const auto same = [](const word_write& a, const word_write& b) { return a.value == b.value; };
    if (former.size() == words.size() &&
        std::equal(words.begin() + first, words.begin() + last, former.begin() + first, same))
      continue;
    with_writer(words, k * step, [&](void* kernel, unsigned threads, void** arguments) {
      cudaKernelNodeParams params{};
      params.func = kernel;
      params.gridDim = dim3(1);
      params.blockDim = dim3(threads);
      params.kernelParams = arguments;
      WHILST_CUDA("setting a program's parameters", cudaGraphExecKernelNodeSetParams(exec, nodes[k], &params));
    });
  }
}

int largest_cluster_of(int device) {
  static std::mutex lock;
  static std::map<int, int> known;
  const std::lock_guard hold(lock);
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  const std::string what = "asking a device for its clusters";
  const auto* const kernel = reinterpret_cast<const void*>(&fills_multiprocessor_kernel);
  const device_traits traits = traits_of_device(device);
  const cuda::device_guard current(device);
  int blocks = 1;
  cudaFuncAttributes attributes{};
  WHILST_CUDA(what, cudaFuncGetAttributes(&attributes, kernel));
  if (traits.compute_capability >= 90 && attributes.ptxVersion >= 90) {
    const int bytes = static_cast<int>(traits.fast_memory_bytes);
    WHILST_CUDA(what, cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    WHILST_CUDA(what, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(largest_cluster);
    config.blockDim = dim3(threads_of_cluster_block);
    config.dynamicSmemBytes = traits.fast_memory_bytes;
    WHILST_CUDA(what, cudaOccupancyMaxPotentialClusterSize(&blocks, kernel, &config));
  }
  return known[device] = std::clamp(blocks, 1, largest_cluster);
}

#endif

}  // namespace whilst
