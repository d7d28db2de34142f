// Preconditioners "fsai" and "spai" within solvers: how fast, with new values, and what is refused.

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// A residual that T reaches on the model problems here, whose condition numbers are below 1e4: a product rounds by
/// some epsilon of ||A|| ||x||.
template <class T>
constexpr double within_reach = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());

template <class T>
struct solved_system {
  report told;
  std::vector<T> x;
};
template <class T>
solved_system<T> solved_with(linear_solver<T>& solver, const std::vector<T>& b) {
  solved_system<T> made{{}, std::vector<T>(b.size(), T(0))};
  made.told = solver.solve(b, made.x);
  return made;
}
template <class T>
solved_system<T> solved_once(const csr_matrix<T>& A, const linear_solver_options& options, const std::vector<T>& b) {
  linear_solver<T> solver(A, options);
  return solved_with(solver, b);
}
template <class T>
std::vector<T> values_times(const csr_matrix<T>& A, double factor) {
  std::vector<T> values(A.values().begin(), A.values().end());
  for (T& value : values) value = static_cast<T>(factor * static_cast<double>(value));
  return values;
}
template <class T>
csr_matrix<T> times_factor(const csr_matrix<T>& A, double factor) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values_times(A, factor)};
}
template <class T>
csr_matrix<T> gallery(const char* name) {
  return whilst::make_gallery<T>(name).matrix;
}

}  // namespace

TEMPLATE_TEST_CASE("fsai and spai solve, on every executor", "[linear][fsai][sanitizer]", float, double) {
  using T = TestType;
  for (const std::string& executor : executors_with_steps())
    for (const char* problem : {"poisson2d:1", "poisson2d:2", "poisson3d:5", "poisson2d:40"}) {
      const csr_matrix<T> A = gallery<T>(problem);
      const std::vector<T> b = random_vector<T>(A.rows(), 4);
      for (const char* settings : {"fsai", "fsai,power=3", "fsai,order=none", "fsai,order=random,power=4",
                                   "fsai,precision=double", "fsai,precision=bfloat16", "spai", "spai,power=2"})
        for (const std::string method : {"cg", "minres", "cr", "bicgstab", "gmres"}) {
          const bool is_spai = settings[0] == 's',
                     is_symmetric = method == "cg" || method == "minres" || method == "cr";
          if (is_spai && is_symmetric) continue;
          INFO(executor << ", " << problem << ", " << settings << ", " << method);
          const auto [told, x] = solved_once(
              A, {.method = method, .preconditioner = settings, .rtol = within_reach<T>, .executor = executor}, b);
          CHECK(told.converged());
          CHECK(true_residual(A, b, x) <= 1.01 * within_reach<T>);
        }
    }
}

TEST_CASE("fsai saves iterations", "[linear][fsai]") {
  // As measured, and a few more: where G changes in its last digits, counts may do so.
  struct one {
    const char *problem, *settings;
    index_type most;
  };
  for (const one& m : {one{"poisson3d:24", "jacobi", 68},
                       {"poisson3d:24", "fsai", 36},
                       {"poisson3d:24", "fsai,power=2", 34},
                       {"anisotropic2d:60", "jacobi", 360},
                       {"anisotropic2d:60", "fsai,power=16,drop=0.1,order=random", 40}}) {
    if (under_sanitizers && m.problem == std::string("poisson3d:24")) continue;
    const csr_matrix<double> A = gallery<double>(m.problem);
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    for (const std::string& executor : executors_with_steps()) {
      const auto [told, x] = solved_once(A, {.preconditioner = m.settings, .executor = executor}, b);
      INFO(m.problem << ", " << m.settings << ", " << executor << ": " << told.iterations());
      CHECK(told.converged());
      CHECK(true_residual(A, b, x) <= 1.01e-8);
      CHECK(told.iterations() <= m.most);
    }
  }
}

TEST_CASE("fsai: cg solves negative definite systems, too, and powers of two change no bit", "[linear][fsai]") {
  const csr_matrix<double> A = gallery<double>("poisson2d:30");
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    const linear_solver_options options{.preconditioner = "fsai", .rtol = 1e-10, .executor = executor};
    const auto plain = solved_once(A, options, b);
    for (const double factor : {-1.0, std::ldexp(1.0, -600), 8.0, -std::ldexp(1.0, 700)}) {
      INFO(executor << ", " << factor);
      const auto scaled = solved_once(times_factor(A, factor), options, b);
      CHECK(scaled.told.iterations() == plain.told.iterations());
      std::vector<double> back = scaled.x;
      for (double& value : back) value *= factor;
      CHECK((back == plain.x));
    }
  }
}

TEMPLATE_TEST_CASE("fsai and spai: new values are noticed", "[linear][fsai][sanitizer]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = gallery<T>("poisson2d:24");
  std::vector<T> others = values_times(A, -3);
  for (std::size_t k = 0; k < others.size(); ++k) others[k] += others[k] < 0 ? T(-4) : T(k % 7) / T(100);
  const csr_matrix<T> other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), others);
  const std::vector<T> b = random_vector<T>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps())
    for (const char* settings : {"fsai", "spai"}) {
      INFO(executor << ", " << settings);
      const linear_solver_options options{
          .method = "bicgstab", .preconditioner = settings, .rtol = within_reach<T>, .executor = executor};
      const auto of_A = solved_once(A, options, b), of_other = solved_once(other, options, b);
      CHECK(of_other.told.iterations() < of_A.told.iterations());
      linear_solver<T> solver(A, options), second(other, options);
      CHECK((solved_with(solver, b).x == of_A.x));
      for (int again = 0; again < 2; ++again) {
        solver.update_values(others);
        CHECK((solved_with(solver, b).x == of_other.x));  // the pattern depends on no values
        CHECK((solved_with(second, b).x == of_other.x));
        CHECK((solved_with(solver, b).x == of_other.x));
        solver.update_values(A);
        CHECK((solved_with(solver, b).x == of_A.x));
      }
      for (const double spoilt : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
        solver.update_values(values_times(A, spoilt));
        const auto failed = solved_with(solver, b);
        CHECK_FALSE(failed.told.converged());
        for (const T value : failed.x) CHECK(std::isfinite(value));
        solver.update_values(A);
        CHECK((solved_with(solver, b).x == of_A.x));
      }
      // From zeros, whose pattern is that of all values.
      linear_solver<T> from_zeros(times_factor(A, 0), options);
      from_zeros.update_values(A);
      CHECK((solved_with(from_zeros, b).x == of_A.x));
    }
}

TEST_CASE("fsai: the same bits for any unroll, from a solution, and for values in place", "[linear][fsai]") {
  const csr_matrix<double> A = gallery<double>("poisson2d:50");
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver_options options{.preconditioner = "fsai,power=2", .executor = executor};
    const auto once = solved_once(A, options, b);
    CHECK(once.told.converged());
    options.unroll = 3;
    CHECK((solved_once(A, options, b).x == once.x));
    if (executor == "host") {
      options.threads = 1;
      CHECK((solved_once(A, options, b).x == once.x));
    }
    linear_solver<double> solver(A, options);
    std::vector<double> x = once.x;
    CHECK(solver.solve(b, x).iterations() == 0);
  }
}

TEST_CASE("fsai and spai take any matrix", "[linear][fsai]") {
  constexpr double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<std::string, csr_matrix<double>>> matrices;
  const auto add = [&](const char* what, const std::vector<std::vector<std::pair<int, double>>>& rows) {
    triplets<double> t(static_cast<index_type>(rows.size()));
    for (const auto& row : rows) t.row(row);
    matrices.emplace_back(what, t.matrix());
  };
  add("empty", {});
  add("one entry", {{{0, -3}}});
  add("a zero", {{{0, 0}}});
  add("nothing", {{}, {}, {}});
  add("a row without entries", {{{0, 1}, {1, 2}, {2, 1}}, {}, {{0, 3}, {1, 1}, {2, 5}}});
  add("a column without entries", {{{0, 1}, {2, 2}}, {{0, 4}, {2, 1}}, {{0, 3}, {2, 5}}});
  add("singular", {{{0, 1}, {1, 2}}, {{0, 2}, {1, 4}}});
  add("a NaN", {{{0, nan}, {1, 1}}, {{0, 1}, {1, 2}}});
  add("infinity", {{{0, infinite}, {1, 1}}, {{0, 1}, {1, -infinite}}});
  add("far apart", {{{0, 1e-300}, {1, 1e300}}, {{0, 1e200}, {1, 1e-200}}});
  add("entries twice", {{{0, 1}, {1, 1}, {0, 2}}, {{1, 1}, {1, 4}, {0, 1}}});
  add("entries that cancel", {{{0, 1}, {0, -1}, {1, 1}}, {{1, 1}, {0, 1}}});
  add("skew", {{{1, 1}}, {{0, -1}}});
  // Longer than rows may be that patterns follow, first with little beside it and then with all rows full but for
  // zeros.
  std::vector<std::vector<std::pair<int, double>>> arrow(5000), full(40);
  for (int i = 0; i < 5000; ++i) {
    arrow[0].emplace_back(i, i == 0 ? 5000 : 1);
    if (i > 0) arrow[static_cast<std::size_t>(i)] = {{i, 3}, {0, 1}};
  }
  for (int i = 0; i < 40; ++i)
    for (int j = 39; j >= 0; --j) full[static_cast<std::size_t>(i)].emplace_back(j, i == j ? 41 : 1);
  add("an arrow", arrow);
  add("full", full);
  for (const auto& [what, A] : matrices) {
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    for (const char* M : {"fsai", "fsai,power=3,order=random", "fsai,drop=0.5,most=2,order=none", "spai",
                          "spai,power=2,drop=0.1,precision=double"})
      for (const char* method : {"gmres", "bicgstab", "cg", "minres"})
        for (const std::string& executor : executors_with_steps()) {
          INFO(what << ", " << M << ", " << method << ", " << executor);
          const auto [told, x] =
              solved_once(A, {.method = method, .preconditioner = M, .max_iterations = 50, .executor = executor}, b);
          CHECK(told.reason() != reason::running);
          for (const double value : x) CHECK(std::isfinite(value));
          if (told.converged() && !b.empty()) CHECK(true_residual(A, b, x) <= 1.01e-8);
          const bool must = what == "one entry" || what == "entries twice" || what == "an arrow" || what == "full";
          if (must && (method == std::string("gmres") || (M[0] == 'f' && method == std::string("cg"))))
            CHECK(told.converged());
        }
  }
}

TEST_CASE("spai: a row that is too long is followed by none", "[linear][fsai]") {
  // A chain, and a row and a column that are full. Without those a row reaches its neighbours; the long one, itself.
  constexpr int n = 3000;
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i > 0 && j > 0 && (j < i - 1 || j > i + 1)) continue;
      columns.push_back(j);
      values.push_back(i == j ? (i == 0 ? 2.0 * n : 4) : -1);
    }
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  const csr_matrix<double> A(n, n, std::move(offsets), std::move(columns), std::move(values));
  const std::vector<double> b = random_vector<double>(n, 2);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(A, {.method = "bicgstab", .preconditioner = "spai", .executor = executor});
    std::vector<double> x(b.size(), 0);
    const report told = solver.solve(b, x);
    CHECK(told.converged());
    CHECK(told.preconditioner_choice() == "spai, 3.0 entries a row of M, power 1");
  }
}

TEST_CASE("spai solves unsymmetric systems in fewer iterations than jacobi", "[linear][fsai]") {
  const auto A = convection_diffusion<double>(2000);
  const std::vector<double> b = random_vector<double>(A.rows(), 3);
  for (const std::string& executor : executors_with_steps()) {
    const auto iterations = [&](const char* M) {
      const auto [told, x] =
          solved_once(A, {.method = "bicgstab", .preconditioner = M, .rtol = 1e-10, .executor = executor}, b);
      CHECK(told.converged());
      CHECK(true_residual(A, b, x) <= 1.01e-10);
      return told.iterations();
    };
    INFO(executor);
    CHECK(2 * iterations("spai,power=2") < iterations("jacobi"));
  }
}

TEST_CASE("settings of fsai and spai, and what excludes them", "[linear][fsai]") {
  const csr_matrix<double> A = gallery<double>("poisson2d:5");
  const auto made = [&](linear_solver_options options) {
    if (options.executor == "auto") options.executor = "host";
    const std::vector<double> b(25, 1.0);
    return solved_once(A, options, b).told.preconditioner_choice();
  };
  CHECK(made({.preconditioner = "fsai"}) == "fsai, 2.6 entries a row of G, power 1");
  CHECK(made({.method = "gmres", .preconditioner = "spai"}) == "spai, 4.2 entries a row of M, power 1");
  CHECK(made({.preconditioner = "fsai,power=2,order=none"}) ==
        made({.preconditioner = "fsai", .fsai = {.power = 2, .order = "none"}}));
  const auto refused = [&](linear_solver_options options, const char* what) {
    CHECK_THROWS_WITH(made(std::move(options)), contains(what));
  };
  refused({.preconditioner = "fsai,fill=3"},
          "no setting called 'fill'. Use some of power, drop, most, precision, order");
  refused({.preconditioner = "spai,order=none"}, "no setting called 'order'");
  refused({.preconditioner = "fsai,power=0"}, "power is 0");
  refused({.preconditioner = "fsai,power=33"}, "Use 1 to 32");
  refused({.preconditioner = "fsai,drop=nan"}, "drop is nan");
  refused({.preconditioner = "spai,drop=1.5"}, "drop is 1.5");
  refused({.preconditioner = "fsai,most=0"}, "most is 0");
  refused({.preconditioner = "fsai,most=33"}, "most is 33");
  refused({.preconditioner = "fsai,precision=half"}, "Use one of auto, bfloat16, float, double");
  refused({.preconditioner = "fsai,order=rcm"}, "Use one of none, alternating, random");
  refused({.method = "lsqr", .preconditioner = "spai"}, "preconditioner spai is for A");
  refused({.preconditioner = "fsai", .scaling = "symmetric"}, "changes the matrix that preconditioner fsai");
  refused({.preconditioner = "fsai", .executor = "resident"}, "preconditioner fsai records steps of its own");
}

TEST_CASE("fsai and spai solve matrices from practice", "[linear][data][fsai]") {
  const char* const folder = std::getenv("WHILST_DATA_DIR");
  if (!folder) {
    WARN("skipped: WHILST_DATA_DIR is not set");
    return;
  }
  struct one {
    const char *matrix, *method, *preconditioner;
    index_type most_iterations;
  };
  for (const one& m : {one{"1138_bus", "cg", "fsai,power=4", 60},
                       {"ani4", "cg", "fsai,power=2", 130},
                       {"ani1_nonsymm", "bicgstab", "spai,power=2", 20}}) {
    const auto A = whilst::read_matrix<double>(std::string(folder) + "/mtx/" + m.matrix + ".mtx");
    std::vector<double> b(static_cast<std::size_t>(A.rows()), 0.0);
    for (index_type i = 0; i < A.rows(); ++i)
      for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
        b[static_cast<std::size_t>(i)] += A.values()[static_cast<std::size_t>(k)];
    for (const std::string& executor : executors_with_steps()) {
      const auto [told, x] =
          solved_once(A, {.method = m.method, .preconditioner = m.preconditioner, .executor = executor}, b);
      std::cout << m.matrix << ", " << m.method << ", " << executor << ": " << name(told.reason()) << " after "
                << told.iterations() << " iterations; " << told.preconditioner_choice() << "\n";
      INFO(m.matrix << ", " << m.method << ", " << executor);
      CHECK(told.converged());
      CHECK(true_residual(A, b, x) <= 1.01e-8);
      CHECK(told.iterations() <= m.most_iterations);
    }
  }
}

}  // namespace whilst_test
