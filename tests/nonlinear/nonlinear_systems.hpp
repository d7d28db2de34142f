#pragma once

// Systems of equations for the tests of nonlinear solvers, compiled once for all of them; and their residuals in plain
// loops on the host.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/linear/systems.hpp"
#include "whilst/nonlinear_solver.hpp"

namespace whilst_test {

template <class T>
using system_of = std::unique_ptr<whilst::equations<T>>;

inline const std::vector<std::string> all_nonlinear_methods{"newton", "newton-krylov", "broyden", "anderson"};

enum class problem {
  // Bundled: kernels/problems/test_problems/test_systems.hpp.
  broyden_tridiagonal,
  boundary_value,
  rosenbrock,       ///< n is a multiple of 2
  powell_singular,  ///< n is a multiple of 4
  bratu,            ///< n is a square number
  // For these tests alone.
  by_hand,          ///< 3 x - y = 4 + sin(y - 2), -x + 2 y^2 = 6: x = y = 2; two unknowns
  cosines,          ///< x_i = cos(x_i)
  linear,           ///< a diagonally dominant unsymmetric band
  upside_down,      ///< its equations in the reverse order: no diagonal to divide by
  logarithms,       ///< log x_i = 0, infinite where x_i <= 0
  square_plus_one,  ///< x^2 + 1 = 0; one unknown
  parallel_lines,   ///< x + y = 2, 2 x + 2 y = 5; two unknowns
  no_number         ///< x_i = 0, and not a number everywhere in equation 1
};

template <class T>
system_of<T> make_system(whilst::place where, problem what, whilst::index_type n);
/// F(x) = b + A x, A sparse, from plain arrays of a place: with the Jacobian that it is told to have, A or not.
template <class T>
class given_equations final : public whilst::equations<T> {
 public:
  /// One row after another.
  given_equations(whilst::place where, const triplets<T>& A, const triplets<T>& told, const std::vector<T>& b);
  whilst::place where() const override { return where_; }
  whilst::index_type unknowns() const override { return n_; }
  whilst::gathered<T> evaluate(whilst::recorder& run, const T* x) const override;
  bool has_jacobian() const override { return true; }
  whilst::jacobian_view<T> jacobian() const override { return told; }
  void make_jacobian(whilst::recorder& run, const T*, const int*) const override {
    if (on_jacobian) run.call("the Jacobian", [this](whilst::stream_handle) { on_jacobian(); });
  }

  /// What jacobian() tells.
  whilst::jacobian_view<T> told;
  /// Called when it is made, on the host.
  std::function<void()> on_jacobian = {};

 private:
  struct arrays {
    whilst::buffer<std::int32_t> offsets, columns;
    whilst::buffer<T> values;
  };
  arrays copied(const triplets<T>& from) const;
  whilst::place where_;
  whilst::index_type n_;
  arrays A_, told_;
  whilst::buffer<T> b_, residual_;
};

/// The usual starting point.
std::vector<double> start_of(problem what, whilst::index_type n);
/// F in plain loops.
std::vector<double> residual_of(problem what, const std::vector<double>& x);
double norm_of(const std::vector<double>& v);

/// Every executor for recorded programs that this machine has.
inline std::vector<std::string> recording_executors() {
  std::vector<std::string> names;
  for (const std::string& name : executors())
    if (name != "resident") names.push_back(name);
  return names;
}

template <class T>
std::vector<T> rounded(const std::vector<double>& x) {
  return {x.begin(), x.end()};
}

/// A solver of a system of its own, on the place of an executor.
template <class T>
struct own_solver {
  system_of<T> F;
  whilst::nonlinear_solver<T> by;

  own_solver(problem what, whilst::index_type n, const whilst::nonlinear_solver_options& options)
      : F(make_system<T>(whilst::place_of_executor(options.executor), what, n)), by(*F, options) {}
  whilst::nonlinear_report solve(std::vector<T>& x) { return by.solve(x); }
};

}  // namespace whilst_test
