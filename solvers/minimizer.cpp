#include "whilst/minimizer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "solvers/launches.hpp"
#include "solvers/matrix_on_place.hpp"
#include "solvers/recorded_descent.hpp"
#include "solvers/solve_options.hpp"
#include "whilst/machine.hpp"

namespace whilst {
namespace {

constexpr std::string_view making = "making a minimizer";

struct named_search {
  std::string_view name;
  line_search_kind kind;
};
constexpr std::array<named_search, 3> searches{{{"backtracking", line_search_kind::backtracking},
                                                {"strong-wolfe", line_search_kind::strong_wolfe},
                                                {"approximate-wolfe", line_search_kind::approximate_wolfe}}};

/// The entry of a table that has that name; throws whilst::error that lists them.
template <class Table>
auto find_by_name(const Table& table, std::string_view asked, const std::string& what) {
  std::string all;
  for (const auto& known : table) {
    if (asked == known.name) return known;
    all.append(all.empty() ? "" : ", ").append(known.name);
  }
  throw error(making, "there is no " + what + " called '" + std::string(asked) + "'", "Use one of " + all);
}

void check(const minimizer_options& options) {
  const auto refuse = [](const std::string& what, const std::string& cure) { throw error(making, what, cure); };
  const descent_tolerances& t = options.tolerances;
  for (const auto& [name, value] :
       {std::pair("gradient", t.gradient), std::pair("relative_gradient", t.relative_gradient),
        std::pair("step", t.step), std::pair("function", t.function)})
    if (!(value >= 0))
      refuse(std::string("the tolerance of ") + name + " is negative or not a number", "Give 0 or more");
  if (options.max_iterations < 0)
    refuse("max_iterations is " + std::to_string(options.max_iterations), "Give 0 or more");
  if (options.max_evaluations < 0)
    refuse("max_evaluations is " + std::to_string(options.max_evaluations), "Give 1 or more, or 0 to have it chosen");
  if (!(options.deadline > 0)) refuse("the deadline is not above 0", "Give seconds, or infinity for none");
  if (std::isnan(options.lower_bound)) refuse("lower_bound is not a number", "Give one, or minus infinity");
  if (options.history_capacity < 0 || options.history_capacity % 2)
    refuse("history_capacity is " + std::to_string(options.history_capacity),
           "Give an even number, or 0 for no history");
  if (options.unroll < 0 || options.unroll > 1024)
    refuse("unroll is " + std::to_string(options.unroll), "Give 1 to 1024, or 0 to have it chosen");
}

executor executor_for(const minimizer_options& options, place where) {
  const bool is_automatic = options.executor == "auto";
  const executor usual = where.on_host() ? executor::host : executor::graph;
  if (is_automatic && !std::getenv("WHILST_EXECUTOR")) return usual;
  const executor_choice choice =
      choose_executor({.executor = options.executor, .device = where.on_host() ? -1 : where.device()}, 1, false, true);
  // What the environment wants holds where it can: the function's place is settled.
  if (is_automatic && (choice.how == executor::resident || choice.where.on_host() != where.on_host())) return usual;
  if (choice.how == executor::resident)
    throw error(making, "executor resident does not run functions that are recorded", "Use graph, stream or host");
  if (choice.where.on_host() != where.on_host())
    throw error(making,
                "executor '" + options.executor + "' does not run where the function is, on " +
                    (where.on_host() ? "the CPU" : "a GPU"),
                "Make the function on place_of_executor(\"" + options.executor + "\")");
  return choice.how;
}

}  // namespace

place place_of_executor(const std::string& executor, int device) {
  return choose_executor({.executor = executor, .device = device}, 1, false, true).where;
}

std::string minimize_report::message() const {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, " after %lld iterations, f = %.10g, ||g|| = %.3g",
                static_cast<long long>(iterations()), value, residual_norm());
  return std::string(converged() ? "converged: " : "not converged: ") + std::string(sentence(reason())) + numbers;
}

template <class T>
struct minimizer<T>::implementation {
  minimizer_options options;
  index n;
  line_search_kind search;
  recorded_descent<T> made;
  buffer<T> x_on_gpu;  ///< for solves from host memory
#if WHILST_WITH_CUDA
  cuda::stream own_stream;
#endif
  std::unique_ptr<launch_desk> desk;  ///< last, so that it goes first: it waits for the runs in flight

  implementation(const objective<T>& f, minimizer_options given) : options(std::move(given)), n(f.unknowns()) {
    const auto began = std::chrono::steady_clock::now();
    check(options);
    const descent_method<T> method = find_by_name(descent_methods<T>, options.method, "method");
    search = find_by_name(searches, options.line_search, "line search").kind;
    if (method.wants_hessian && !f.has_hessian())
      throw error(making, "method '" + options.method + "' wants the Hessian, and the function has none",
                  "Use a method of gradients, as lbfgs");
    if (n < 1) throw error(making, "the function has " + std::to_string(n) + " unknowns", "Give it 1 or more");
    if (n > method.most_unknowns)
      throw error(making,
                  "method '" + options.method + "' holds a dense matrix, and the function has " + std::to_string(n) +
                      " unknowns",
                  "Use lbfgs or newton-cg, or make it " + std::to_string(method.most_unknowns) + " or fewer");
    const place where = f.where();
    const whilst::executor how = executor_for(options, where);
    made = method.record({&f, options.history_capacity, inner_limit()});
    made.recorded->prepare({how, options.unroll, options.programmatic_launch});
    desk = std::make_unique<launch_desk>(*made.recorded, 1, made.loop, made.loop, made.history);
#if WHILST_WITH_CUDA
    if (!where.on_host()) {
      cuda::device_guard current(where.device());
      own_stream = cuda::make_stream();
      x_on_gpu = buffer<T>(where, n);
    }
#endif
    const machine_description machine = describe_machine(where.on_host() ? -1 : where.device());
    report_fields& common = desk->common;
    common.method = options.method;
    common.preconditioner = "none";
    common.executor = name(made.recorded->running_on());
    common.precision = sizeof(T) == 4 ? "float" : "double";
    common.device = where.on_host() ? machine.processor : machine.device;
    common.note = made.recorded->note();
    common.rows = n;
    common.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  /// A trip is an evaluation. A loop ends after one trip more than its limit of trips, where 0 stands for none.
  index trip_limit() const {
    constexpr index most = std::numeric_limits<index>::max() / 20 - 1;
    const index usual = 20 * (std::min(options.max_iterations, most) + 1);
    const index evaluations = options.max_evaluations ? options.max_evaluations : usual;
    return evaluations > 1 ? evaluations - 1 : -1;
  }
  /// In exact arithmetic n would do.
  index inner_limit() const { return std::max<index>(2 * n, 20); }

  std::shared_ptr<ticket::state> enqueue(CUstream_st* stream, T* x) {
    auto started = desk->begin();
    program& run = *made.recorded;
    run.set(made.x, x);
    run.set(made.outcome, started->target());
    descent_settings settings{options.tolerances, line_search_settings::usual(search), options.lower_bound};
    if (sizeof(T) == 4) settings.search.rounding = 1e-6;
    // The directions of conjugate gradients are only as good as the lengths along them.
    if (options.method.starts_with("conjugate") && search != line_search_kind::approximate_wolfe)
      settings.search.curvature = 0.1;
    run.set(made.settings, settings);
    control_settings loop{.limit = options.max_iterations, .history = made.history};
    loop.history_capacity = options.history_capacity;
    loop.trip_limit = trip_limit();
    loop.deadline_nanoseconds = nanoseconds_of(options.deadline);
    loop.launch = started->number;
    run.set(made.loop_settings, loop);
    desk->run(*started, stream);
    return started;
  }

  minimize_report solve(std::span<T> x) {
    if (static_cast<index>(x.size()) != n)
      throw error("minimizing a function",
                  "it has " + std::to_string(n) + " unknowns, and x has " + std::to_string(x.size()) + " entries",
                  "Make both agree");
    const place where = made.recorded->where();
    std::shared_ptr<ticket::state> started;
    if (where.on_host()) {
      started = enqueue(nullptr, x.data());
    } else {
#if WHILST_WITH_CUDA
      x_on_gpu.upload(x.data());
      started = enqueue(own_stream.get(), x_on_gpu.data());
      desk->wait(*started);
      x_on_gpu.download(x.data());
#endif
    }
    minimize_report result(ticket(started).wait());
    descent_state found;
    read(where, &found, made.state, 1);
    result.value = found.value;
    result.evaluations = found.evaluations;
    result.inner_iterations = found.inner_iterations;
    result.restarts = found.restarts;
    result.records.resize(result.history().size());
    read(where, result.records.data(), made.records, static_cast<index>(result.records.size()));
    return result;
  }

  template <class Value>
  static void read(place where, Value* target, const Value* source, index count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(Value);
    if (bytes == 0) return;
    if (where.on_host()) {
      std::copy_n(source, count, target);
    } else {
#if WHILST_WITH_CUDA
      cuda::device_guard current(where.device());
      WHILST_CUDA("reading how a minimization ended", cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToHost));
#endif
    }
  }

  template <class Change>
  void change(const Change& apply) {
    minimizer_options changed = options;
    apply(changed);
    check(changed);
    options = std::move(changed);
  }
};

template <class T>
minimizer<T>::minimizer(const objective<T>& function, minimizer_options options)
    : implementation_(std::make_unique<implementation>(function, std::move(options))) {}
template <class T>
minimizer<T>::~minimizer() = default;
template <class T>
minimizer<T>::minimizer(minimizer&&) noexcept = default;
template <class T>
minimizer<T>& minimizer<T>::operator=(minimizer&&) noexcept = default;

template <class T>
minimize_report minimizer<T>::solve(std::span<T> x) {
  return implementation_->solve(x);
}
template <class T>
ticket minimizer<T>::enqueue(stream_handle stream, T* x) {
  return ticket(implementation_->enqueue(stream, x));
}
template <class T>
void minimizer<T>::set_tolerances(const descent_tolerances& tolerances) {
  implementation_->change([&](minimizer_options& o) { o.tolerances = tolerances; });
}
template <class T>
void minimizer<T>::set_max_iterations(index limit) {
  implementation_->change([&](minimizer_options& o) { o.max_iterations = limit; });
}
template <class T>
void minimizer<T>::set_deadline(double seconds) {
  implementation_->change([&](minimizer_options& o) { o.deadline = seconds; });
}
template <class T>
void minimizer<T>::cancel() {
  implementation_->desk->cancel_all();
}
template <class T>
progress minimizer<T>::progress() const {
  return implementation_->desk->progress();
}
template <class T>
std::string minimizer<T>::explain() const {
  return implementation_->made.recorded->explain();
}
template <class T>
std::string minimizer<T>::dot() const {
  return implementation_->made.recorded->dot();
}
template <class T>
const std::string& minimizer<T>::executor() const {
  return implementation_->desk->common.executor;
}

template class minimizer<float>;
template class minimizer<double>;

}  // namespace whilst
