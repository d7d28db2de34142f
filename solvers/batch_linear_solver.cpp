#include "whilst/batch_linear_solver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>

#include "solvers/matrix_on_place.hpp"
#include "solvers/recorded_solve.hpp"
#include "solvers/solve_options.hpp"
#include "whilst/machine.hpp"

namespace whilst {

batch_report::batch_report(batch_report_fields fields) : fields_(std::move(fields)) {
  const auto is_worse = [](const system_outcome& one, const system_outcome& other) {
    if (one.converged() != other.converged()) return other.converged();
    const double a = one.relative_residual(), b = other.relative_residual();
    return a > b || (a != a && b == b);
  };
  for (index k = 0; k < size(); ++k) {
    const system_outcome& system = fields_.systems[static_cast<std::size_t>(k)];
    number_converged_ += system.converged();
    if (is_worse(system, fields_.systems[static_cast<std::size_t>(worst_)])) worst_ = k;
  }
}

const system_outcome& batch_report::operator[](index k) const {
  if (k < 0 || k >= size())
    throw error("looking up a system of a batch",
                "there is no system " + std::to_string(k) + " among " + std::to_string(size()), "Systems count from 0");
  return fields_.systems[static_cast<std::size_t>(k)];
}

std::string batch_report::message() const {
  std::string text = std::to_string(number_converged_) + " of " + std::to_string(size()) + " systems converged";
  if (size() == 0) return text;
  const system_outcome& system = (*this)[worst_];
  report_fields worst;
  worst.reason = system.reason;
  worst.iterations = system.iterations;
  worst.residual_norm = system.residual_norm;
  worst.rhs_norm = system.rhs_norm;
  return text + "; the worst, system " + std::to_string(worst_) + ": " + report(std::move(worst)).message();
}

namespace {

/// Outcomes that are ready for enqueue to use; as many as there may be tickets before it has to allocate.
constexpr int prepared_batches = 4;

/// One enqueued batch. Its outcomes stay on the place that solved it until somebody wants them: a million of them are
/// 56 megabytes, which kernels would write to host memory in small scattered pieces, and which a copy on the caller's
/// stream would charge to every solve, whether or not anybody looks.
struct batch_launch {
  std::uint64_t number = 0;
  buffer<solve_outcome> outcomes;
  bool in_capture = false;
  double seconds = 0;  ///< on the host
#if WHILST_WITH_CUDA
  cuda::event begin, end;
  shared_memory_block completed;  ///< for a capture, which has no events: the number of the launch, once it is done
#endif
};

}  // namespace

/// What the batches of one solver share, beside the recorded loop. Knows nothing of the scalar type or the method.
class batch_desk {
 public:
  batch_desk(place where, index systems, control* outer, batch_report_fields common)
      : where_(where), systems_(systems), outer_(outer), common_(std::move(common)) {
    for (int i = 0; i < prepared_batches; ++i) prepared_.push_back(make());
#if WHILST_WITH_CUDA
    if (where.on_host()) return;
    cuda::device_guard current(where.device());
    beside_ = cuda::make_stream();
    requests_ = shared_memory_block(where, sizeof(std::uint64_t) * requests_at_once);
#endif
  }

  batch_report_fields& common() { return common_; }
  const batch_report_fields& common() const { return common_; }

  /// A batch to fill in. One that no ticket refers to is free even while it runs, since the next run waits for it; the
  /// outcomes of one in a capture belong to that graph.
  std::shared_ptr<batch_launch> begin() {
    const std::lock_guard hold(lock_);
    auto free = std::find_if(prepared_.begin(), prepared_.end(), [](const std::shared_ptr<batch_launch>& one) {
      return one.use_count() == 1 && !one->in_capture;
    });
    if (free == prepared_.end()) free = prepared_.insert(free, make());
    (*free)->number = ++latest_;
    return *free;
  }

  bool is_done([[maybe_unused]] const batch_launch& which) const {
#if WHILST_WITH_CUDA
    if (where_.on_host()) return true;
    if (which.in_capture) return *static_cast<const volatile std::uint64_t*>(which.completed.data()) == which.number;
    const cudaError_t status = cudaEventQuery(which.end.get());
    // Of a failed batch nothing more will come; wait() tells why.
    return status != cudaErrorNotReady;
#else
    return true;
#endif
  }

  void wait([[maybe_unused]] const batch_launch& which) const {
#if WHILST_WITH_CUDA
    if (where_.on_host()) return;
    if (which.in_capture) {
      if (is_done(which)) return;
      throw error("waiting for a batch that was enqueued into a capture", "its graph has not completed a launch yet",
                  "Launch the graph and synchronize its stream first");
    }
    cuda::device_guard current(where_.device());
    WHILST_CUDA("waiting for a batch", cudaEventSynchronize(which.end.get()));
#endif
  }

  /// Of a batch that is done.
  batch_report report_of(const batch_launch& which) const {
    const auto count = static_cast<std::size_t>(systems_);
    std::vector<solve_outcome> copied;
    const solve_outcome* outcomes = which.outcomes.data();
    batch_report_fields fields = common_;
    fields.solve_seconds = which.seconds;
#if WHILST_WITH_CUDA
    if (!where_.on_host()) {
      const std::lock_guard hold(lock_);
      cuda::device_guard current(where_.device());
      copied.resize(count);
      outcomes = copied.data();
      WHILST_CUDA("copying a batch's outcomes",
                  cudaMemcpyAsync(copied.data(), which.outcomes.data(), count * sizeof(solve_outcome),
                                  cudaMemcpyDeviceToHost, beside_.get()));
      WHILST_CUDA("copying a batch's outcomes", cudaStreamSynchronize(beside_.get()));
      if (!which.in_capture) {
        float milliseconds = 0;
        WHILST_CUDA("timing a batch", cudaEventElapsedTime(&milliseconds, which.begin.get(), which.end.get()));
        fields.solve_seconds = 1e-3 * milliseconds;
      }
    }
#endif
    fields.systems.resize(count);
    std::transform(outcomes, outcomes + count, fields.systems.begin(), [](const solve_outcome& one) {
      return system_outcome{one.why, one.iterations, one.residual_norm, one.rhs_norm};
    });
    return batch_report(std::move(fields));
  }

  /// Tells every system, also those whose turn is yet to come: arming a loop leaves the request alone.
  void cancel(std::uint64_t number) {
    if (number == 0) return;
    if (where_.on_host()) {
      for (index k = 0; k < systems_; ++k) outer_[k].cancel_request = number;
      return;
    }
#if WHILST_WITH_CUDA
    const std::lock_guard hold(lock_);
    cuda::device_guard current(where_.device());
    auto* const requests = static_cast<std::uint64_t*>(requests_.data());
    std::fill_n(requests, requests_at_once, number);
    // By copies, since a kernel would not find a place beside a batch that fills the device.
    for (index k = 0; k < systems_; k += requests_at_once) {
      const auto count = static_cast<std::size_t>(std::min(requests_at_once, systems_ - k));
      void* const target = const_cast<std::uint64_t*>(&outer_[k].cancel_request);
      WHILST_CUDA("cancelling a batch", cudaMemcpy2DAsync(target, sizeof(control), requests, sizeof number,
                                                          sizeof number, count, cudaMemcpyHostToDevice, beside_.get()));
    }
    WHILST_CUDA("cancelling a batch", cudaStreamSynchronize(beside_.get()));
#endif
  }
  std::uint64_t latest() const { return latest_; }

 private:
  std::shared_ptr<batch_launch> make() const {
    auto made = std::make_shared<batch_launch>();
    made->outcomes = buffer<solve_outcome>(where_, systems_);
#if WHILST_WITH_CUDA
    if (where_.on_host()) return made;
    cuda::device_guard current(where_.device());
    for (cuda::event* timed : {&made->begin, &made->end}) {
      cudaEvent_t event = nullptr;
      WHILST_CUDA("making an event", cudaEventCreate(&event));
      timed->reset(event);
    }
    made->completed = shared_memory_block(where_, sizeof(std::uint64_t));
#endif
    return made;
  }

  static constexpr index requests_at_once = 4096;

  place where_;
  index systems_;
  control* outer_;
  batch_report_fields common_;
  std::vector<std::shared_ptr<batch_launch>> prepared_;
  std::atomic<std::uint64_t> latest_ = 0;
  mutable std::mutex lock_;
#if WHILST_WITH_CUDA
  cuda::stream beside_;  ///< for what must not wait for the batch
  shared_memory_block requests_;
#endif
};

struct batch_ticket::state {
  batch_desk* desk;
  std::shared_ptr<batch_launch> which;
};

void batch_ticket::cancel() const { state_->desk->cancel(state_->which->number); }
bool batch_ticket::done() const { return state_->desk->is_done(*state_->which); }
batch_report batch_ticket::wait() const {
  state_->desk->wait(*state_->which);
  return state_->desk->report_of(*state_->which);
}

namespace {

constexpr std::string_view making = "making a batch solver";

[[noreturn]] void refuse(const std::string& what, const std::string& cure) { throw error(making, what, cure); }

/// Sizes are multiplied by the number of systems; the products and the bytes they stand for must be numbers, too.
constexpr index most_entries = std::numeric_limits<index>::max() / 64;

void check(const linear_solver_options& options, index rows, index columns, index nonzeros, index systems) {
  if (rows != columns)
    refuse("the pattern has " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
           "Give a square one");
  if (systems < 1) refuse("the number of systems is " + std::to_string(systems), "Give 1 or more");
  if (systems > most_entries / std::max<index>({rows, nonzeros, 1}))
    refuse(std::to_string(systems) + " systems of " + std::to_string(nonzeros) + " nonzeros are beyond any memory",
           "Solve them in parts");
  check_options(making, options);
}

/// The CPU where the options or the environment say so or there is nothing else; the GPU asked for otherwise.
place choose_place(linear_solver_options options, index rows, bool on_device) {
  executor how = executor_from_name(options.executor);
  if (how != executor::automatic && how != executor::host && how != executor::batch)
    refuse("executor '" + options.executor + "' is for single systems",
           "Use auto, batch or host, or a linear_solver for each system");
  if (const char* from_environment = std::getenv("WHILST_EXECUTOR"); how == executor::automatic && from_environment) {
    try {
      how = executor_from_name(from_environment);
    } catch (const error& unknown) {
      throw error(std::string(making) + " with the executor of WHILST_EXECUTOR: " + unknown.what());
    }
  }
  // One kernel is how a resident solve runs, too, and on the same devices.
  options.executor = how == executor::host || cuda::device_count() == 0 ? "host" : "resident";
  return choose_executor(options, rows, on_device, true).where;
}

}  // namespace

template <class T>
struct batch_linear_solver<T>::implementation {
  linear_solver_options options;
  index systems;
  place where = place::host();
  matrix_on_place<T> pattern;
  std::unique_ptr<batch_desk> desk;
  // For solves from host memory on a GPU.
  buffer<T> values_on_gpu, b_on_gpu, x_on_gpu;
#if WHILST_WITH_CUDA
  cuda::stream own_stream;
#endif
  recorded_solve<T> recorded;  ///< last, so that it goes first: it waits for its runs

  implementation(const csr_matrix<T>& given, index number, linear_solver_options asked)
      : options(std::move(asked)), systems(number) {
    const auto begin = std::chrono::steady_clock::now();
    const linear_method<T>& method = method_from_name<T>(making, options.method);
    check(options, given.rows(), given.columns(), given.nonzeros(), systems);
    where = choose_place(options, given.rows(), given.is_on_device());
    pattern = matrix_on_place<T>(given, where);
    solve_request<T> request = pattern.request();
    request.preconditioner = preconditioner_from_name(making, options.preconditioner);
    request.systems = systems;
    request.in_kernel = true;
    recorded = method.record(request);
    recorded.recorded->prepare({.how = where.on_host() ? executor::host : executor::stream});
#if WHILST_WITH_CUDA
    if (!where.on_host()) {
      cuda::device_guard current(where.device());
      own_stream = cuda::make_stream();
    }
#endif
    const machine_description machine = describe_machine(where.on_host() ? -1 : where.device());
    batch_report_fields common;
    common.method = method.name;
    common.preconditioner = options.preconditioner;
    common.executor = name(executor::batch);
    common.precision = sizeof(T) == 4 ? "float" : "double";
    common.device = where.on_host() ? machine.processor : machine.device;
    common.rows = given.rows();
    common.nonzeros = given.nonzeros();
    desk = std::make_unique<batch_desk>(where, systems, recorded.outer, std::move(common));
    desk->common().setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void check_size(const char* what, std::size_t given, const char* of_one_system, index one) const {
    if (static_cast<index>(given) == systems * one) return;
    throw error("solving a batch of linear systems",
                std::string(what) + " has " + std::to_string(given) + " entries, and " + std::to_string(systems) +
                    " systems of " + std::to_string(one) + " " + of_one_system + " have " +
                    std::to_string(systems * one),
                "Put the systems one after another");
  }

  /// Enqueues the solve of operands on the place.
  std::shared_ptr<batch_launch> launch([[maybe_unused]] CUstream_st* stream, const T* values, const T* b, T* x) {
    const auto started = desk->begin();
    program& run = *recorded.recorded;
    run.set(recorded.values, values);
    run.set(recorded.b, b);
    run.set(recorded.x, x);
    run.set(recorded.outcome, started->outcomes.data());
    run.set(recorded.outer_settings, outer_settings(options, started->number));
    run.set(recorded.inner_settings, inner_settings(options, nullptr, 0));
    if (where.on_host()) {
      const auto begin = std::chrono::steady_clock::now();
      run.enqueue(nullptr);
      started->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      return started;
    }
#if WHILST_WITH_CUDA
    const cuda::relaxed_capture_mode relaxed;
    cuda::device_guard current(where.device());
    stream = stream ? stream : cudaStreamLegacy;
    cudaStreamCaptureStatus status{};
    WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &status));
    started->in_capture = status != cudaStreamCaptureStatusNone;
    if (started->in_capture) {
      run.enqueue(stream);
      // Every outcome holds its launch's number; once the batch is done, any will do.
      *static_cast<std::uint64_t*>(started->completed.data()) = 0;
      WHILST_CUDA("marking the end of a batch",
                  cudaMemcpyAsync(started->completed.data(), &started->outcomes.data()->launch, sizeof(std::uint64_t),
                                  cudaMemcpyDeviceToHost, stream));
      return started;
    }
    WHILST_CUDA("marking the begin of a batch", cudaEventRecord(started->begin.get(), stream));
    run.enqueue(stream);
    WHILST_CUDA("marking the end of a batch", cudaEventRecord(started->end.get(), stream));
#endif
    return started;
  }
};

template <class T>
batch_linear_solver<T>::batch_linear_solver(const csr_matrix<T>& pattern, index systems, linear_solver_options options)
    : implementation_(std::make_unique<implementation>(pattern, systems, std::move(options))) {}
template <class T>
batch_linear_solver<T>::~batch_linear_solver() = default;
template <class T>
batch_linear_solver<T>::batch_linear_solver(batch_linear_solver&&) noexcept = default;
template <class T>
batch_linear_solver<T>& batch_linear_solver<T>::operator=(batch_linear_solver&&) noexcept = default;

template <class T>
batch_report batch_linear_solver<T>::solve(std::span<const T> values, std::span<const T> b, std::span<T> x) {
  implementation& self = *implementation_;
  const index rows = self.desk->common().rows, nonzeros = self.desk->common().nonzeros;
  self.check_size("values", values.size(), "nonzeros", nonzeros);
  self.check_size("b", b.size(), "rows", rows);
  self.check_size("x", x.size(), "rows", rows);
  if (self.where.on_host()) return self.desk->report_of(*self.launch(nullptr, values.data(), b.data(), x.data()));
#if WHILST_WITH_CUDA
  if (self.x_on_gpu.size() != self.systems * rows || self.values_on_gpu.size() != self.systems * nonzeros) {
    self.values_on_gpu = buffer<T>(self.where, self.systems * nonzeros);
    self.b_on_gpu = buffer<T>(self.where, self.systems * rows);
    self.x_on_gpu = buffer<T>(self.where, self.systems * rows);
  }
  self.values_on_gpu.upload(values.data());
  self.b_on_gpu.upload(b.data());
  self.x_on_gpu.upload(x.data());
  const auto started =
      self.launch(self.own_stream.get(), self.values_on_gpu.data(), self.b_on_gpu.data(), self.x_on_gpu.data());
  self.desk->wait(*started);
  self.x_on_gpu.download(x.data());
  return self.desk->report_of(*started);
#else
  return {};
#endif
}

template <class T>
batch_ticket batch_linear_solver<T>::enqueue(stream_handle stream, const T* values, const T* b, T* x) {
  auto started = implementation_->launch(stream, values, b, x);
  return batch_ticket(
      std::make_shared<batch_ticket::state>(batch_ticket::state{implementation_->desk.get(), std::move(started)}));
}

template <class T>
void batch_linear_solver<T>::set_tolerances(double rtol, double atol) {
  if (!(rtol >= 0) || !(atol >= 0))
    throw error("setting tolerances", "one is negative or not a number", "Use 0 or more");
  implementation_->options.rtol = rtol;
  implementation_->options.atol = atol;
}
template <class T>
void batch_linear_solver<T>::set_max_iterations(index limit) {
  if (limit < 0) throw error("setting the iteration limit", "it is negative", "Use 0 or more");
  implementation_->options.max_iterations = limit;
}
template <class T>
void batch_linear_solver<T>::set_deadline(double seconds) {
  if (!(seconds > 0)) throw error("setting the deadline", "it is not above 0 seconds", "Use infinity for none");
  implementation_->options.deadline = seconds;
}
template <class T>
void batch_linear_solver<T>::cancel() {
  implementation_->desk->cancel(implementation_->desk->latest());
}
template <class T>
index batch_linear_solver<T>::systems() const {
  return implementation_->systems;
}
template <class T>
const std::string& batch_linear_solver<T>::executor() const {
  return implementation_->desk->common().executor;
}
template <class T>
const std::string& batch_linear_solver<T>::device() const {
  return implementation_->desk->common().device;
}

template class batch_linear_solver<float>;
template class batch_linear_solver<double>;

}  // namespace whilst
