#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::linear_solver;
using whilst::linear_solver_options;

namespace {

template <class Work>
std::string deflation_message(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEST_CASE("what deflation refuses", "[linear][deflation]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:3").matrix;
  const auto made = [&](linear_solver_options options) {
    return deflation_message([&] { linear_solver<double>(A, options); });
  };
  const std::vector<double> ones(9, 1);
  std::vector<double> twice(18, 1), bad = ones, ten(90, 0);
  bad[4] = std::numeric_limits<double>::infinity();
  CHECK(
      made({.deflation = {1, 2}}) ==
      "making a linear solver: deflation has 2 entries, and the matrix 9 rows. Give an entry for each row, one vector "
      "after another");
  CHECK(made({.deflation = ten}) ==
        "making a linear solver: there are 10 deflation vectors for 9 rows. Give at most 9");
  CHECK(made({.deflation = twice}) ==
        "making a linear solver: deflation vector 1 (from 0) is a combination of those before it. Leave it out");
  CHECK(made({.deflation = bad}) ==
        "making a linear solver: deflation vector 0 (from 0) has the entry inf in row 4. Give finite vectors");
  CHECK(made({.deflation = std::vector<double>(9, 0)}) ==
        "making a linear solver: deflation vector 0 (from 0) is zero. Leave it out");
  CHECK(made({.deflation = ones, .executor = "resident"}) ==
        "making a linear solver: vectors are deflated by steps, and executor resident is one kernel. Use executor "
        "graph, stream or host");
  CHECK(made({.method = "lsqr", .deflation = ones}) ==
        "making a linear solver: deflation is for A, and method lsqr wants a preconditioner for A'A. Leave the vectors "
        "out, or use another method");
  CHECK(made({.deflation = ones, .scaling = "symmetric"}) ==
        "making a linear solver: scaling symmetric does not go with deflation, whose vectors are of the matrix as it "
        "is. Leave out one of the two");
  CHECK(deflation_message([&] { whilst::batch_linear_solver<double>(A, 2, {.deflation = ones}); })
            .find("vectors are deflated by steps for one large system, and a batch is one kernel. Leave deflation "
                  "out") != std::string::npos);
  // Several right-hand sides are solved one by one.
  whilst::columns_linear_solver<double> columns(A, 2, {.deflation = ones, .executor = "host"});
  const std::vector<double> b = random_vector<double>(18, 11);
  std::vector<double> x(18, 0);
  for (const auto& told : columns.solve(b, x)) CHECK(told.converged());
}

}  // namespace whilst_test
