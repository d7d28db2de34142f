// compiled by nvcc where CUDA is on
#include "benchmarks/dynamic_parameters/rounds.hpp"

#include <cstdint>

#include "whilst/recorder.hpp"

namespace dynamic_parameters {
namespace {

using whilst::control;
using whilst::executor;
using whilst::no_finish;
using whilst::place;

struct two_numbers {
  float y, other;
};
struct add_value {
  float* y;
  float value;
  WHILST_HD float read(index_type i) const { return y[i]; }
  WHILST_HD void operator()(index_type i, float before) const { y[i] = before + value; }
};
struct add_parameter {
  float* y;
  const float* value;
  WHILST_HD two_numbers read(index_type i) const { return {y[i], *value}; }
  WHILST_HD void operator()(index_type i, const two_numbers& now) const { y[i] = now.y + now.other; }
};
struct subtract_from {
  const float* before;
  float* y;
  WHILST_HD two_numbers read(index_type i) const { return {y[i], before[i]}; }
  WHILST_HD void operator()(index_type i, const two_numbers& now) const { y[i] = now.other - now.y; }
};

struct round_values {
  float of[changing];
};
round_values values_of(index_type round) {
  round_values made;
  for (int j = 0; j < changing; ++j) made.of[j] = parameter_of(round, j);
  return made;
}

/// The finish of a round within a loop: sets the parameters of the next round.
struct advance {
  round_values* values;
  WHILST_HD round_values read() const { return *values; }
  WHILST_HD void operator()(whilst::loop_state& loop, const round_values& now) const {
    for (int j = 0; j < changing; ++j) values->of[j] = now.of[j] == 15 ? 0 : now.of[j] + 1;
    whilst::count_iteration{}(loop);
  }
};

/// Waits without spinning, so that waiting takes no CPU time.
class own_stream {
 public:
  explicit own_stream([[maybe_unused]] place where) {
#if WHILST_WITH_CUDA
    if (where.on_host()) return;
    const whilst::cuda::device_guard current(where.device());
    stream_ = whilst::cuda::make_stream();
    cudaEvent_t made = nullptr;
    WHILST_CUDA("making an event", cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventBlockingSync));
    done_.reset(made);
#endif
  }
  void wait() {
#if WHILST_WITH_CUDA
    if (!stream_) return;
    WHILST_CUDA("waiting for rounds", cudaEventRecord(done_.get(), stream_.get()));
    WHILST_CUDA("waiting for rounds", cudaEventSynchronize(done_.get()));
#endif
  }
#if WHILST_WITH_CUDA
  cudaStream_t get() const { return stream_.get(); }

 private:
  whilst::cuda::stream stream_;
  whilst::cuda::event done_;
#else
  CUstream_st* get() const { return nullptr; }
#endif
};

executor executor_of(place where) { return where.on_host() ? executor::host : executor::graph; }

/// A round, or a loop of them, as a Whilst program.
class recorded_way : public way {
 protected:
  explicit recorded_way(place where) : way(where), stream_(where), record_(where) {}
  void prepare(int unroll = 0) {
    program_ = std::make_unique<whilst::program>(std::move(record_).finish());
    program_->prepare({.how = executor_of(program_->where()), .unroll = unroll});
    if (program_->running_on() != executor_of(program_->where()))
      throw whilst::error("preparing a program", program_->note());
  }
  void wait() override { stream_.wait(); }
  void launch() { program_->enqueue(stream_.get()); }

  own_stream stream_;
  whilst::program_recorder record_;
  std::unique_ptr<whilst::program> program_;
};

class updated_steps final : public recorded_way {
 public:
  explicit updated_steps(place where) : recorded_way(where) {
    for (int j = 0; j < changing; ++j) {
      handles_[j] = record_.step("y += value", entries, map(j, 0));
      record_.step("y = before - y", entries, subtract_from{y(2 * j), y(2 * j + 1)});
    }
    prepare();
  }
  void enqueue(index_type first, index_type count) override {
    for (index_type round = first; round < first + count; ++round) {
      for (int j = 0; j < changing; ++j) program_->update(handles_[j], map(j, round));
      launch();
    }
  }

 private:
  add_value map(int j, index_type round) const { return {y(2 * j), parameter_of(round, j)}; }
  whilst::step_handle<add_value, no_finish> handles_[changing];
};

class set_parameters final : public recorded_way {
 public:
  explicit set_parameters(place where) : recorded_way(where) {
    for (int j = 0; j < changing; ++j) {
      values_[j] = record_.parameter<float>(("p " + std::to_string(j)).c_str(), 0);
      record_.step("y += parameter", entries, add_parameter{y(2 * j), values_[j].get()});
      record_.step("y = before - y", entries, subtract_from{y(2 * j), y(2 * j + 1)});
    }
    prepare();
  }
  void enqueue(index_type first, index_type count) override {
    for (index_type round = first; round < first + count; ++round) {
      for (int j = 0; j < changing; ++j) program_->set(values_[j], parameter_of(round, j));
      launch();
    }
  }

 private:
  whilst::parameter<float> values_[changing];
};

class one_loop final : public recorded_way {
 public:
  one_loop(place where, int unroll) : recorded_way(where), control_(where, 1) {
    values_ = record_.parameter<round_values>("the first round's", values_of(0));
    settings_ = record_.parameter(&control_.data()->settings, whilst::control_settings{});
    record_.loop("rounds", control_.data(), [&](auto& run) {
      for (int j = 0; j < changing; ++j) {
        run.step("y += parameter", entries, add_parameter{y(2 * j), values_.get()->of + j});
        const subtract_from map{y(2 * j), y(2 * j + 1)};
        if (j + 1 < changing) {
          run.step("y = before - y", entries, map);
        } else {
          run.step("y = before - y, next parameters", entries, map, advance{values_.get()});
        }
      }
    });
    prepare(unroll);
  }
  void enqueue(index_type first, index_type count) override {
    program_->set(values_, values_of(first));
    program_->set(settings_, {.limit = count});
    launch();
  }

 private:
  whilst::buffer<control> control_;
  whilst::parameter<round_values> values_;
  whilst::parameter<whilst::control_settings> settings_;
};

/// Plain loops on the host, the functors called directly.
class plain_loops final : public way {
 public:
  plain_loops() : way(place::host()) {}
  void enqueue(index_type first, index_type count) override {
    for (index_type round = first; round < first + count; ++round) {
      for (int j = 0; j < changing; ++j) {
        each(add_value{y(2 * j), parameter_of(round, j)});
        each(subtract_from{y(2 * j), y(2 * j + 1)});
      }
    }
  }

 private:
  template <class Map>
  static void each(const Map& map) {
    for (index_type i = 0; i < entries; ++i) map(i, map.read(i));
  }
};

#if WHILST_WITH_CUDA

template <class Map>
__global__ void plain_kernel(Map map) {
  const index_type i = static_cast<index_type>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < entries) map(i, map.read(i));
}

/// Rounds written by hand, in plain CUDA.
class by_hand : public way {
 protected:
  explicit by_hand(place where) : way(where), stream_(where) {}
  void wait() override { stream_.wait(); }
  add_value changing_map(int j, index_type round) const { return {y(2 * j), parameter_of(round, j)}; }
  subtract_from fixed_map(int j) const { return {y(2 * j), y(2 * j + 1)}; }

  /// The kernels of a round: launch(map) is called for each of its maps.
  template <class Launch>
  void each_kernel(index_type round, const Launch& launch) {
    for (int j = 0; j < changing; ++j) {
      launch(changing_map(j, round));
      launch(fixed_map(j));
    }
  }
  template <class Map>
  static cudaKernelNodeParams node_params(void** arguments) {
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(&plain_kernel<Map>);
    params.gridDim = dim3(1);
    params.blockDim = dim3(entries);
    params.kernelParams = arguments;
    return params;
  }
  void launch_round(index_type round) {
    each_kernel(round, [&](auto map) {
      void* arguments[] = {&map};
      const cudaKernelNodeParams params = node_params<decltype(map)>(arguments);
      WHILST_CUDA("launching a kernel", cudaLaunchKernel(params.func, params.gridDim, params.blockDim,
                                                         params.kernelParams, 0, stream_.get()));
    });
  }
  void launch_graph() { WHILST_CUDA("launching a graph", cudaGraphLaunch(exec_.get(), stream_.get())); }

  own_stream stream_;
  whilst::cuda::graph_exec exec_;
};

class plain_launches final : public by_hand {
 public:
  explicit plain_launches(place where) : by_hand(where) {}
  void enqueue(index_type first, index_type count) override {
    for (index_type round = first; round < first + count; ++round) launch_round(round);
  }
};

class recaptured_rounds final : public by_hand {
 public:
  explicit recaptured_rounds(place where) : by_hand(where) {}
  void enqueue(index_type first, index_type count) override {
    for (index_type round = first; round < first + count; ++round) {
      WHILST_CUDA("capturing a round", cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
      launch_round(round);
      cudaGraph_t made = nullptr;
      WHILST_CUDA("capturing a round", cudaStreamEndCapture(stream_.get(), &made));
      const whilst::cuda::graph captured(made);
      if (exec_) {
        cudaGraphExecUpdateResultInfo told{};
        WHILST_CUDA("updating a graph", cudaGraphExecUpdate(exec_.get(), captured.get(), &told));
      } else {
        cudaGraphExec_t instantiated = nullptr;
        WHILST_CUDA("instantiating a round", cudaGraphInstantiate(&instantiated, captured.get(), 0));
        exec_.reset(instantiated);
      }
      launch_graph();
    }
  }
};

class updated_nodes final : public by_hand {
 public:
  explicit updated_nodes(place where) : by_hand(where) {
    cudaGraph_t made = nullptr;
    WHILST_CUDA("making a graph", cudaGraphCreate(&made, 0));
    graph_.reset(made);
    each_kernel(0, [&](auto map) {
      void* arguments[] = {&map};
      const cudaKernelNodeParams params = node_params<decltype(map)>(arguments);
      cudaGraphNode_t node = nullptr;
      WHILST_CUDA("adding a kernel node", cudaGraphAddKernelNode(&node, made, nodes_.empty() ? nullptr : &nodes_.back(),
                                                                 nodes_.empty() ? 0 : 1, &params));
      nodes_.push_back(node);
    });
    cudaGraphExec_t instantiated = nullptr;
    WHILST_CUDA("instantiating a round", cudaGraphInstantiate(&instantiated, made, 0));
    exec_.reset(instantiated);
  }
  void enqueue(index_type first, index_type count) override {
    for (index_type round = first; round < first + count; ++round) {
      for (int j = 0; j < changing; ++j) {
        add_value map = changing_map(j, round);
        void* arguments[] = {&map};
        const cudaKernelNodeParams params = node_params<add_value>(arguments);
        const cudaGraphNode_t node = nodes_[static_cast<std::size_t>(2 * j)];
        WHILST_CUDA("updating a node", cudaGraphExecKernelNodeSetParams(exec_.get(), node, &params));
      }
      launch_graph();
    }
  }

 private:
  whilst::cuda::graph graph_;
  std::vector<cudaGraphNode_t> nodes_;
};

#endif

template <class Way, class... Arguments>
std::function<std::unique_ptr<way>()> maker(Arguments... arguments) {
  return [=] { return std::make_unique<Way>(arguments...); };
}

}  // namespace

void way::reset() {
  const std::vector<float> zeros(static_cast<std::size_t>(y_.size()), 0.0f);
  y_.upload(zeros.data());
}

void way::check(index_type rounds) const {
  std::int64_t expected[steps] = {};
  for (index_type round = 0; round < rounds; ++round) {
    for (int j = 0; j < changing; ++j) {
      expected[2 * j] += (round + 5 * j) % 16;
      expected[2 * j + 1] = expected[2 * j] - expected[2 * j + 1];
    }
  }
  std::vector<float> found(static_cast<std::size_t>(y_.size()));
  y_.download(found.data());
  for (index_type i = 0; i < y_.size(); ++i) {
    const float value = found[static_cast<std::size_t>(i)];
    const std::int64_t wanted = expected[i / entries];
    if (value != static_cast<float>(wanted))
      throw whilst::error("checking what " + std::to_string(rounds) + " rounds left",
                          "an entry of y_" + std::to_string(i / entries) + " is " + std::to_string(value) +
                              " and not " + std::to_string(wanted),
                          "This way of running them has a fault: run the tests");
  }
}

std::vector<named_way> ways_on(place where) {
  std::vector<named_way> all;
  if (where.on_host()) {
    all = {{no_graph, maker<plain_loops>()}};
#if WHILST_WITH_CUDA
  } else {
    all = {{no_graph, maker<plain_launches>(where)},
           {recapture, maker<recaptured_rounds>(where)},
           {by_node, maker<updated_nodes>(where)}};
#endif
  }
  all.push_back({by_update, maker<updated_steps>(where)});
  all.push_back({by_parameter, maker<set_parameters>(where)});
  if (where.on_host()) {
    all.push_back({by_loop, maker<one_loop>(where, 1), true});
  } else {
    for (const int unroll : {1, 16, 32})
      all.push_back({std::string(by_loop) + " x" + std::to_string(unroll), maker<one_loop>(where, unroll), true});
  }
  return all;
}

}  // namespace dynamic_parameters
