// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // what the host's part of the tests includes; nvcc warns about its annotations for devices

// Classical coarsening of amg: which unknowns are coarse, and their weights by the article's formula over sets of
// unknowns, in extended precision.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/classical_levels.hpp"
#include "tests/linear/distributed_grids.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {
namespace {

using by_article::article, by_article::classical, by_article::classical_levels, by_article::entries_of_row;
using by_article::epsilon_of_number, by_article::matrices_to_split, by_article::real, by_article::rows_of;
using by_article::upwind;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;
using whilst::multigrid::extended_interpolation;
using whilst::multigrid::level;

report solve_classically(const csr_matrix<double>& A, const linear_solver_options& options, std::vector<double>& x) {
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  linear_solver<double> solver(A, options);
  x.assign(b.size(), 0.0);
  const report told = solver.solve(b, x);
  if (told.converged()) CHECK(true_residual(A, b, x) <= 1.01 * options.rtol);
  return told;
}

}  // namespace

TEMPLATE_TEST_CASE("classical amg: coarse unknowns are far apart and near to all", "[linear][amg]", float, double) {
  for (const auto& [name, A, symmetric] : matrices_to_split())
    for (const double strength : {0.0, 0.25, 0.9}) {
      INFO(name << ", strength " << strength);
      const classical_levels<TestType> made(A, symmetric, classical(4, strength));
      const level<TestType>& fine = made.levels.levels().front();
      const article by(fine, strength);
      std::vector<bool> has_dependents(by.A.size(), false);
      for (std::int32_t i = 0; i < by.size(); ++i)
        for (const std::int32_t j : by.of(i)) has_dependents[static_cast<std::size_t>(j)] = true;
      std::int32_t count = 0;
      for (std::int32_t i = 0; i < by.size(); ++i) {
        int depends_on_coarse = 0, and_it_on_this = 0;
        for (const std::int32_t j : by.of(i)) {
          depends_on_coarse += by.coarse[j] >= 0;
          and_it_on_this += by.coarse[j] >= 0 && by.of(j).contains(i);
        }
        if (by.coarse[i] >= 0) {
          CHECK(by.coarse[i] == count++);
          CHECK(and_it_on_this == 0);
          CHECK(has_dependents[static_cast<std::size_t>(i)]);
        } else if (has_dependents[static_cast<std::size_t>(i)]) {
          CHECK(depends_on_coarse > 0);
        }
      }
      CHECK(fine.coarse_rows == count);
    }
}

TEMPLATE_TEST_CASE("classical amg: weights are those of extended+i interpolation", "[linear][amg]", float, double) {
  // Sums of up to some ten numbers of one sign, and a difference that leaves a hundredth of a diagonal or more.
  const double tolerance = 1000 * epsilon_of_number<TestType>;
  for (const auto& [name, A, symmetric] : matrices_to_split())
    for (const int entries : {0, 1, 3, 4}) {
      INFO(name << ", " << entries << " entries");
      const classical_levels<TestType> made(A, symmetric, classical(entries));
      const level<TestType>& fine = made.levels.levels().front();
      REQUIRE(fine.coarse_rows > 0);
      const extended_interpolation<TestType>& by = fine.interpolation;
      const article expected(fine, 0.25);
      const auto weights = rows_of(by.W, by.W_values), kept = rows_of(fine.P, fine.P_values);
      for (std::int32_t i = 0; i < expected.size(); ++i) {
        INFO("row " << i);
        const entries_of_row of_article = expected.weights(i), &found = weights[static_cast<std::size_t>(i)];
        REQUIRE(found.size() == of_article.size());
        real whole = 0;
        std::vector<std::pair<TestType, std::int32_t>> by_size;
        for (const auto& [j, w] : of_article) {
          REQUIRE(found.contains(j));
          CHECK(std::abs(static_cast<double>(found.at(j) - w)) <= tolerance * std::abs(static_cast<double>(w)));
          by_size.emplace_back(static_cast<TestType>(-found.at(j)), j);
          whole += found.at(j);
        }
        std::sort(by_size.begin(), by_size.end());  // the largest first, of equal ones that of the lower number
        if (entries > 0 && by_size.size() > static_cast<std::size_t>(entries))
          by_size.resize(static_cast<std::size_t>(entries));
        real of_kept = 0;
        for (const auto& [size, j] : by_size) of_kept -= static_cast<real>(size);
        REQUIRE(kept[static_cast<std::size_t>(i)].size() == by_size.size());
        for (const auto& [size, j] : by_size) {
          const real w = -static_cast<real>(size) * (whole < 2 ? whole : 2) / of_kept;
          REQUIRE(kept[static_cast<std::size_t>(i)].contains(j));
          CHECK(std::abs(static_cast<double>(kept[static_cast<std::size_t>(i)].at(j) - w)) <=
                4 * epsilon_of_number<TestType> * static_cast<double>(w));
        }
      }
    }
}

TEMPLATE_TEST_CASE("classical amg: by hand", "[linear][amg]", float, double) {
  SECTION("of three unknowns in a line the middle one is coarse, and the others are half of it") {
    const classical_levels<TestType> made(whilst::make_gallery<double>("poisson1d:3").matrix, true, classical(4));
    REQUIRE(made.levels.levels().size() == 2);
    const level<TestType>& fine = made.levels.levels().front();
    CHECK(fine.interpolation.coarse[0] == -1);
    CHECK(fine.interpolation.coarse[1] == 0);
    CHECK(fine.interpolation.coarse[2] == -1);
    for (const int i : {0, 1, 2}) CHECK(fine.P_values[i] == TestType(i == 1 ? 1 : 0.5));
    CHECK(made.levels.levels()[1].A_values[0] == TestType(1));  // 2 - 4 / 2 + 2 (2 / 4)
  }
  SECTION("where neighbours cancel a diagonal they are left out, and a row's weights are 2 at most") {
    triplets<double> t(3);
    t.row({{0, 1}, {1, -8}, {2, -1.5}});  // the last entry is weak: with it the diagonal would be -0.5
    t.row({{0, -1}, {1, 4}, {2, -1}});
    t.row({{1, -1}, {2, 2}});
    const classical_levels<TestType> made(t.matrix(), true, classical(4));
    const level<TestType>& fine = made.levels.levels().front();
    REQUIRE(fine.coarse_rows == 1);
    CHECK(fine.interpolation.coarse[1] == 0);
    CHECK(fine.interpolation.W_values[0] == TestType(8));
    CHECK(fine.P_values[0] == TestType(2));
    CHECK(fine.P_values[2] == TestType(0.5));
  }
  SECTION("a row that all unknowns have part in has none in coarsening") {
    constexpr int n = 2500;
    triplets<double> t(n);
    std::vector<std::pair<int, double>> first{{0, 3.0 * n}};
    for (int i = 1; i < n; ++i) first.emplace_back(i, -1);
    t.row(first);
    for (int i = 1; i < n; ++i) {
      std::vector<std::pair<int, double>> row{{0, -1}, {i, 4}};
      for (const int j : {i - 1, i + 1})
        if (j > 0 && j < n) row.emplace_back(j, -1);
      t.row(row);
    }
    const classical_levels<TestType> made(t.matrix(), true, classical(4));
    const level<TestType>& fine = made.levels.levels().front();
    REQUIRE(fine.coarse_rows > 0);
    CHECK(fine.interpolation.coarse[0] == -1);
    CHECK(fine.interpolation.A_c.offsets[1] == 0);  // to find any takes its length squared
    CHECK(fine.P.offsets[1] == 0);
    std::vector<double> x;
    CHECK(solve_classically(t.matrix(),
                            {.preconditioner = "amg,coarsening=classical", .rtol = 1e-8, .executor = "host"}, x)
              .iterations() <= 20);
  }
  SECTION("along a line, between coarse unknowns one, two or three steps apart, interpolation is linear") {
    constexpr int n = 1000;
    const classical_levels<TestType> made(whilst::make_gallery<double>("poisson1d:" + std::to_string(n)).matrix, true,
                                          classical(4));
    const level<TestType>& fine = made.levels.levels().front();
    const std::int32_t* const coarse = fine.interpolation.coarse;
    const auto P = rows_of(fine.P, fine.P_values);
    int before = 0, pairs = 0;
    while (coarse[before] < 0) ++before;
    for (int after = before + 1; after < n; ++after) {
      if (coarse[after] < 0) continue;
      const int apart = after - before;
      CHECK(apart <= 3);
      pairs += apart == 3;
      for (int i = before + 1; i < after; ++i) {
        const entries_of_row& row = P[static_cast<std::size_t>(i)];
        REQUIRE(row.size() == 2);
        const double of_after = static_cast<double>(i - before) / apart;
        CHECK(std::abs(static_cast<double>(row.at(coarse[after])) - of_after) <= 8 * epsilon_of_number<TestType>);
        CHECK(std::abs(static_cast<double>(row.at(coarse[before])) - (1 - of_after)) <=
              8 * epsilon_of_number<TestType>);
      }
      before = after;
    }
    CHECK(pairs > 0);
  }
}

TEST_CASE("classical amg: a level whose rows add up to zero keeps the constant on all levels", "[linear][amg]") {
  const classical_levels<double> made(whilst::make_gallery<double>("neumann2d:60").matrix, true,
                                      classical(4, 0.25, 30));
  REQUIRE(made.levels.levels().size() >= 4);
  for (const level<double>& one : made.levels.levels()) {
    if (one.coarse_rows == 0) break;
    for (const entries_of_row& row : rows_of(one.P, one.P_values)) {
      real sum = 0;
      for (const auto& [j, w] : row) sum += w;
      // Each level's sums round by an epsilon of its diagonals, and are divided by a part of these.
      if (!row.empty()) CHECK(std::abs(static_cast<double>(sum - 1)) <= 1e4 * epsilon_of_number<double>);
    }
  }
}

TEST_CASE("classical amg: few iterations where coefficients jump or depend on directions", "[linear][amg]") {
  for (const std::string& executor : executors_with_steps()) {
    const auto taken = [&](const std::string& problem, const std::string& settings, const char* method) {
      const csr_matrix<double> A = problem == "upwind" ? upwind(64, 20) : whilst::make_gallery<double>(problem).matrix;
      std::vector<double> x;
      const report told =
          solve_classically(A, {.method = method, .preconditioner = settings, .rtol = 1e-8, .executor = executor}, x);
      INFO(executor << ", " << problem << ", " << settings << ": " << told.message());
      CHECK(told.converged());
      return told.iterations();
    };
    INFO(executor);
    const std::string plain = "amg,coarsest_rows=100", classical = plain + ",coarsening=classical";
    CHECK(taken("poisson3d:20", classical, "cg") <= taken("poisson3d:20", plain, "cg"));
    CHECK(4 * taken("anisotropic2d:100", classical, "cg") <= 3 * taken("anisotropic2d:100", plain, "cg"));
    CHECK(taken("poisson2d:128", classical, "cg") <= taken("poisson2d:32", classical, "cg") + 3);
    for (const char* const method : {"bicgstab", "gmres", "idr"}) CHECK(taken("upwind", classical, method) <= 25);
  }
}

TEST_CASE("amg: coarsening auto is classical where coefficients jump almost everywhere", "[linear][amg][sanitizer]") {
  const csr_matrix<double> by_chance = cube(12, {1, 1, 1}, 6);
  // The same with every other unknown's sign changed: entries beside the diagonal are positive then.
  std::vector<int> offsets, columns(by_chance.column_indices().begin(), by_chance.column_indices().end());
  std::vector<double> sizes;
  for (const double value : by_chance.values()) sizes.push_back(std::abs(value));
  for (index_type i = 0; i <= by_chance.rows(); ++i) offsets.push_back(static_cast<int>(by_chance.row_offset(i)));
  const csr_matrix<double> positive(by_chance.rows(), by_chance.rows(), offsets, columns, sizes);
  std::vector<double> opposite(by_chance.values().begin(), by_chance.values().end());
  for (double& value : opposite) value = -value;
  const csr_matrix<double> negative(by_chance.rows(), by_chance.rows(), offsets, columns, opposite);
  const csr_matrix<double> smooth = whilst::make_gallery<double>("poisson3d:12").matrix,
                           by_direction = cube(12, {1, 1, 1000});
  for (const std::string& executor : executors_with_steps()) {
    const auto solved = [&](const csr_matrix<double>& A, const std::string& settings, const char* method = "cg") {
      std::vector<double> x;
      const std::string preconditioner = "amg,coarsest_rows=50,coarsening=" + settings;
      const report told = solve_classically(
          A, {.method = method, .preconditioner = preconditioner, .rtol = 1e-8, .executor = executor}, x);
      INFO(executor << ", " << settings << ", " << method << ": " << told.message());
      CHECK(told.converged());
      return told;
    };
    const auto is_classical = [](const report& told) {
      return told.preconditioner_choice().find("; classical coarsening") != std::string::npos;
    };
    INFO(executor);
    const report chosen = solved(by_chance, "auto"), named = solved(by_chance, "classical");
    CHECK(is_classical(chosen));
    CHECK(chosen.iterations() == named.iterations());
    CHECK(chosen.preconditioner_choice() == named.preconditioner_choice());
    CHECK(is_classical(solved(by_chance, "auto,precision=double")));
    CHECK_FALSE(is_classical(solved(by_chance, "auto,aggressive_levels=1")));
    CHECK_FALSE(is_classical(solved(by_chance, "auto", "bicgstab")));
    CHECK_FALSE(is_classical(solved(positive, "auto")));
    CHECK_FALSE(is_classical(solved(smooth, "auto")));
    CHECK_FALSE(is_classical(solved(by_direction, "auto")));
    CHECK(is_classical(solved(negative, "auto")));
    CHECK_FALSE(is_classical(solved(by_chance, "auto,strength=0.6")));
    CHECK_FALSE(is_classical(solved(by_chance, "auto,unknowns_a_node=2")));
  }
}

TEST_CASE("amg: auto is aggregation where classical coarsening has no use", "[linear][amg]") {
  // Rough all the same; but without a diagonal no sign is opposite to it.
  const csr_matrix<double> by_chance = cube(8, {1, 1, 1}, 6);
  std::vector<double> values(by_chance.values().begin(), by_chance.values().end());
  std::vector<int> offsets, columns(by_chance.column_indices().begin(), by_chance.column_indices().end());
  for (index_type i = 0; i <= by_chance.rows(); ++i) offsets.push_back(static_cast<int>(by_chance.row_offset(i)));
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k)
      if (columns[k] == static_cast<int>(i)) values[k] = 0;
  const csr_matrix<double> without_diagonal(by_chance.rows(), by_chance.rows(), offsets, columns, values);
  for (const std::string& executor : executors_with_steps()) {
    std::vector<double> x;
    const report told = solve_classically(without_diagonal,
                                          {.method = "minres",
                                           .preconditioner = "amg,coarsest_rows=50,coarsening=auto",
                                           .max_iterations = 5,
                                           .executor = executor},
                                          x);
    INFO(executor << ": " << told.message());
    CHECK(told.preconditioner_choice().find("classical") == std::string::npos);
  }
}

TEST_CASE("amg: what auto has chosen stays when values change", "[linear][amg]") {
  const csr_matrix<double> rough = cube(10, {1, 1, 1}, 6), smooth = cube(10, {1, 1, 1});
  const std::vector<double> b = random_vector<double>(rough.rows(), 4);
  for (const std::string& executor : executors_with_steps()) {
    std::vector<std::vector<double>> found[2];
    for (const bool is_named : {false, true}) {
      linear_solver<double> solver(
          rough, {.preconditioner = std::string("amg,coarsest_rows=50,coarsening=") + (is_named ? "classical" : "auto"),
                  .executor = executor});
      for (const csr_matrix<double>* const now : {&rough, &smooth, &rough}) {
        solver.update_values(*now);
        std::vector<double> x(b.size(), 0);
        CHECK(solver.solve(b, x).converged());
        found[is_named].push_back(std::move(x));
      }
    }
    INFO(executor);
    CHECK(found[0] == found[1]);
    CHECK(found[0].front() == found[0].back());
  }
}

TEST_CASE("classical amg with all that is special, once each", "[linear][amg][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix, B = upwind(16, 5);
  for (const std::string& executor : executors_with_steps())
    for (const std::string settings : {"", ",interpolation_entries=0", ",interpolation_entries=1", ",strength=0",
                                       ",strength=1", ",cycle=W,smoother=chebyshev,sweeps=2", ",precision=double"}) {
      INFO(executor << settings);
      std::vector<double> x;
      const std::string classical = "amg,coarsening=classical,coarsest_rows=20" + settings;
      const report told = solve_classically(A, {.preconditioner = classical, .rtol = 1e-8, .executor = executor}, x);
      CHECK(told.converged());
      CHECK(told.iterations() <= 40);
      CHECK(told.preconditioner_choice().find("; classical coarsening") != std::string::npos);
      CHECK(solve_classically(
                B, {.method = "bicgstab", .preconditioner = classical, .rtol = 1e-8, .executor = executor}, x)
                .converged());
    }
}

TEST_CASE("classical amg: what does not go with it is refused", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:8").matrix;
  const auto refusal = [&](const std::string& settings) -> std::string {
    try {
      linear_solver<double>(A, {.preconditioner = settings, .executor = "host"});
    } catch (const whilst::error& problem) {
      return problem.what();
    }
    return "no exception";
  };
  const std::string making = "making a linear solver: setting ";
  CHECK(refusal("amg,coarsening=ruge") ==
        making + "coarsening is 'ruge' of preconditioner amg. Use one of auto, aggregation, classical");
  CHECK(refusal("amg,coarsening=classical,unknowns_a_node=2").find("Use aggregation for systems of equations") !=
        std::string::npos);
  for (const std::string entries : {"-1", "1001"})
    CHECK(refusal("amg,interpolation_entries=" + entries) ==
          making + "interpolation_entries is " + entries + " of preconditioner amg. Use 1 to 1000, or 0 for all");
}

}  // namespace whilst_test
