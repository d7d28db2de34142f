#include "whilst/linear_solver.hpp"

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "solvers/launches.hpp"
#include "solvers/matrix_on_place.hpp"
#include "solvers/recorded_solve.hpp"
#include "solvers/solve_options.hpp"
#include "whilst/machine.hpp"

namespace whilst {

namespace {

constexpr std::string_view making = "making a linear solver";

}  // namespace

template <class T>
struct linear_solver<T>::implementation {
  linear_solver_options options;
  preconditioner_callback callback;
  index n;
  place where = place::host();
  std::string executor_name;
  matrix_on_place<T> matrix;
  recorded_solve<T> solve;
  std::unique_ptr<launch_desk> desk;
  // For solves from host memory on a GPU.
  buffer<T> b_on_gpu, x_on_gpu;
#if WHILST_WITH_CUDA
  cuda::stream own_stream;
#endif

  implementation(const csr_matrix<T>& A, preconditioner_callback preconditioner, linear_solver_options given)
      : options(std::move(given)), callback(std::move(preconditioner)), n(A.rows()) {
    const auto begin = std::chrono::steady_clock::now();
    const linear_method<T>& method = method_from_name<T>(making, options.method);
    check_options(making, options);
    if (A.rows() != A.columns())
      throw error(
          making,
          "the matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.columns()) + " columns",
          "Give a square one");
    const executor_choice choice = choose_executor(options, A.rows(), A.is_on_device(), callback == nullptr);
    where = choice.where;
    matrix = matrix_on_place<T>(A, where);

    solve_request<T> request = matrix.request();
    request.preconditioner =
        callback ? preconditioner_kind::called : preconditioner_from_name(making, options.preconditioner);
    request.called = &callback;
    request.history_capacity = history_records(options);
    request.in_kernel = choice.how == executor::resident;
    solve = method.record(request);
    solve.recorded->prepare(settings_of_run(options, where, choice.how, request.in_kernel));
    executor_name = request.in_kernel ? "resident" : std::string(name(solve.recorded->running_on()));
#if WHILST_WITH_CUDA
    if (!where.on_host()) {
      cuda::device_guard current(where.device());
      own_stream = cuda::make_stream();
    }
#endif
    const machine_description machine = describe_machine(where.on_host() ? -1 : where.device());
    report_fields common;
    common.method = method.name;
    common.preconditioner = callback ? "user" : options.preconditioner;
    common.executor = executor_name;
    common.precision = sizeof(T) == 4 ? "float" : "double";
    common.device = where.on_host() ? machine.processor : machine.device;
    common.note = solve.recorded->note();
    common.rows = A.rows();
    common.nonzeros = A.nonzeros();
    desk = std::make_unique<launch_desk>(where, solve.outer, solve.inner, solve.history, std::move(common));
    desk->common().setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  ~implementation() {
    // Runs in flight write outcomes; they end before the desk goes.
    if (solve.recorded) try {
        solve.recorded->wait();
      } catch (const error&) {
      }
  }

  /// Enqueues the solve of b and x on the place; `stream` as program::enqueue takes it.
  std::shared_ptr<launch_desk::launch> launch(CUstream_st* stream, const T* b, T* x) {
    bool in_capture = false;
#if WHILST_WITH_CUDA
    // Looking at events is not part of anybody's capture, and would break one that is strict about it.
    const cuda::relaxed_capture_mode relaxed;
    if (!where.on_host()) {
      stream = stream ? stream : cudaStreamLegacy;
      cudaStreamCaptureStatus status{};
      WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &status));
      in_capture = status != cudaStreamCaptureStatusNone;
    }
#endif
    auto started = desk->begin();
    program& recorded = *solve.recorded;
    recorded.set(solve.b, b);
    recorded.set(solve.x, x);
    recorded.set(solve.outcome, static_cast<solve_outcome*>(started->outcome.data()));
    recorded.set(solve.outer_settings, outer_settings(options, started->number));
    recorded.set(solve.inner_settings, inner_settings(options, solve.history, history_records(options)));
    recorded.enqueue(stream);
    desk->enqueued(started, stream, in_capture);
    return started;
  }
};

template <class T>
linear_solver<T>::linear_solver(const csr_matrix<T>& A, linear_solver_options options)
    : implementation_(std::make_unique<implementation>(A, nullptr, std::move(options))) {}
template <class T>
linear_solver<T>::linear_solver(const csr_matrix<T>& A, preconditioner_callback preconditioner,
                                linear_solver_options options)
    : implementation_(std::make_unique<implementation>(A, std::move(preconditioner), std::move(options))) {}
template <class T>
linear_solver<T>::~linear_solver() = default;
template <class T>
linear_solver<T>::linear_solver(linear_solver&&) noexcept = default;
template <class T>
linear_solver<T>& linear_solver<T>::operator=(linear_solver&&) noexcept = default;

template <class T>
report linear_solver<T>::solve(std::span<const T> b, std::span<T> x) {
  implementation& self = *implementation_;
  const auto count = static_cast<std::size_t>(self.n);
  if (b.size() != count || x.size() != count)
    throw error("solving a linear system",
                "the matrix has " + std::to_string(self.n) + " rows, b has " + std::to_string(b.size()) +
                    " entries and x has " + std::to_string(x.size()),
                "Make all three agree");
  if (self.where.on_host())
    return ticket(std::make_shared<ticket::state>(
                      ticket::state{self.desk.get(), self.launch(nullptr, b.data(), x.data())}))
        .wait();
#if WHILST_WITH_CUDA
  if (self.b_on_gpu.size() != self.n) {
    self.b_on_gpu = buffer<T>(self.where, self.n);
    self.x_on_gpu = buffer<T>(self.where, self.n);
  }
  self.b_on_gpu.upload(b.data());
  self.x_on_gpu.upload(x.data());
  const auto started = self.launch(self.own_stream.get(), self.b_on_gpu.data(), self.x_on_gpu.data());
  self.desk->wait(*started);
  self.x_on_gpu.download(x.data());
  return self.desk->report_of(*started);
#else
  return {};
#endif
}

template <class T>
ticket linear_solver<T>::enqueue(stream_handle stream, const T* b, T* x) {
  return ticket(std::make_shared<ticket::state>(
      ticket::state{implementation_->desk.get(), implementation_->launch(stream, b, x)}));
}

template <class T>
void linear_solver<T>::update_values(std::span<const T> values) {
  implementation_->solve.recorded->wait();
  implementation_->matrix.update_values(values);
  bind_values(implementation_->matrix.request().values);  // where another array was bound meanwhile
}
template <class T>
void linear_solver<T>::bind_values(const T* values) {
  implementation_->solve.recorded->set(implementation_->solve.values, values);
}
template <class T>
void linear_solver<T>::set_tolerances(double rtol, double atol) {
  linear_solver_options& options = implementation_->options;
  if (!(rtol >= 0) || !(atol >= 0))
    throw error("setting tolerances", "one is negative or not a number", "Use 0 or more");
  options.rtol = rtol;
  options.atol = atol;
}
template <class T>
void linear_solver<T>::set_max_iterations(index limit) {
  if (limit < 0) throw error("setting the iteration limit", "it is negative", "Use 0 or more");
  implementation_->options.max_iterations = limit;
}
template <class T>
void linear_solver<T>::set_deadline(double seconds) {
  if (!(seconds > 0)) throw error("setting the deadline", "it is not above 0 seconds", "Use infinity for none");
  implementation_->options.deadline = seconds;
}
template <class T>
void linear_solver<T>::cancel() {
  implementation_->desk->cancel(implementation_->desk->latest());
}
template <class T>
progress linear_solver<T>::progress() const {
  return implementation_->desk->progress();
}
template <class T>
std::string linear_solver<T>::explain() const {
  return implementation_->solve.recorded->explain();
}
template <class T>
std::string linear_solver<T>::dot() const {
  return implementation_->solve.recorded->dot();
}
template <class T>
const std::string& linear_solver<T>::executor() const {
  return implementation_->executor_name;
}

template class linear_solver<float>;
template class linear_solver<double>;

}  // namespace whilst
