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

#include "solvers/linear/multigrid/hierarchy.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {
namespace {

using whilst::amg_options;
using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::report;
using whilst::multigrid::extended_interpolation;
using whilst::multigrid::hierarchy;
using whilst::multigrid::level;
using whilst::multigrid::pattern_view;

using real = long double;
using entries_of_row = std::map<std::int32_t, real>;

template <class C>
constexpr double epsilon_of_number = static_cast<double>(std::numeric_limits<C>::epsilon());

template <class From, class To>
struct converted_values {
  const From* from;
  To* to;
  WHILST_HD void operator()(index_type k) const { to[k] = static_cast<To>(from[k]); }
};

/// The levels of a matrix in memory of the host, in numbers C.
template <class C>
struct classical_levels {
  buffer<std::int32_t> offsets, columns;
  buffer<double> values;
  hierarchy<C> levels;

  classical_levels(const csr_matrix<double>& A, bool symmetric, amg_options options)
      : offsets(place::host(), A.rows() + 1, A.row_offsets_32().data()),
        columns(place::host(), A.nonzeros(), A.column_indices().data()),
        values(place::host(), A.nonzeros(), A.values().data()),
        levels(place::host(), {A.rows(), A.columns(), A.nonzeros(), offsets.data(), columns.data()}, symmetric,
               std::numeric_limits<double>::epsilon(), options, [&](whilst::recorder& run, auto* finest) {
                 using V = std::remove_pointer_t<decltype(finest)>;
                 run.step("values", values.size(), converted_values<double, V>{values.data(), finest});
               }) {}
};
amg_options classical(int entries, double strength = 0.25, int most_levels = 2) {
  return {.precision = "auto",
          .coarsening = "classical",
          .strength = strength,
          .interpolation_entries = entries,
          .coarsest_rows = 1,
          .most_levels = most_levels};
}

template <class C>
std::vector<entries_of_row> rows_of(const pattern_view& pattern, const C* values) {
  std::vector<entries_of_row> rows(static_cast<std::size_t>(pattern.rows));
  for (index_type i = 0; i < pattern.rows; ++i)
    for (std::int32_t e = pattern.offsets[i]; e < pattern.offsets[i + 1]; ++e)
      rows[static_cast<std::size_t>(i)][pattern.indices[e]] += static_cast<real>(values[e]);
  return rows;
}

/// What the article defines, of a level as it was split.
struct article {
  std::vector<entries_of_row> A;
  const std::int32_t* coarse;
  std::vector<std::set<std::int32_t>> depends;  ///< S_i

  template <class C>
  article(const level<C>& fine, double strength)
      : A(rows_of(fine.A, fine.A_values)), coarse(fine.interpolation.coarse), depends(A.size()) {
    for (std::int32_t i = 0; i < size(); ++i) {
      real most = 0;
      for (const auto& [j, a] : row(i))
        if (j != i && -towards(i, a) > most) most = -towards(i, a);
      for (const auto& [j, a] : row(i))
        if (j != i && -towards(i, a) > 0 && -towards(i, a) >= static_cast<real>(strength) * most)
          depends[static_cast<std::size_t>(i)].insert(j);
    }
  }
  std::int32_t size() const { return static_cast<std::int32_t>(A.size()); }
  const entries_of_row& row(std::int32_t i) const { return A[static_cast<std::size_t>(i)]; }
  const std::set<std::int32_t>& of(std::int32_t i) const { return depends[static_cast<std::size_t>(i)]; }
  real at(std::int32_t i, std::int32_t j) const {
    const auto found = row(i).find(j);
    return found == row(i).end() ? 0 : found->second;
  }
  real towards(std::int32_t i, real a) const { return at(i, i) > 0 ? a : at(i, i) < 0 ? -a : 0; }
  /// a_ij where its sign is opposite to the diagonal's.
  real opposite(std::int32_t i, std::int32_t j) const { return i != j && towards(i, at(i, j)) < 0 ? at(i, j) : 0; }

  entries_of_row weights(std::int32_t i) const {
    if (coarse[i] >= 0) return {{coarse[i], 1}};
    std::set<std::int32_t> interpolating, fine;
    for (const std::int32_t j : of(i)) (coarse[j] >= 0 ? interpolating : fine).insert(j);
    for (const std::int32_t k : fine)
      for (const std::int32_t j : of(k))
        if (coarse[j] >= 0) interpolating.insert(j);
    if (interpolating.empty()) return {};
    real d = at(i, i);
    entries_of_row sums;
    for (const std::int32_t j : interpolating) sums[j] = opposite(i, j);
    for (const auto& [j, a] : row(i))
      if (j != i && !fine.contains(j) && (opposite(i, j) == 0 || !interpolating.contains(j))) d += a;
    for (const std::int32_t k : fine) {
      real sum = opposite(k, i);
      for (const std::int32_t l : interpolating) sum += opposite(k, l);
      if (sum == 0) {
        d += at(i, k);
        continue;
      }
      for (const std::int32_t j : interpolating) sums[j] += at(i, k) * opposite(k, j) / sum;
      d += at(i, k) * opposite(k, i) / sum;
    }
    if (towards(i, d) <= 0) d = at(i, i);
    entries_of_row made;
    for (const auto& [j, sum] : sums) made[coarse[j]] = -sum / d;
    return made;
  }
};

/// A matrix with entries of both signs beside its diagonal, in no order, diagonals in two parts, empty rows, rows that
/// depend on others without any that depends on them, and a negative diagonal here and there.
csr_matrix<double> motley(int n) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    if (i % 31 != 5) {
      const double sign = i % 7 == 3 ? -1 : 1;
      row.emplace_back(i, sign * 2.0);
      for (const int d : {17, 1, 3})
        for (const int j : {i + d, i - d})
          if (j >= 0 && j < n && j % 31 != 5) row.emplace_back(j, sign * ((i + 2 * j) % 5 == 0 ? 0.5 : -1.0 - i % 3));
      row.emplace_back(i, sign * 6.0);
    }
    t.row(row);
  }
  return t.matrix();
}
/// Diffusion and a flow along x, upwind, in a square.
csr_matrix<double> upwind(int size, double v) {
  triplets<double> t(index_type{size} * size);
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const int i = y * size + x;
      std::vector<std::pair<int, double>> row{{i, 4 + v}};
      if (x > 0) row.emplace_back(i - 1, -1 - v);
      if (x + 1 < size) row.emplace_back(i + 1, -1);
      if (y > 0) row.emplace_back(i - size, -1);
      if (y + 1 < size) row.emplace_back(i + size, -1);
      t.row(row);
    }
  return t.matrix();
}
struct named_matrix {
  std::string name;
  csr_matrix<double> A;
  bool symmetric;
};
std::vector<named_matrix> matrices_to_split() {
  std::vector<named_matrix> all;
  for (const char* const problem : {"poisson1d:40", "poisson2d:17", "poisson3d:9", "anisotropic2d:20", "neumann2d:12"})
    all.push_back({problem, whilst::make_gallery<double>(problem).matrix, true});
  all.push_back({"motley", motley(300), true});
  all.push_back({"motley, for any method", motley(300), false});
  all.push_back({"upwind", upwind(15, 8), false});
  return all;
}

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
        making + "coarsening is 'ruge' of preconditioner amg. Use one of aggregation, classical");
  CHECK(refusal("amg,coarsening=classical,unknowns_a_node=2").find("Use aggregation for systems of equations") !=
        std::string::npos);
  for (const std::string entries : {"-1", "1001"})
    CHECK(refusal("amg,interpolation_entries=" + entries) ==
          making + "interpolation_entries is " + entries + " of preconditioner amg. Use 1 to 1000, or 0 for all");
}

}  // namespace whilst_test
