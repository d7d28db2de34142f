// compiled by nvcc where CUDA is on
// What docs/linear.md shows of operators in parts.

#include <cmath>
#include <memory>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/place_of_executor.hpp"
#include "whilst/whilst.hpp"

namespace {

// shown: parts
/// -u'' on n points.
struct second_difference {
  whilst::index_type n;
  const double* x;
  double* y;
  WHILST_HD void operator()(whilst::index_type i) const {
    y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  }
};
class rod final : public whilst::linear_operator<double> {
 public:
  rod(whilst::place where, whilst::index_type n) : where_(where), n_(n) {}
  whilst::place where() const override { return where_; }
  whilst::index_type rows() const override { return n_; }
  void apply(whilst::recorder& run, const double* x, double* y) const override {
    run.step("y = -x''", n_, second_difference{n_, x, y});
  }

 private:
  whilst::place where_;
  whilst::index_type n_;
};
// end of shown

}  // namespace

TEST_CASE("an operator in parts, as shown", "[shown]") {
  const whilst::index_type n = 50;
  whilst::linear_solver<double> solver(std::make_shared<rod>(whilst::place_of_executor("auto"), n), nullptr,
                                       {.rtol = 1e-12});
  std::vector<double> x(50, 0.0);
  CHECK(solver.solve(std::vector<double>(50, 1.0), x).converged());
  // u_i = (i + 1)(n - i) / 2; the inverse's norm is less than (n + 1)^2 / 8.
  for (int i = 0; i < 50; ++i) CHECK(std::abs(x[static_cast<std::size_t>(i)] - (i + 1) * (50 - i) / 2.0) <= 1e-8);
}
