#include "solvers/c/given_arrays.hpp"
#include "solvers/c/reports.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/host/place_of_executor.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/functions/called_equations.hpp"
#include "whilst/nonlinear/functions/called_objective.hpp"
#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst::c {
namespace {

/// Where a function of the caller's works.
place place_of_function(whilst_memory memory) { return is_host(memory) ? place::host() : place_of_executor("stream"); }

descent_tolerances with(descent_tolerances usual, double rtol, double atol) {
  usual.relative_gradient = rtol;
  usual.gradient = atol;
  return usual;
}
nonlinear_tolerances with(nonlinear_tolerances usual, double rtol, double atol) {
  usual.rtol = rtol;
  usual.atol = atol;
  return usual;
}

/// A solver of a function of the caller's, for n unknowns.
template <class T, class Function, class Solver, class Tolerances>
class any_function_solver final : public any_solver {
 public:
  template <class Called, class Options>
  any_function_solver(place where, index_type n, const Called& called, const Options& options)
      : n_(n), tolerances_(options.tolerances), function_(where, n, called), solver_(function_, options) {}
  report_content solve(given_vector b, given_vector x) override {
    check_no_b(b);
    return report_content_of(solver_.solve(writable_entries<T>(x, n_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    check_no_b({"b", b, 0});
    return ticket_content_of(solver_.enqueue(stream, static_cast<T*>(x)));
  }
  void set_tolerances(double rtol, double atol) override { solver_.set_tolerances(with(tolerances_, rtol, atol)); }
  recorded_solver& recorded() override { return solver_; }
  replayed_solver& replayed() override { return solver_; }
  memory_table memory() const override { return solver_.memory(); }
  std::string explain() const override { return solver_.explain(); }

 private:
  index_type n_;
  const Tolerances tolerances_;
  Function function_;
  Solver solver_;
};
template <class T>
using any_minimizer = any_function_solver<T, called_objective<T>, minimizer<T>, descent_tolerances>;
template <class T>
using any_equations = any_function_solver<T, called_equations<T>, nonlinear_solver<T>, nonlinear_tolerances>;

/// A minimizer of several ranks, of which this one has n unknowns.
template <class T>
class any_distributed_minimizer final : public solver_of_ranks<distributed_minimizer<T>> {
 public:
  any_distributed_minimizer(distributed_minimizer<T> solver, index_type n, const descent_tolerances& tolerances)
      : solver_of_ranks<distributed_minimizer<T>>(std::move(solver)), n_(n), tolerances_(tolerances) {}
  report_content solve(given_vector b, given_vector x) override {
    check_no_b(b);
    return report_content_of(this->solver_.solve(writable_entries<T>(x, n_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    check_no_b({"b", b, 0});
    return ticket_content_of(this->solver_.enqueue(stream, static_cast<T*>(x)));
  }
  void set_tolerances(double rtol, double atol) override {
    this->solver_.set_tolerances(with(tolerances_, rtol, atol));
  }

 private:
  index_type n_;
  descent_tolerances tolerances_;
};

/// The caller's function as the library's callback.
template <class T>
typename called_objective<T>::callback called(whilst_objective function, void* user) {
  return [=](stream_handle stream, index_type n, const T* x, double* value, T* gradient) {
    check_callback("function", function(user, stream, n, x, value, gradient));
  };
}

nonlinear_solver_options equations_options(const char* text) {
  return options_from_string<nonlinear_solver_options>(text_of(text), {.method = "broyden"});  // needs no Jacobian
}

}  // namespace
}  // namespace whilst::c

extern "C" {

whilst_status whilst_minimizer_create(whilst_number number, whilst_memory memory, int64_t n, whilst_objective function,
                                      void* user, const char* options, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    given(function, "function");
    const auto read = whilst::options_from_string<whilst::minimizer_options>(text_of(options));
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      make_solver_handle(
          solver, std::make_shared<any_minimizer<T>>(place_of_function(memory), n, called<T>(function, user), read));
    });
  });
}

whilst_status whilst_distributed_minimizer_create(const whilst_group* ranks, whilst_number number, whilst_memory memory,
                                                  int64_t unknowns, const int64_t* ghosts, int64_t ghost_count,
                                                  whilst_objective function, void* user, const char* options,
                                                  double peer_limit_seconds, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    const auto all = content_of<whilst::group>(ranks, "group");
    whilst::minimizer_options read;
    whilst::place where = whilst::place::host();
    std::span<const std::int64_t> read_of_others;
    all->agree("reading what a rank minimizes", [&] {
      with_number(number, [](auto) {});
      where = place_of_function(memory);
      read_of_others = integers<std::int64_t>(ghosts, length_of(ghost_count, "ghost_count"), "ghosts");
      if (unknowns > 0) given(function, "function");
      read = whilst::options_from_string<whilst::minimizer_options>(text_of(options));
    });
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      whilst::distributed_minimizer<T> made(*all, where, unknowns, {read_of_others.begin(), read_of_others.end()},
                                            called<T>(function, user), read, peer_limit_seconds);
      make_solver_handle(solver,
                         std::make_shared<any_distributed_minimizer<T>>(std::move(made), unknowns, read.tolerances));
    });
  });
}

whilst_status whilst_equations_create(whilst_number number, whilst_memory memory, int64_t n, whilst_residual function,
                                      void* user, const char* options, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    given(function, "function");
    const auto read = equations_options(options);
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      const auto called = [=](whilst::stream_handle stream, whilst::index_type unknowns, const T* x, T* residual) {
        check_callback("function", function(user, stream, unknowns, x, residual));
      };
      make_solver_handle(solver, std::make_shared<any_equations<T>>(place_of_function(memory), n, called, read));
    });
  });
}
}
