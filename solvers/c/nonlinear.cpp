#include "solvers/c/reports.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/host/place_of_executor.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/functions/called_equations.hpp"
#include "whilst/nonlinear/functions/called_objective.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst::c {
namespace {

/// Where a function of the caller's works.
place place_of_function(whilst_memory memory) { return is_host(memory) ? place::host() : place_of_executor("stream"); }

template <class T>
class any_minimizer final : public any_solver {
 public:
  any_minimizer(place where, index_type n, whilst_objective function, void* user, const minimizer_options& options)
      : n_(n),
        tolerances_(options.tolerances),
        function_(where, n,
                  [=](stream_handle stream, index_type unknowns, const T* x, double* value, T* gradient) {
                    check_callback("function", function(user, stream, unknowns, x, value, gradient));
                  }),
        solver_(function_, options) {}
  report_content solve(given_vector b, given_vector x) override {
    check_no_b(b);
    return report_content_of(solver_.solve(writable_entries<T>(x, n_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    check_no_b({"b", b, 0});
    return ticket_content_of(solver_.enqueue(stream, static_cast<T*>(x)));
  }
  void set_tolerances(double rtol, double atol) override {
    tolerances_.relative_gradient = rtol;
    tolerances_.gradient = atol;
    solver_.set_tolerances(tolerances_);
  }
  recorded_solver& recorded() override { return solver_; }
  replayed_solver& replayed() override { return solver_; }
  memory_table memory() const override { return solver_.memory(); }
  std::string explain() const override { return solver_.explain(); }

 private:
  index_type n_;
  descent_tolerances tolerances_;
  called_objective<T> function_;
  minimizer<T> solver_;
};

template <class T>
class any_equations final : public any_solver {
 public:
  any_equations(place where, index_type n, whilst_residual function, void* user,
                const nonlinear_solver_options& options)
      : n_(n),
        tolerances_(options.tolerances),
        system_(where, n,
                [=](stream_handle stream, index_type unknowns, const T* x, T* residual) {
                  check_callback("function", function(user, stream, unknowns, x, residual));
                }),
        solver_(system_, options) {}
  report_content solve(given_vector b, given_vector x) override {
    check_no_b(b);
    return report_content_of(solver_.solve(writable_entries<T>(x, n_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    check_no_b({"b", b, 0});
    return ticket_content_of(solver_.enqueue(stream, static_cast<T*>(x)));
  }
  void set_tolerances(double rtol, double atol) override {
    tolerances_.rtol = rtol;
    tolerances_.atol = atol;
    solver_.set_tolerances(tolerances_);
  }
  recorded_solver& recorded() override { return solver_; }
  replayed_solver& replayed() override { return solver_; }
  memory_table memory() const override { return solver_.memory(); }
  std::string explain() const override { return solver_.explain(); }

 private:
  index_type n_;
  nonlinear_tolerances tolerances_;
  called_equations<T> system_;
  nonlinear_solver<T> solver_;
};

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
      make_solver_handle(solver,
                         std::make_shared<any_minimizer<T>>(place_of_function(memory), n, function, user, read));
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
      make_solver_handle(solver,
                         std::make_shared<any_equations<T>>(place_of_function(memory), n, function, user, read));
    });
  });
}
}
