#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/interrupts.hpp"
#include "benchmarks/whilst-bench/linear_cases.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {

/// Who solves: a column of the table together with a preconditioner.
struct linear_contender {
  std::string library, method;  ///< "whilst" or "eigen"
  std::string preconditioner;

  /// "cg", "eigen:cg".
  std::string column() const { return library == "whilst" ? method : library + ":" + method; }
  std::string label() const { return preconditioner == "none" ? column() : column() + " + " + preconditioner; }
  bool operator==(const linear_contender&) const = default;
};

/// ||b - A x|| / ||b||; and for rectangular matrices, r being b - A x, ||A'r|| / ||r|| over ||A'b|| / ||b||, which is
/// small where x is a least-squares solution.
struct true_residual {
  double relative = NAN;
  /// What a program that computes it in T may be off by, relative to ||b||.
  double rounding = 0;
  double normal = NAN, normal_rounding = 0;  ///< likewise

  bool within(double rtol) const { return relative <= rtol + rounding || normal <= rtol + normal_rounding; }
};

struct linear_run {
  linear_contender by;
  std::string executor;
  /// Of the solver, or "error" or "not_run"; and what it says.
  std::string reason, message;
  whilst::index_type iterations = 0;
  /// Products with A in these iterations, by the method's text: not those of restarts and checks.
  whilst::index_type products = 0;
  double setup_seconds = NAN;
  double seconds = NAN;            ///< median of the calls that solve, by this program's clock
  double reported_residual = NAN;  ///< relative, as the solver has it
  true_residual residual = {};
  bool claims = false;  ///< the solver reports convergence
  bool solved = false;  ///< and it is true
  bool ran() const { return reason != "error" && reason != "not_run"; }
  bool false_claim() const { return claims && !solved; }
};

/// By no code of the library's: row by row, in long double.
template <class T>
true_residual residual_of(const linear_system<T>& system, const std::vector<T>& x);

/// One method of the library. What it throws becomes a run with reason "error". Cancelled by an interrupt.
template <class T>
linear_run run_whilst(const linear_system<T>& system, const linear_contender& by, const linear_options& options,
                      const whilst::command::interrupt_watch& interrupts);

/// One method of Eigen, on the host. Where Eigen takes its own residual for small enough and it is not, it goes on from
/// there, up to twice, as a careful caller would.
template <class T>
linear_run run_eigen(const linear_system<T>& system, const linear_contender& by, const linear_options& options);

/// The methods of Eigen that there are.
const std::vector<std::string>& eigen_methods();

}  // namespace whilst_bench
