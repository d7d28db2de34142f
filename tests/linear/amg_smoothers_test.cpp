// Preconditioner amg by cycles and smoothers other than the default ones: how fast, with which methods, new values, and
// what is refused.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/amg_solves.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

const std::vector<std::string> smoothers{"spai0", "l1_jacobi", "chebyshev", "chebyshev_first", "gauss_seidel"};

template <class T>
csr_matrix<T> with_values(const csr_matrix<T>& A, const std::function<double(index_type, index_type, double)>& value) {
  triplets<T> t(A.rows());
  for (index_type i = 0; i < A.rows(); ++i) {
    std::vector<std::pair<int, double>> row;
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const int j = A.column_indices()[entry];
      row.emplace_back(j, value(i, j, static_cast<double>(A.values()[entry])));
    }
    t.row(row);
  }
  return t.matrix();
}
/// Diffusion on a square of size^2 cells, a million times as much in every other block of four: harmonic means between
/// cells, zero beyond the boundary.
csr_matrix<double> checkerboard(int size) {
  const auto conducts = [](int x, int y) { return (x / 4 + y / 4) % 2 ? 1e6 : 1.0; };
  triplets<double> t(index_type{size} * size);
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const int i = y * size + x;
      const double own = conducts(x, y);
      double diagonal = 0;
      std::vector<std::pair<int, double>> row;
      for (const auto& [dx, dy] : {std::pair{0, -1}, {-1, 0}, {1, 0}, {0, 1}}) {
        const int nx = x + dx, ny = y + dy;
        const bool is_inside = nx >= 0 && ny >= 0 && nx < size && ny < size;
        const double other = is_inside ? conducts(nx, ny) : own, between = 2 * own * other / (own + other);
        diagonal += between;
        if (is_inside) row.emplace_back(ny * size + nx, -between);
      }
      row.emplace_back(i, diagonal);
      std::sort(row.begin(), row.end());
      t.row(row);
    }
  return t.matrix();
}

template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("amg: every cycle with every smoother", "[linear][amg]", float, double) {
  const double rtol = sizeof(TestType) == 4 ? 1e-4 : 1e-9;
  for (const std::string& executor : executors_with_steps())
    for (const std::string problem :
         {"poisson1d:1", "poisson1d:2", "poisson2d:3", under_sanitizers ? "poisson2d:24" : "poisson2d:40"})
      for (const std::string cycle : {"V", "W", "F", "K"})
        for (const std::string& smoother : smoothers)
          for (const int sweeps : {1, 2, 8}) {
            if (under_sanitizers && sweeps != (sizeof(TestType) == 8 ? 2 : 1)) continue;
            CAPTURE(executor, problem, cycle, smoother, sweeps);
            linear_solver_options options{.method = "flexible-cg", .preconditioner = "amg", .rtol = rtol};
            options.executor = executor;
            options.amg.coarsest_rows = 20;
            options.amg.cycle = cycle;
            options.amg.smoother = smoother;
            options.amg.sweeps = sweeps;
            const csr_matrix<TestType> A = whilst::make_gallery<TestType>(problem).matrix;
            CHECK(iterations_of(A, options) <= (smoother == "l1_jacobi" ? 24 : 17));
          }
}

TEST_CASE("amg: more smoothing and deeper cycles take fewer iterations", "[linear][amg]") {
  const auto taken = [](const csr_matrix<double>& A, const std::string& preconditioner,
                        const std::string& method = "cg") {
    CAPTURE(preconditioner);
    linear_solver_options options{.method = method, .preconditioner = preconditioner, .rtol = 1e-8};
    options.amg.coarsest_rows = 60;
    return iterations_of(A, options);
  };
  const csr_matrix<double> anisotropic = whilst::make_gallery<double>("anisotropic2d:80").matrix;
  const index_type usual = taken(anisotropic, "amg");
  CHECK(10 * taken(anisotropic, "amg,sweeps=2") <= 9 * usual);
  const index_type of_degree_3 = taken(anisotropic, "amg,smoother=chebyshev,sweeps=3");
  CHECK(10 * of_degree_3 <= 7 * usual);
  CHECK(taken(anisotropic, "amg,smoother=chebyshev,sweeps=8") <= of_degree_3);
  CHECK(10 * taken(anisotropic, "amg,smoother=gauss_seidel") <= 8 * usual);
  CHECK(10 * taken(anisotropic, "amg,smoother=chebyshev_first,sweeps=3") <= 7 * usual);
  const csr_matrix<double> jumps = checkerboard(64);
  const index_type with_jumps = taken(jumps, "amg");
  CHECK(taken(jumps, "amg,cycle=W") < with_jumps);
  CHECK(taken(jumps, "amg,cycle=F", "flexible-cg") < with_jumps);
  CHECK(taken(jumps, "amg,cycle=K", "flexible-cg") < with_jumps);
  CHECK(10 * taken(jumps, "amg,cycle=K,smoother=chebyshev,sweeps=3", "flexible-cg") <= 7 * with_jumps);
  const auto beam = whilst::make_gallery<double>("elasticity3d:4");
  linear_solver_options options{.method = "cg", .preconditioner = "amg", .rtol = 1e-8};
  options.amg.unknowns_a_node = 3;
  options.amg.coordinates = beam.coordinates;
  const index_type of_beam = iterations_of(beam.matrix, options);
  options.preconditioner = "amg,smoother=chebyshev,sweeps=3";
  CHECK(10 * iterations_of(beam.matrix, options) <= 8 * of_beam);
  options.preconditioner = "amg,smoother=l1_jacobi,sweeps=2";
  CHECK(iterations_of(beam.matrix, options) <= 30);
}

TEST_CASE("amg: methods that take an F- or a K-cycle, and those that are refused", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const auto message = [&](const std::string& method, const std::string& cycle) {
    return message_of([&] {
      linear_solver_options options{.method = method, .preconditioner = "amg,coarsest_rows=30,cycle=" + cycle};
      options.rtol = 1e-8;
      const index_type taken = iterations_of(A, options);
      CHECK(taken <= 60);
    });
  };
  const std::string making = "making preconditioner amg: with cycle ";
  for (const auto& method : whilst::linear_methods<double>()) {
    if (method.needs.transpose) continue;
    CAPTURE(method.name);
    const bool flexible = method.name == std::string("flexible-cg") || method.name == std::string("refined-cg") ||
                          method.name == std::string("fgmres");
    CHECK(method.needs.fixed_preconditioner == !flexible);
    CHECK(message(method.name, "W") == "no exception");
    CHECK(message(method.name, "K") ==
          (flexible
               ? "no exception"
               : making + "K, M changes from one iteration to the next, and the method needs a fixed one. Name a "
                          "flexible method, as flexible-cg for a symmetric matrix or fgmres for any, or use cycle W"));
    CHECK(message(method.name, "F") ==
          (flexible || !method.needs.symmetric
               ? "no exception"
               : making +
                     "F, M is not symmetric, and the method needs it to be. Name method flexible-cg, or one for any "
                     "matrix, as fgmres, or use cycle W"));
  }
  CHECK(message("auto", "K").find(making + "K") == 0);
}

TEST_CASE("amg: settings of cycles are checked, and told", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const auto refusal = [&](const std::string& settings) {
    return message_of([&] { linear_solver<double>(A, {.preconditioner = "amg," + settings}); });
  };
  const std::string making = "making a linear solver: ";
  CHECK(refusal("cycle=Z") == making + "setting cycle is 'Z' of preconditioner amg. Use one of V, W, F, K");
  CHECK(refusal("smoother=ilu") == making +
                                       "setting smoother is 'ilu' of preconditioner amg. Use one of spai0, l1_jacobi, "
                                       "chebyshev, chebyshev_first, gauss_seidel");
  for (const std::string sweeps : {"0", "9", "-1"})
    CHECK(refusal("sweeps=" + sweeps) == making + "setting sweeps is " + sweeps + " of preconditioner amg. Use 1 to 8");
  for (const std::string level : {"-2", "101"})
    CHECK(refusal("revisited_level=" + level) == making + "setting revisited_level is " + level +
                                                     " of preconditioner amg. Use 1 to 100, 0 for none, or -1 by size");
  CHECK(refusal("revisited_level=1,cycle=W") == making +
                                                    "setting revisited_level is 1 of preconditioner amg, and cycle "
                                                    "'W'. Use cycle V, or leave out revisited_level");
  CHECK(refusal("revisited_level=0,cycle=W") == "no exception");
  const auto told = [&](const std::string& settings) {
    linear_solver<double> solver(A, {.method = "cg", .preconditioner = "amg,coarsest_rows=60" + settings});
    const std::string all = solved_by(solver, random_vector<double>(A.rows(), 1)).told.preconditioner_choice();
    const std::size_t at = all.find("; ", all.find("complexity"));
    return at == std::string::npos ? "" : all.substr(at);
  };
  CHECK(told("") == "");
  CHECK(told(",cycle=V,smoother=spai0,sweeps=1") == "");
  CHECK(told(",smoother=l1_jacobi") == "; V-cycle, 1 sweep by l1_jacobi");
  // Three levels: on the first two a sweep, t, W t, up and a sweep; the inverse; and r in the cycle's numbers.
  CHECK(told(",smoother=chebyshev,sweeps=2") == "; V-cycle, 2 sweeps by chebyshev, 12 steps");
  // W t and up, twice on the level in between with what is left of its residual, the inverse each time.
  CHECK(told(",cycle=W") == "; W-cycle, 1 sweep by spai0, 10 steps");
  CHECK(told(",revisited_level=1") == "; level 1 is visited twice");
  CHECK(told(",revisited_level=2") == "");  // that is inverted
  // Of the level in between five steps more, b - A e, and the inverse again.
  CHECK(told(",sweeps=2,revisited_level=1") == "; V-cycle, 2 sweeps by spai0, 19 steps; level 1 is visited twice");
  linear_solver<double> twice(A, {.method = "cg", .preconditioner = "amg,coarsest_rows=60,revisited_level=1"});
  solved_by(twice, random_vector<double>(A.rows(), 1));
  const std::string explained = twice.explain();
  CHECK(explained.find(", 10 steps a cycle, ") != std::string::npos);  // as many as the W-cycle's
  CHECK(explained.find("  1 x spai0, twice ") != std::string::npos);
}

TEMPLATE_TEST_CASE("amg: cycles are made anew for new values, and bring back old bits", "[linear][amg][sanitizer]",
                   float, double) {
  const double rtol = sizeof(TestType) == 4 ? 1e-4 : 1e-9;
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson2d:16").matrix;
  const csr_matrix<TestType> other = with_values<TestType>(
      A, [](index_type i, index_type j, double a) { return i == j ? a + 0.5 * static_cast<double>(i % 3) : a; });
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps())
    for (const std::string settings : {"cycle=K,smoother=chebyshev,sweeps=3", "cycle=W,smoother=l1_jacobi,sweeps=2",
                                       "cycle=F", "cycle=W,smoother=gauss_seidel,sweeps=2"}) {
      CAPTURE(executor, settings);
      const linear_solver_options options{.method = "flexible-cg",
                                          .preconditioner = "amg,coarsest_rows=16," + settings,
                                          .rtol = rtol,
                                          .executor = executor};
      linear_solver<TestType> solver(A, options);
      const auto first = solved_by(solver, b);
      CHECK(first.told.converged());
      CHECK(solved_by(solver, b).x == first.x);
      solver.update_values(other);
      const auto second = solved_by(solver, b);
      CHECK(true_residual(other, b, second.x) <= 1.01 * rtol);
      linear_solver<TestType> made_anew(other, options);
      CHECK(std::abs(solved_by(made_anew, b).told.iterations() - second.told.iterations()) <= 1);
      solver.update_values(A);
      CHECK(solved_by(solver, b).x == first.x);
    }
}

TEST_CASE("amg: two K-cycles at once, on any number of threads", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    CAPTURE(executor);
    linear_solver_options options{.method = "fgmres",
                                  .preconditioner = "amg,coarsest_rows=16,cycle=K,smoother=chebyshev,sweeps=2",
                                  .rtol = 1e-9,
                                  .executor = executor};
    linear_solver<double> alone(A, options);
    const std::vector<double> expected = solved_by(alone, b).x;
    options.threads = 3;
    linear_solver<double> one(A, options), other(A, options);
    std::vector<double> of_one, of_other;
    std::thread beside([&] { of_one = solved_by(one, b).x; });
    of_other = solved_by(other, b).x;
    beside.join();
    CHECK(of_one == expected);
    CHECK(of_other == expected);
  }
}

TEST_CASE("amg: cycles and smoothers on matrices that are hard on a set-up end with a reason", "[linear][amg]") {
  const csr_matrix<double> square = whilst::make_gallery<double>("poisson2d:14").matrix;
  const auto n = static_cast<int>(square.rows());
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const auto changed = [&](const std::function<double(index_type, index_type, double)>& value) {
    return with_values<double>(square, value);
  };
  triplets<double> dense_row(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    if (i > 0) row.emplace_back(0, -0.01);
    for (int j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j)
      if (i == j || i * j > 0) row.emplace_back(j, i == j ? (i ? 3 : n) : -1);
    if (i == 0)
      for (int j = 1; j < n; ++j) row.emplace_back(j, -0.01);
    dense_row.row(row);
  }
  triplets<double> one(1), no_entry(1);
  one.row({{0, -3}});
  no_entry.row({});
  struct hostile {
    std::string name;
    csr_matrix<double> A;
    bool must;  ///< converge
  };
  const std::vector<hostile> all{
      {"one entry", one.matrix(), true},
      {"one row without entries", no_entry.matrix(), false},
      {"zeros", changed([](index_type, index_type, double) { return 0; }), false},
      {"a row and a column of zeros",
       changed([](index_type i, index_type j, double a) { return i == 7 || j == 7 ? 0 : a; }), false},
      {"the identity", changed([](index_type i, index_type j, double) { return i == j; }), true},
      {"a full row and column", dense_row.matrix(), true},
      {"negative definite", changed([](index_type, index_type, double a) { return -a; }), true},
      {"positive beside the diagonal", changed([](index_type, index_type, double a) { return std::abs(a) + (a > 0); }),
       true},
      {"indefinite", changed([](index_type i, index_type j, double a) { return i == j && i % 2 ? -a : a; }), false},
      {"NaN", changed([=](index_type i, index_type j, double a) { return i == 5 && j == 5 ? nan : a; }), false},
      {"infinity", changed([=](index_type i, index_type j, double a) { return i == 5 && j == 6 ? infinity : a; }),
       false},
      {"of 1e-300", changed([](index_type, index_type, double a) { return 1e-300 * a; }), true},
      {"of 1e300", changed([](index_type, index_type, double a) { return 1e300 * a; }), true},
  };
  for (const std::string& executor : executors_with_steps())
    for (const hostile& given : all)
      for (const std::string method : {"flexible-cg", "fgmres"})
        for (const std::string cycle : {"V", "W", "K"})
          for (const std::string& smoother : smoothers) {
            if (under_sanitizers && cycle != "V" && smoother != smoothers.front()) continue;  // each of them once
            CAPTURE(executor, given.name, method, cycle, smoother);
            const linear_solver_options options{
                .method = method,
                .preconditioner = "amg,coarsest_rows=8,sweeps=2,cycle=" + cycle + ",smoother=" + smoother,
                .rtol = 1e-6,
                .max_iterations = 60,
                .executor = executor};
            linear_solver<double> solver(given.A, options);
            const std::vector<double> b(static_cast<std::size_t>(given.A.rows()), 1.0);
            const solution<double> made = solved_by(solver, b);
            CAPTURE(made.told.message());
            CHECK(made.told.iterations() <= 60);
            // Coarse matrices of a method for any A need not be definite, and nothing bounds Gauss-Seidel then.
            const bool may_diverge = smoother == "gauss_seidel" && method == "fgmres" && cycle == "W";
            if (given.must && !may_diverge) CHECK(made.told.converged());
            if (made.told.converged()) CHECK(true_residual(given.A, b, made.x) <= 1.01e-6);
          }
}

}  // namespace whilst_test
