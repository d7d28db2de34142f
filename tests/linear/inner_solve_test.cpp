#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

template <class T>
csr_matrix<T> inner_gallery(const char* name) {
  return whilst::make_gallery<T>(name).matrix;
}

template <class Work>
std::string inner_message(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

/// The names of methods that may be the inner one.
std::vector<std::string> inner_methods(bool symmetric) {
  std::vector<std::string> names;
  for (const auto& method : whilst::linear_methods<double>())
    if (method.within && (symmetric || !method.needs.symmetric)) names.emplace_back(method.name);
  return names;
}

}  // namespace

TEMPLATE_TEST_CASE("an inner solve of all iterations leaves one to the outer method",
                   "[linear][inner-solve][sanitizer]", float, double) {
  // A line of three: x = (1, 2, 3) / 4 for b = (0, 0, 1).
  triplets<TestType> t(3);
  t.row({{0, 2}, {1, -1}});
  t.row({{0, -1}, {1, 2}, {2, -1}});
  t.row({{1, -1}, {2, 2}});
  const double few = 50 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const std::string& executor : executors_with_steps()) {
    for (const char* outer : {"flexible-cg", "fgmres", "refined-cg"}) {
      for (const char* inner : {"cg", "minres", "bicgstab", "gmres"}) {
        INFO(executor << ", " << outer << ", " << inner);
        linear_solver<TestType> solver(
            t.matrix(), {.method = outer,
                         .preconditioner = "solve,rtol=0,preconditioner=none,method=" + std::string(inner),
                         .rtol = few,
                         .executor = executor});
        std::vector<TestType> x(3, 0), b{0, 0, 1};
        const report told = solver.solve(b, x);
        CHECK(told.converged());
        CHECK(told.iterations() <= 2);
        for (int i = 0; i < 3; ++i)
          CHECK(std::abs(static_cast<double>(x[static_cast<std::size_t>(i)]) - (1 + i) / 4.0) <= few);
      }
    }
  }
}

TEMPLATE_TEST_CASE("every inner method saves outer iterations", "[linear][inner-solve]", float, double) {
  const csr_matrix<TestType> symmetric = inner_gallery<TestType>("poisson2d:24"),
                             other = convection_diffusion<TestType>(120);
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const std::string& executor : executors_with_steps()) {
    for (const bool is_symmetric : {true, false}) {
      const csr_matrix<TestType>& A = is_symmetric ? symmetric : other;
      const std::vector<TestType> b = random_vector<TestType>(A.rows(), 3);
      linear_solver_options options{
          .method = is_symmetric ? "flexible-cg" : "fgmres", .rtol = rtol, .executor = executor};
      std::vector<TestType> x(b.size(), 0);
      const index_type plain = linear_solver<TestType>(A, options).solve(b, x).iterations();
      for (const std::string& inner : inner_methods(is_symmetric)) {
        // Few iterations of idr and cgs may leave a larger residual than none. Of the stationary methods Lanczos steps
        // find the bounds.
        const bool is_erratic = inner == "idr" || inner == "cgs";
        INFO(executor << ", symmetric " << is_symmetric << ", " << inner);
        options.preconditioner =
            std::string("solve,rtol=0.01,iterations=") + (is_erratic ? "80" : "8") + ",method=" + inner;
        linear_solver<TestType> solver(A, options);
        x.assign(x.size(), 2);
        const report told = solver.solve(b, x);
        CHECK(told.converged());
        CHECK(relative_residual(A, b, x) <= 1.1 * rtol);
        CHECK(2 * told.iterations() <= plain);
        std::vector<TestType> again(b.size(), 2);
        solver.solve(b, again);
        CHECK((again == x));
        CHECK(solver.solve(b, again).iterations() <= 2);
      }
    }
  }
}

TEST_CASE("an inner tolerance ends an application early", "[linear][inner-solve]") {
  // One outer iteration lowers the residual by what the inner tolerance says, and no more, if CG is what both do.
  const csr_matrix<double> A = inner_gallery<double>("poisson2d:24");
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  for (const std::string& executor : executors_with_steps()) {
    const auto after_one = [&](const char* rtol) {
      linear_solver<double> solver(A, {.method = "fgmres",
                                       .preconditioner = std::string("solve,method=minres,preconditioner=none,"
                                                                     "iterations=200,rtol=") +
                                                         rtol,
                                       .max_iterations = 1,
                                       .executor = executor});
      std::vector<double> x(b.size(), 0);
      return solver.solve(b, x).relative_residual();
    };
    CHECK(after_one("0.1") <= 0.1);
    CHECK(after_one("0.1") >= 0.02);
    CHECK(after_one("1e-5") <= 1e-5);
    CHECK(after_one("1e-5") >= 1e-6);
  }
}

TEST_CASE("amg within is whole before the first solve", "[linear][inner-solve][amg]") {
  // Its coarsest level, of some 900 unknowns, is worked out while the solver's program is prepared.
  const csr_matrix<double> A = whilst::make_gallery<double>(under_sanitizers ? "poisson3d:8" : "poisson3d:18").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(A, {.method = "flexible-cg",
                                     .preconditioner = "solve,iterations=5,preconditioner=amg",
                                     .amg = {.coarsest_rows = 1024},
                                     .executor = executor});
    std::vector<double> x(b.size(), 0), again = x;
    CHECK(solver.solve(b, x).converged());
    solver.solve(b, again);
    CHECK((again == x));
  }
}

TEST_CASE("inner iterations in float, with inner preconditioners, under methods in double", "[linear][inner-solve]") {
  const csr_matrix<double> A = inner_gallery<double>("poisson2d:30");
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  std::vector<double> other(A.values().begin(), A.values().end()), negative = other;
  for (double& value : negative) value *= -7;
  for (index_type i = 0; i < A.rows(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_offset(i)); e < static_cast<std::size_t>(A.row_offset(i + 1)); ++e)
      other[e] *= (1.0 + static_cast<double>(i % 5)) * (1 + A.column_indices()[e] % 5);
  const csr_matrix<double> of_other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), other);
  for (const std::string& executor : executors_with_steps()) {
    for (const char* precision : {"auto", "float"}) {
      for (const char* inner_M : {"none", "jacobi", "amg", "fsai", "block_jacobi", "chebyshev", "neumann"}) {
        INFO(executor << ", " << precision << ", " << inner_M);
        const linear_solver_options options{
            .method = "flexible-cg",
            .preconditioner = std::string("solve,iterations=5,preconditioner=") + inner_M + ",precision=" + precision,
            .amg = {.coarsest_rows = 64},
            .rtol = 1e-12,
            .executor = executor};
        linear_solver<double> solver(A, options), fresh(of_other, options);
        std::vector<double> x(b.size(), 0), y = x, again = x;
        const report told = solver.solve(b, x);
        CHECK(told.converged());
        CHECK(relative_residual(A, b, x) <= 1.1e-12);
        CHECK(told.preconditioner_choice().find(std::string("solve, cg in ") +
                                                (precision == std::string("float") ? "float" : "double") +
                                                ", at most 5 iterations, with " + inner_M) == 0);
        solver.update_values(negative);
        CHECK(solver.solve(b, y).iterations() <= told.iterations() + 1);
        CHECK((to_eigen(y) + to_eigen(x) / 7).norm() <= 1e-8 * to_eigen(y).norm());
        y.assign(y.size(), 0);
        solver.update_values(other);
        CHECK(solver.solve(b, y).converged());
        if (inner_M != std::string("amg")) {  // whose aggregates stay
          fresh.solve(b, again);
          CHECK((again == y));
          again.assign(again.size(), 0);
        }
        solver.update_values(A);
        solver.solve(b, again);
        CHECK((again == x));
      }
    }
    // ilu hears of new values.
    linear_solver<double> solver(
        A, {.method = "fgmres", .preconditioner = "solve,preconditioner=ilu", .executor = executor});
    std::vector<double> x(b.size(), 0), y = x;
    const report first = solver.solve(b, x);
    solver.update_values(other);
    CHECK(solver.solve(b, y).iterations() == first.iterations());
  }
}

TEST_CASE("inner solves of operators, beside a null space, deflation, and where the inner method fails",
          "[linear][inner-solve]") {
  const csr_matrix<double> A = inner_gallery<double>("poisson2d:16"), N = inner_gallery<double>("neumann2d:16");
  const std::vector<double> b = random_vector<double>(A.rows(), 6);
  const auto product = [&](whilst::stream_handle, index_type, const double* x, double* y) {
    const Eigen::Map<const Eigen::VectorXd> of_x(x, A.rows());
    Eigen::Map<Eigen::VectorXd>(y, A.rows()) = to_eigen(A) * of_x;
  };
  std::vector<double> x(b.size(), 0);
  CHECK(linear_solver<double>(
            A.rows(), product,
            {.method = "flexible-cg", .preconditioner = "solve,preconditioner=none", .callback_memory = "host"})
            .solve(b, x)
            .converged());
  CHECK(relative_residual(A, b, x) <= 1.01e-8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    for (const char* method : {"flexible-cg", "fgmres"}) {
      INFO(method);
      x.assign(x.size(), 1);
      linear_solver_options options{.method = method, .null_space = "constant", .executor = executor};
      for (const char* precision : {"float", "auto"}) {
        options.preconditioner = std::string("solve,precision=") + precision;
        x.assign(x.size(), 1);
        CHECK(linear_solver<double>(N, options).solve(b, x).converged());
        const Eigen::VectorXd r = to_eigen(b) - to_eigen(N) * to_eigen(x);
        CHECK((r.array() - r.mean()).matrix().norm() <= 1.01e-8 * to_eigen(b).norm());
      }
      options.null_space = "none";
      options.deflation = std::vector<double>(b.size(), 1);
      x.assign(x.size(), 1);
      CHECK(linear_solver<double>(A, options).solve(b, x).converged());
      CHECK(relative_residual(A, b, x) <= 1.01e-8);
    }
    // cg on an indefinite matrix gives up at once, and z is r.
    triplets<double> t(4);
    for (int i = 0; i < 4; ++i) t.row({{i, i % 2 ? -1.0 - i : 1.0 + i}});  // more negative than positive
    linear_solver<double> indefinite(
        t.matrix(),
        {.method = "fgmres", .preconditioner = "solve,method=cg,preconditioner=none", .executor = executor});
    std::vector<double> y(4, 0), of_four{1, 0, 1, 0};
    CHECK(indefinite.solve(of_four, y).converged());
    // NaN ends it.
    std::vector<double> bad = b;
    bad[3] = std::numeric_limits<double>::quiet_NaN();
    x.assign(x.size(), 0);
    linear_solver<double> solver(A, {.method = "fgmres", .preconditioner = "solve", .executor = executor});
    CHECK(solver.solve(bad, x).reason() == whilst::reason::nan_or_infinity);
    x.assign(x.size(), 0);
    CHECK(solver.solve(b, x).converged());
    // b = 0 needs nothing.
    CHECK(solver.solve(std::vector<double>(b.size(), 0), x).converged());
    CHECK((x == std::vector<double>(b.size(), 0)));
  }
}

TEST_CASE("z is r where inner iterations find 0", "[linear][inner-solve][sanitizer]") {
  // Of a cyclic shift all residuals of gmres are b until the last, and fgmres alone takes n iterations.
  constexpr int n = 25;
  triplets<double> shift(n), swap(2);
  for (int i = 0; i < n; ++i) shift.row({{(i + 1) % n, 1}});
  swap.row({{1, 1}});
  swap.row({{0, 1}});
  for (const std::string& executor : executors_with_steps()) {
    const auto solved = [&](const csr_matrix<double>& A, const char* inner) {
      INFO(executor << ", " << inner);
      linear_solver<double> solver(A, {.method = "fgmres",
                                       .preconditioner = std::string("solve,preconditioner=none,method=") + inner,
                                       .executor = executor});
      std::vector<double> x(static_cast<std::size_t>(A.rows()), 0), b = x;
      b[0] = 1;
      const report told = solver.solve(b, x);
      CHECK(told.converged());
      CHECK(told.iterations() <= A.rows());
      CHECK(relative_residual(A, b, x) <= 1e-12);
    };
    for (const char* inner : {"gmres", "fgmres", "minres"}) solved(shift.matrix(), inner);
    for (const char* inner : {"gmres,iterations=1", "minres,iterations=1", "cr,iterations=1"})
      solved(swap.matrix(), inner);
  }
}

TEST_CASE("a copy in float is that of a scaled matrix", "[linear][inner-solve]") {
  const csr_matrix<double> A = inner_gallery<double>("poisson2d:16");
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    for (const char* inner : {"cg", "chebyshev", "richardson"}) {
      linear_solver<double> solver(A, {.method = "flexible-cg",
                                       .preconditioner = std::string("solve,precision=float,method=") + inner,
                                       .executor = executor});
      std::vector<double> x(b.size(), 0), y = x;
      const index_type iterations = solver.solve(b, x).iterations();
      for (const double factor : {0x1p-140, -0x1p-170, 0x1p140}) {  // beyond what float holds
        INFO(executor << ", " << inner << ", " << factor);
        std::vector<double> values(A.values().begin(), A.values().end());
        for (double& value : values) value *= factor;
        solver.update_values(values);
        y.assign(y.size(), 0);
        const report told = solver.solve(b, y);
        CHECK(told.converged());
        CHECK(told.iterations() == iterations);
        for (double& entry : y) entry *= factor;
        CHECK((to_eigen(y) - to_eigen(x)).norm() <= 1e-6 * to_eigen(x).norm());  // rtol, 1e-8, times the condition
      }
    }
  }
}

TEST_CASE("an indefinite matrix ends a solve with inner bounds of eigenvalues", "[linear][inner-solve]") {
  // Eigenvalues 0.5 - 2 cos(k pi / 4), above and below 0.
  triplets<double> t(3);
  t.row({{0, 0.5}, {1, -1}});
  t.row({{0, -1}, {1, 0.5}, {2, -1}});
  t.row({{1, -1}, {2, 0.5}});
  for (const std::string& executor : executors_with_steps()) {
    for (const char* inner :
         {"solve,method=chebyshev,preconditioner=none", "solve,method=richardson,preconditioner=none",
          "solve,method=gmres,preconditioner=chebyshev"}) {
      INFO(executor << ", " << inner);
      linear_solver<double> solver(t.matrix(), {.method = "fgmres", .preconditioner = inner, .executor = executor});
      std::vector<double> x(3, 0), b{1, 2, 3};
      CHECK(solver.solve(b, x).reason() == whilst::reason::indefinite_operator);
    }
  }
}

TEST_CASE("what an inner solve refuses", "[linear][inner-solve]") {
  const csr_matrix<double> A = inner_gallery<double>("poisson2d:3");
  const auto made = [&](const char* method, const char* text) {
    return inner_message([&] { linear_solver<double>(A, {.method = method, .preconditioner = text}); });
  };
  CHECK(made("cg", "solve") ==
        "making preconditioner solve: M changes from one iteration to the next, and the method needs a fixed one. Name "
        "a flexible method, as flexible-cg for a symmetric matrix or fgmres for any");
  CHECK(made("fgmres", "solve,method=lsqr")
            .find("making preconditioner solve: method lsqr cannot be within another "
                  "one. Use one of cg, pipelined-cg, flexible-cg, minres") == 0);
  CHECK(inner_message([] {
          linear_solver<double>(2, [](whilst::stream_handle, index_type, const double*, double*) {},
                                {.method = "fgmres", .preconditioner = "solve", .callback_memory = "host"});
        }) ==
        "making preconditioner solve: its preconditioner jacobi wants the diagonal, and the operator tells of products "
        "alone. Use solve,preconditioner=none");
  CHECK(made("fgmres", "solve,method=none").find("making preconditioner solve: ") == 0);
  CHECK(made("fgmres", "solve,iterations=0") ==
        "making a linear solver: setting iterations is 0 of preconditioner solve. Use 1 to 1000");
  CHECK(made("fgmres", "solve,rtol=1") ==
        "making a linear solver: setting rtol is 1.000000 of preconditioner solve. Use less than 1, and 0 for all "
        "iterations");
  CHECK(made("fgmres", "solve,precision=half") ==
        "making a linear solver: setting precision is 'half' of preconditioner solve. Use one of auto, float");
  CHECK(
      made("fgmres", "solve,preconditioner=auto") ==
      "making a linear solver: setting preconditioner is 'auto' of preconditioner solve. Name another one, as jacobi");
  CHECK(made("fgmres", "solve,preconditioner=ilu,precision=float").find("would not hear of new values") !=
        std::string::npos);
  CHECK(made("fgmres", "solve,preconditioner=what").find("there is no preconditioner called 'what'") !=
        std::string::npos);
  CHECK(made("fgmres", "solve,sweeps=2") ==
        "making a linear solver: preconditioner solve has no setting called 'sweeps'. Use some of method, iterations, "
        "rtol, preconditioner, precision");
}

TEST_CASE("solve: a sequence of solves begins for the inner M, too", "[linear][inner-solve]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:32").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  std::vector<double> others(A.values().begin(), A.values().end());
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      if (A.column_indices()[static_cast<std::size_t>(k)] == i) others[static_cast<std::size_t>(k)] += 0.1;
  const linear_solver_options options{.method = "flexible-cg",
                                      .preconditioner = "solve,method=cg,iterations=3,preconditioner=amg",
                                      .amg = {.coarsest_rows = 60, .refresh = "lagged"},
                                      .rtol = 1e-8,
                                      .executor = "host"};
  const auto solved = [&](linear_solver<double>& solver) {
    std::vector<double> x(b.size(), 0);
    CHECK(solver.solve(b, x).converged());
    return x;
  };
  linear_solver<double> first(A, options), later(A, options), lagged(A, options);
  first.update_values(others);
  for (linear_solver<double>* const one : {&later, &lagged}) {
    solved(*one);
    one->update_values(others);
  }
  later.refresh_preconditioner();
  const std::vector<double> x = solved(first);
  CHECK((solved(later) == x));
  CHECK((solved(lagged) != x));  // by the levels of before
}

}  // namespace whilst_test
