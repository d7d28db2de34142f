#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/common/interrupts.hpp"
#include "benchmarks/whilst-bench/cutest.hpp"
#include "benchmarks/whilst-bench/true_gradient.hpp"
#include "kernels/problems/test_problems/cutest_problems.hpp"

namespace whilst_bench {

/// A problem with some number of unknowns.
struct cutest_case {
  const whilst::cutest_problem* problem;
  whilst::index_type n;

  std::optional<whilst::test_functions::known_minimum> minimum() const { return problem->minimum(n); }
};

struct cutest_run {
  std::string method;
  std::string executor;
  /// Of the minimizer, or "error" or "not_run"; and what it says.
  std::string reason, message;
  whilst::index_type iterations = 0, evaluations = 0;
  double setup_seconds = NAN;
  double seconds = NAN;            ///< median of the calls that minimize, by this program's clock
  double reported_gradient = NAN;  ///< its norm, as the minimizer has it
  true_gradient at_end = {};
  bool claims = false;  ///< the minimizer reports a gradient within the tolerance
  bool solved = false;  ///< and it is true
  bool ran() const { return reason != "error" && reason != "not_run"; }
  bool false_claim() const { return claims && !solved; }
};

/// The methods of whilst::minimizer.
const std::vector<std::string>& minimizer_methods();
/// Whether the method may have that many unknowns: --dense-limit, and the method's own.
bool takes(const std::string& method, whilst::index_type n, const cutest_options& options);

/// Minimizes f, the objective of a case, from the standard start. What the minimizer throws becomes a run with reason
/// "error". Cancelled by an interrupt.
cutest_run run_minimizer(const cutest_case& from, const whilst::objective<double>& f, const std::string& method,
                         const cutest_options& options, const whilst::command::interrupt_watch& interrupts);

}  // namespace whilst_bench
