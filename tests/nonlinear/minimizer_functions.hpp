#pragma once

// Functions to be minimized, compiled once for all tests of minimizers; and what is known of them by other means.

#include <memory>
#include <string>
#include <vector>

#include "tests/linear/systems.hpp"
#include "whilst/minimizer.hpp"

namespace whilst_test {

template <class T>
using function = std::unique_ptr<whilst::objective<T>>;

inline const std::vector<std::string> all_methods{"lbfgs",
                                                  "bfgs",
                                                  "newton",
                                                  "newton-cg",
                                                  "trust-region",
                                                  "levenberg-marquardt",
                                                  "dogleg",
                                                  "conjugate-gradient-pr",
                                                  "conjugate-gradient-hz",
                                                  "gradient-descent"};
inline const std::vector<std::string> all_searches{"backtracking", "strong-wolfe", "approximate-wolfe", "parallel"};

/// Every executor for recorded programs that this machine has.
inline std::vector<std::string> recorded_executors() {
  std::vector<std::string> names;
  for (const std::string& name : executors())
    if (name != "resident") names.push_back(name);
  return names;
}

/// Springs between neighbours on a line, each tied to its place by a spring of its own and pulled by a load: f(x) =
/// sum_i stiffness(i) / 2 (x_i - x_(i+1))^2 + sum_i tie(i) / 2 x_i^2 - load(i) x_i.
struct spring_line {
  WHILST_HD static double stiffness(whilst::index_type i) { return static_cast<double>(1 + i % 7); }
  WHILST_HD static double tie(whilst::index_type i) { return 0.5 + static_cast<double>(i % 3); }
  WHILST_HD static double load(whilst::index_type i) { return static_cast<double>(i * 37 % 11 - 5); }
  /// f(x) = x' A x / 2 - b' x.
  static Eigen::SparseMatrix<double> matrix(int n);
  static Eigen::VectorXd right_hand_side(int n);
};
template <class T>
function<T> make_spring_line(whilst::place where, whilst::index_type n);

/// Extended Rosenbrock: sum over pairs of 100 (x_(2k+1) - x_(2k)^2)^2 + (1 - x_(2k))^2.
template <class T>
function<T> make_rosenbrock(whilst::place where, whilst::index_type n);
double rosenbrock_value(const std::vector<double>& x);
std::vector<double> rosenbrock_gradient(const std::vector<double>& x);
template <class T>
std::vector<T> rosenbrock_start(whilst::index_type n) {
  std::vector<T> x(static_cast<std::size_t>(n), T(1));
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = T(-1.2);
  return x;
}

/// scale (a^2 + a b + 3/2 b^2), where a = x_0 - 1 and b = x_1 + 2.
function<double> make_scaled_quadratic(whilst::place where, double scale);

/// Of one unknown.
enum class shape {
  constant,        ///< 3
  square,          ///< x^2
  minus_square,    ///< -x^2
  falling,         ///< -x
  falling_cubic,   ///< -x^3
  decaying,        ///< exp(-x)
  barrier,         ///< x - log x, not a number where x < 0; least at 1
  wall,            ///< (x - 5)^2, infinite where x > 3
  hole,            ///< -x, minus infinity where x > 2
  infinite,        ///< everywhere
  minus_infinite,  ///< everywhere
  not_a_number,    ///< everywhere
};
/// f(x) = sum_i shape_i(x_i).
template <class T>
function<T> make_shapes(whilst::place where, const std::vector<shape>& shapes);

/// A problem of More, Garbow and Hillstrom by the name that it has in the code; its least value by the paper.
struct bundled_function {
  function<double> f;
  std::vector<double> start;
  double least;
};
inline const std::vector<std::string> bundled_names{"beale", "helical_valley", "powell_singular", "wood",
                                                    "brown_and_dennis"};
bundled_function make_bundled(whilst::place where, const std::string& name);

/// A minimizer of a function of its own, on the place of an executor.
template <class T>
struct own_minimizer {
  function<T> f;
  whilst::minimizer<T> by;

  template <class Make>
  own_minimizer(const Make& make, const whilst::minimizer_options& options)
      : f(make(whilst::place_of_executor(options.executor))), by(*f, options) {}
  whilst::minimize_report solve(std::vector<T>& x) { return by.solve(x); }
};

}  // namespace whilst_test
