// compiled by nvcc where CUDA is on
// Polynomials of an operator in parts that has methods iterate with another one.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <cmath>
#include <memory>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst_test {
namespace {

/// y = S^-1 L S^-1 x for a chain L; s null: L.
struct times_chain {
  whilst::index_type n;
  const double *s, *x;
  double* y;
  WHILST_HD void operator()(whilst::index_type i) const {
    const auto at = [&](whilst::index_type j) { return j < 0 || j >= n ? 0.0 : x[j] / (s ? s[j] : 1); };
    y[i] = (2.05 * at(i) - at(i - 1) - at(i + 1)) / (s ? s[i] : 1);
  }
};
struct chain_operator final : whilst::linear_operator<double> {
  whilst::index_type n;
  const double* s;
  std::unique_ptr<chain_operator> other;
  chain_operator(whilst::index_type rows, const double* scale) : n(rows), s(scale) {}
  whilst::place where() const override { return whilst::place::host(); }
  whilst::index_type rows() const override { return n; }
  void apply(whilst::recorder& run, const double* x, double* y) const override {
    run.step("y = A x", n, times_chain{n, s, x, y});
  }
  whilst::substitute_operator<double> substitute() override {
    if (!other) return {};
    return {other.get(), s, s, 0};
  }
};

}  // namespace

TEST_CASE("polynomials are made of the operator that methods iterate with", "[linear][polynomial]") {
  constexpr whilst::index_type n = 300;
  std::vector<double> s = random_vector<double>(n, 3);
  for (double& one : s) one = std::exp2(std::round(6 * one));
  const auto A = std::make_shared<chain_operator>(n, s.data());
  A->other = std::make_unique<chain_operator>(n, nullptr);
  const std::vector<double> b = random_vector<double>(n, 4);
  const auto taken = [&](const char* method, const char* preconditioner) {
    whilst::linear_solver<double> solver(std::shared_ptr<whilst::linear_operator<double>>(A),
                                         std::shared_ptr<whilst::preconditioner<double>>(),
                                         {.method = method, .preconditioner = preconditioner, .max_iterations = 3000});
    std::vector<double> x(b.size(), 0);
    const whilst::report told = solver.solve(b, x);
    CAPTURE(method, preconditioner, told.message());
    CHECK(told.converged());
    return told.iterations();
  };
  for (const char* method : {"cg", "gmres"})
    for (const char* preconditioner : {"chebyshev", "neumann"})
      CHECK(taken(method, preconditioner) < taken(method, "none"));
}

}  // namespace whilst_test
