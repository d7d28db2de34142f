// Solves with preconditioner "ssor".
#include <limits>

#include "tests/catch.hpp"
#include "tests/linear/preconditioned_solves.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"

namespace whilst_test {
namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

/// What a solve in these numbers is asked for.
template <class T>
constexpr double asked_of_ssor = sizeof(T) == 4 ? 1e-4 : 1e-9;

std::string refusal_of(const linear_solver_options& options) {
  try {
    linear_solver<double> solver(whilst::make_gallery<double>("poisson2d:3").matrix, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("ssor solves, on every executor, and once more from the solution", "[linear][ssor][sanitizer]",
                   float, double) {
  using T = TestType;
  for (const auto& [problem, words] :
       std::vector<std::pair<const char*, const char*>>{{"poisson2d:1", "ssor, 1 colour, omega 1, 1 sweep"},
                                                        {"poisson2d:30", "ssor, 2 colours, omega 1, 1 sweep"},
                                                        {"poisson3d:9", "ssor, 2 colours, omega 1, 1 sweep"},
                                                        {"elasticity2d:6", " colours, omega 1, 1 sweep"}}) {
    const csr_matrix<T> A = whilst::make_gallery<T>(problem).matrix;
    const std::vector<T> b = random_vector<T>(A.rows(), 5);
    std::vector<T> on_gpu;
    for (const std::string& executor : executors_with_steps()) {
      std::vector<T> x(b.size(), 0);
      linear_solver<T> solver(A, {.preconditioner = "ssor", .rtol = asked_of_ssor<T>, .executor = executor});
      const report told = solver.solve(b, x);
      INFO(executor << ", " << problem << ", " << name(told.reason()));
      CHECK(told.converged());
      CHECK(true_residual(A, b, x) <= 1.01 * asked_of_ssor<T>);
      CHECK(told.preconditioner_choice().find(words) != std::string::npos);
      if (executor != "host") {
        if (!on_gpu.empty()) CHECK(x == on_gpu);  // stream and graph, to the bit
        on_gpu = x;
      }
      const report again = solver.solve(b, x);
      CHECK(again.converged());
      CHECK(again.iterations() == 0);
    }
  }
}

TEST_CASE("ssor: every square method, and every format", "[linear][ssor]") {
  const csr_matrix<double> definite = whilst::make_gallery<double>("elasticity2d:8").matrix;
  const csr_matrix<double> indefinite = whilst::make_gallery<double>("helmholtz2d:12").matrix;
  const csr_matrix<double> unsymmetric = convection_diffusion<double>(300);
  const auto check = [](const csr_matrix<double>& A, const linear_solver_options& options) {
    const std::vector<double> b = random_vector<double>(A.rows(), 5);
    std::vector<double> x(b.size(), 0);
    linear_solver<double> solver(A, options);
    const report told = solver.solve(b, x);
    INFO(options.method << ", " << options.executor << ", " << options.format << ": " << name(told.reason()));
    CHECK(told.converged());
    CHECK(true_residual(A, b, x) <= 1.01e-8);
  };
  for (const std::string& executor : executors_with_steps()) {
    for (const auto& [A, kind] :
         {std::pair(&definite, matrix_kind::definite), std::pair(&indefinite, matrix_kind::indefinite),
          std::pair(&unsymmetric, matrix_kind::unsymmetric)})
      for (const std::string& method : methods_on(executor, kind)) {
        if (method == "cgs" && kind != matrix_kind::unsymmetric)
          continue;  // its residual passes the limit of divergence
        check(*A, {.method = method, .preconditioner = "ssor,sweeps=2", .executor = executor});
      }
    check(indefinite, {.method = "auto", .preconditioner = "ssor", .executor = executor});
    for (const std::string format : {"bsr", "sell", "ell", "balanced"})
      check(definite, {.preconditioner = "ssor,omega=1.2", .format = format, .executor = executor});
  }
}

TEST_CASE("ssor saves iterations, and more sweeps save more", "[linear][ssor]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:60").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    const auto iterations = [&](const std::string& preconditioner) {
      std::vector<double> x(b.size(), 0);
      linear_solver<double> solver(A, {.preconditioner = preconditioner, .executor = executor});
      const report told = solver.solve(b, x);
      CHECK(told.converged());
      return told.iterations();
    };
    const index_type by_jacobi = iterations("jacobi"), once = iterations("ssor"), twice = iterations("ssor,sweeps=2");
    INFO(executor << ": " << by_jacobi << ", " << once << ", " << twice);
    // Red, black and red eliminate half of the unknowns: one iteration does what two by jacobi do. See L. A. Hageman,
    // D. M. Young, "Applied Iterative Methods" (1981), chapter 8.
    CHECK(std::abs(2.0 * static_cast<double>(once) - static_cast<double>(by_jacobi)) <= 4);
    CHECK(1.3 * static_cast<double>(twice) <= static_cast<double>(once));
  }
}

TEST_CASE("ssor: -A takes the iterations of A", "[linear][ssor]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:40").matrix;
  std::vector<double> values(A.values().begin(), A.values().end());
  for (double& value : values) value = -value;
  const csr_matrix<double> negative(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values);
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    const auto solved = [&](const csr_matrix<double>& matrix) {
      std::vector<double> x(b.size(), 0);
      linear_solver<double> solver(matrix, {.method = "minres", .preconditioner = "ssor", .executor = executor});
      const report told = solver.solve(b, x);
      CHECK(told.converged());
      CHECK(true_residual(matrix, b, x) <= 1.01e-8);
      return told.iterations();
    };
    CHECK(solved(negative) == solved(A));
  }
}

TEST_CASE("ssor: memory is what the manual says", "[linear][ssor]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:100").matrix;
  for (const std::string& executor : executors_with_steps())
    for (const std::string method : {"cg", "bicgstab"}) {
      const linear_solver<double> solver(A, {.method = method, .preconditioner = "ssor", .executor = executor});
      index_type bytes = 0;
      for (const auto& part : solver.memory().items)
        if (part.name == "the colours of ssor") bytes = part.bytes;
      const index_type n = A.rows(), m = A.nonzeros() - n, signs = method == "cg" ? 1 : 0;
      const index_type exact = m * (8 + 8) + n * (8 + 24 + signs), for_alignment = 10 * 256;
      CHECK(bytes >= exact);
      CHECK(bytes <= exact + for_alignment);
    }
}

TEMPLATE_TEST_CASE("ssor: new values are noticed", "[linear][ssor][sanitizer]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = whilst::make_gallery<T>("poisson2d:12").matrix;
  const std::vector<T> b = random_vector<T>(A.rows(), 5), old(A.values().begin(), A.values().end());
  std::vector<T> other = old;  // the diagonal heavier, and so M closer to its inverse
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type e = A.row_offset(i); e < A.row_offset(i + 1); ++e)
      if (A.column_indices()[static_cast<std::size_t>(e)] == i)
        other[static_cast<std::size_t>(e)] *= static_cast<T>(5 + i % 3);
  const csr_matrix<T> of_other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), other);
  for (const std::string& executor : executors_with_steps()) {
    const linear_solver_options options{.preconditioner = "ssor", .rtol = asked_of_ssor<T>, .executor = executor};
    linear_solver<T> solver(A, options), anew(of_other, options);
    std::vector<T> first(b.size(), 0), x(b.size(), 0), of_anew(b.size(), 0), again(b.size(), 0);
    solver.solve(b, first);
    solver.update_values(other);
    const report told = solver.solve(b, x);
    INFO(executor << ": " << name(told.reason()) << ", " << told.iterations());
    CHECK(told.converged());
    CHECK(told.iterations() == anew.solve(b, of_anew).iterations());
    CHECK(x == of_anew);  // to the bit
    solver.update_values(old);
    solver.solve(b, again);
    CHECK(again == first);
  }
}

TEST_CASE("ssor: two solvers at once", "[linear][ssor]") {
  check_two_solvers_at_once(whilst::make_gallery<double>("elasticity2d:8").matrix, "ssor,sweeps=2");
}

TEST_CASE("ssor: hostile matrices end with a reason", "[linear][ssor]") {
  // An arrow longer than what orders of choosing look at; entries of a hundred and more decades.
  check_hostile_matrices("ssor", 2500, {{{{0, 1e-150}, {1, 1e150}}, {{0, 1e150}, {1, 1e-150}}}});
}

TEST_CASE("ssor: what does not go is refused", "[linear][ssor]") {
  CHECK(refusal_of({.preconditioner = "ssor,omega=2"}) ==
        "making a linear solver: setting omega is 2.000000 of preconditioner ssor. Use more than 0 and less than 2");
  CHECK_THAT(refusal_of({.preconditioner = "ssor,omega=0"}), contains("omega is 0.000000"));
  CHECK_THAT(refusal_of({.preconditioner = "ssor", .ssor = {.omega = std::numeric_limits<double>::quiet_NaN()}}),
             contains("more than 0 and less than 2"));
  CHECK_THAT(refusal_of({.preconditioner = "ssor,sweeps=0"}), contains("sweeps is 0"));
  CHECK_THAT(refusal_of({.preconditioner = "ssor,sweeps=9"}), contains("Use 1 to 8"));
  CHECK_THAT(refusal_of({.preconditioner = "ssor,degree=3"}), contains("Use some of omega, sweeps"));
  CHECK_THAT(refusal_of({.method = "lsqr", .preconditioner = "ssor"}), contains("wants one for A'A"));
  triplets<double> full(300);
  std::vector<std::pair<int, double>> row;
  for (int j = 0; j < 300; ++j) row.emplace_back(j, 1);
  for (int i = 0; i < 300; ++i) full.row(row);
  CHECK_THROWS_WITH((linear_solver<double>(full.matrix(), {.preconditioner = "ssor"})),
                    contains("making preconditioner ssor: rows have so many entries that they take more than 256"));
}

}  // namespace whilst_test
