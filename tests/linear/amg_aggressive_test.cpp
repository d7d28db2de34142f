// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // what the host's part of the tests includes; nvcc warns about its annotations for devices

// Aggressive coarsening of amg: aggregates of aggregates, and classical interpolation in two stages, of which each is
// the article's over sets of unknowns, in extended precision.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/amg_solves.hpp"
#include "tests/linear/classical_levels.hpp"
#include "tests/linear/systems.hpp"
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
using whilst::place;
using whilst::multigrid::level;

/// Two levels, the first of them by aggregation.
template <class C>
hierarchy_there<C> aggregated(const csr_matrix<double>& A, bool symmetric, int aggressive_levels) {
  return {place::host(), A, symmetric, {.aggressive_levels = aggressive_levels, .coarsest_rows = 1, .most_levels = 2}};
}
/// Lines that nothing joins, of 1 to `longest` unknowns.
csr_matrix<double> lines(int longest) {
  triplets<double> t(longest * (longest + 1) / 2);
  int first = 0;
  for (int length = 1; length <= longest; first += length++)
    for (int i = 0; i < length; ++i) {
      std::vector<std::pair<int, double>> row{{first + i, 2}};
      if (i > 0) row.emplace_back(first + i - 1, -1);
      if (i + 1 < length) row.emplace_back(first + i + 1, -1);
      t.row(row);
    }
  return t.matrix();
}

/// What a row keeps: its largest weights, scaled so that its sum stays, but at most 2; of equal ones the first.
template <class C>
entries_of_row kept(const entries_of_row& weights, std::size_t most) {
  std::vector<std::pair<C, std::int32_t>> by_size;
  real whole = 0, of_kept = 0;
  for (const auto& [j, w] : weights) {
    by_size.emplace_back(static_cast<C>(-w), j);
    whole += w;
  }
  std::sort(by_size.begin(), by_size.end());
  if (most > 0 && by_size.size() > most) by_size.resize(most);
  for (const auto& [size, j] : by_size) of_kept -= static_cast<real>(size);
  entries_of_row made;
  for (const auto& [size, j] : by_size) made[j] = -static_cast<real>(size) * std::min<real>(whole, 2) / of_kept;
  return made;
}
/// The same columns, and values but for so many epsilons.
template <class C>
void check_row(const entries_of_row& found, const entries_of_row& expected, double epsilons) {
  REQUIRE(found.size() == expected.size());
  for (const auto& [j, w] : expected) {
    REQUIRE(found.contains(j));
    CHECK(std::abs(static_cast<double>(found.at(j) - w)) <=
          epsilons * epsilon_of_number<C> * std::abs(static_cast<double>(w)));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("aggressive amg: aggregates of aggregates are unions of neighbours", "[linear][amg]", float,
                   double) {
  std::vector<by_article::named_matrix> all = matrices_to_split();
  all.push_back({"lines", lines(30), true});
  all.push_back({"lines, for any method", lines(30), false});
  for (const auto& [name, A, symmetric] : all) {
    INFO(name);
    const hierarchy_there<TestType> made = aggregated<TestType>(A, symmetric, 1),
                                    usual = aggregated<TestType>(A, symmetric, 0);
    const level<TestType>&large = made.levels.levels().front(), &small = usual.levels.levels().front();
    REQUIRE(small.coarse_rows > 0);
    REQUIRE(large.coarse_rows > 0);
    CHECK(large.coarse_rows <= small.coarse_rows);
    std::map<std::int32_t, std::int32_t> of_small;           // which large one each is in
    std::map<std::int32_t, std::set<std::int32_t>> near_to;  // small aggregates, by strong entries
    for (index_type i = 0; i < large.A.rows; ++i) {
      const std::int32_t g = small.aggregate[i];
      REQUIRE((g < 0) == (large.aggregate[i] < 0));
      if (g < 0) continue;
      CHECK(of_small.emplace(g, large.aggregate[i]).first->second == large.aggregate[i]);
      for (std::int32_t e = small.A.offsets[i]; e < small.A.offsets[i + 1]; ++e) {
        const std::int32_t h = small.aggregate[small.A.indices[e]];
        if ((small.strong[e] & whilst::multigrid::for_aggregates) && h != g && h >= 0) near_to[g].insert(h);
      }
    }
    std::map<std::int32_t, std::set<std::int32_t>> parts;
    for (const auto& [g, whole] : of_small) parts[whole].insert(g);
    CHECK(static_cast<std::int32_t>(parts.size()) == large.coarse_rows);
    CHECK((parts.begin()->first == 0 && parts.rbegin()->first == large.coarse_rows - 1));
    for (const auto& [whole, of_whole] : parts) {
      // From any part all others are reached through parts.
      std::set<std::int32_t> reached{*of_whole.begin()}, last = reached;
      while (!last.empty()) {
        std::set<std::int32_t> next;
        for (const std::int32_t g : last)
          for (const std::int32_t h : near_to[g])
            if (of_whole.contains(h) && reached.insert(h).second) next.insert(h);
        last = next;
      }
      CHECK(reached == of_whole);
    }
  }
}

TEST_CASE("aggressive amg: by hand", "[linear][amg]") {
  SECTION("a line of nine unknowns is one aggregate") {
    const csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:9").matrix;
    const auto made = aggregated<double>(A, true, 1);
    const level<double>& fine = made.levels.levels().front();
    REQUIRE(fine.coarse_rows == 1);
    for (int i = 0; i < 9; ++i) CHECK(fine.aggregate[i] == 0);
    // On ones, A is 1 at the ends and 0 elsewhere, and W there 4/3 over 2 + 1.
    for (int i = 0; i < 9; ++i)
      CHECK(fine.P_values[i] == Approx(i % 8 ? 1 : 1 - 4.0 / 9).epsilon(4 * epsilon_of_number<double>));
  }
  SECTION("a part without coarse unknowns beside it keeps the one that it has") {
    // Lines of three, whose middle unknown is coarse, reach no other one: the second choice leaves all of them.
    triplets<double> t(12);
    for (int i = 0; i < 12; ++i) {
      std::vector<std::pair<int, double>> row{{i, 2}};
      if (i % 3 > 0) row.emplace_back(i - 1, -1);
      if (i % 3 < 2) row.emplace_back(i + 1, -1);
      t.row(row);
    }
    whilst::amg_options options = classical(4);
    options.aggressive_levels = 1;
    const classical_levels<double> made(t.matrix(), true, options);
    const level<double>& fine = made.levels.levels().front();
    REQUIRE(fine.coarse_rows == 4);
    for (int i = 0; i < 12; ++i) {
      CHECK(fine.interpolation.coarse[i] == (i % 3 == 1 ? i / 3 : -1));
      CHECK(fine.P_values[i] == (i % 3 == 1 ? 1 : 0.5));
    }
  }
}

TEMPLATE_TEST_CASE("aggressive amg: the second choice of coarse unknowns is far apart and near to the first",
                   "[linear][amg]", float, double) {
  for (const auto& [name, A, symmetric] : matrices_to_split()) {
    INFO(name);
    whilst::amg_options options = classical(4);
    options.aggressive_levels = 1;
    const classical_levels<TestType> made(A, symmetric, options);
    const level<TestType>& fine = made.levels.levels().front();
    REQUIRE(fine.coarse_rows > 0);
    const article by(fine, 0.25);
    const std::int32_t *const first = fine.stages.first.coarse, *const second = fine.interpolation.coarse;
    const auto reached = [&](std::int32_t i) {
      std::set<std::int32_t> all;
      for (const std::int32_t k : by.of(i)) {
        if (first[k] >= 0) all.insert(k);
        for (const std::int32_t j : by.of(k))
          if (first[j] >= 0 && j != i) all.insert(j);
      }
      return all;
    };
    std::int32_t count = 0;
    bool is_fewer = false;
    for (std::int32_t i = 0; i < by.size(); ++i) {
      CHECK(first[i] == (first[i] >= 0 ? i : -1));
      if (first[i] < 0) CHECK(second[i] == -1);
      if (first[i] < 0) continue;
      int nearby = 0, mutual = 0;
      for (const std::int32_t j : reached(i)) {
        nearby += second[j] >= 0;
        mutual += second[j] >= 0 && reached(j).contains(i);
      }
      if (second[i] >= 0) {
        CHECK(second[i] == count++);
        CHECK(mutual == 0);
      } else {
        CHECK(nearby > 0);
        is_fewer = true;
      }
    }
    CHECK(is_fewer);
    CHECK(fine.coarse_rows == count);
  }
}

TEMPLATE_TEST_CASE("aggressive amg: weights are those of extended+i interpolation in two stages", "[linear][amg]",
                   float, double) {
  constexpr double of_weights = 1000;  // as without stages: see amg_classical_test.cpp
  constexpr double of_sums = 16;       // of a few positive numbers
  for (const auto& [name, A, symmetric] : matrices_to_split())
    for (const int entries : {0, 2, 4}) {
      INFO(name << ", " << entries << " entries");
      whilst::amg_options options = classical(entries);
      options.aggressive_levels = 1;
      const classical_levels<TestType> made(A, symmetric, options);
      const level<TestType>& fine = made.levels.levels().front();
      REQUIRE(fine.coarse_rows > 0);
      const auto& stages = fine.stages;
      const auto &one = stages.first, &two = fine.interpolation;
      const article to_first(fine, 0.25, one.coarse), to_second(fine, 0.25, two.coarse);
      const auto W1 = rows_of(one.W, one.W_values), W2 = rows_of(two.W, two.W_values),
                 P1 = rows_of(stages.P1, stages.P1_values), P2 = rows_of(stages.P2, stages.P2_values),
                 product = rows_of(stages.product, stages.product_values), P = rows_of(fine.P, fine.P_values);
      for (std::int32_t i = 0; i < to_first.size(); ++i) {
        INFO("row " << i);
        const auto at = static_cast<std::size_t>(i), most = static_cast<std::size_t>(entries);
        check_row<TestType>(W1[at], to_first.weights(i), of_weights);
        check_row<TestType>(W2[at], one.coarse[i] >= 0 ? to_second.weights(i) : entries_of_row(), of_weights);
        check_row<TestType>(P1[at], kept<TestType>(W1[at], most), of_sums);
        check_row<TestType>(P2[at], kept<TestType>(W2[at], most), of_sums);
        entries_of_row sums;
        for (const auto& [k, w] : P1[at])
          for (const auto& [j, v] : P2[static_cast<std::size_t>(k)]) sums[j] += w * v;
        check_row<TestType>(product[at], sums, of_sums);
        check_row<TestType>(P[at], kept<TestType>(product[at], most), of_sums);
      }
    }
}

TEST_CASE("aggressive amg: a level whose rows add up to zero keeps the constant on all levels", "[linear][amg]") {
  for (const std::string coarsening : {"aggregation", "classical"}) {
    INFO(coarsening);
    const hierarchy_there<double> made(place::host(), whilst::make_gallery<double>("neumann2d:60").matrix, true,
                                       {.coarsening = coarsening, .aggressive_levels = 2, .coarsest_rows = 1});
    REQUIRE(made.levels.levels().size() >= 3);
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
}

TEST_CASE("aggressive amg: less to read, and more iterations but for a bound", "[linear][amg]") {
  const auto complexity = [](const std::string& choice) {
    const std::string before = "operator complexity ";
    return std::stod(choice.substr(choice.find(before) + before.size()));
  };
  for (const std::string& executor : executors_with_steps())
    for (const std::string coarsening : {"aggregation", "classical"})
      for (const std::string problem : {"poisson3d:20", "anisotropic2d:100", "upwind"}) {
        const csr_matrix<double> A =
            problem == "upwind" ? upwind(64, 20) : whilst::make_gallery<double>(problem).matrix;
        const std::vector<double> b = random_vector<double>(A.rows(), 4);
        index_type usual = 0;
        double complexity_before = 0;
        for (int levels = 0; levels <= 2; ++levels) {
          INFO(executor << ", " << problem << ", " << coarsening << ", aggressive on " << levels);
          linear_solver<double> solver(A, {.method = problem == "upwind" ? "bicgstab" : "cg",
                                           .preconditioner = "amg,coarsest_rows=60,coarsening=" + coarsening +
                                                             ",aggressive_levels=" + std::to_string(levels),
                                           .rtol = 1e-8,
                                           .executor = executor});
          const auto made = solved_by(solver, b);
          CHECK(made.told.converged());
          CHECK(true_residual(A, b, made.x) <= 1.01e-8);
          const std::string choice = made.told.preconditioner_choice();
          CHECK((choice.find("; aggressive on 1 level") != std::string::npos) == (levels == 1));
          if (levels == 0) usual = made.told.iterations();
          CHECK(made.told.iterations() <= (coarsening == "classical" ? 4 : 6) * usual);
          if (levels > 0) CHECK(complexity(choice) < complexity_before);
          complexity_before = complexity(choice);
        }
      }
}

TEST_CASE("aggressive amg, once each", "[linear][amg][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix, B = upwind(16, 5);
  for (const std::string& executor : executors_with_steps())
    for (const std::string settings :
         {"", ",precision=double", ",cycle=W,smoother=chebyshev,sweeps=2", ",coarsening=classical",
          ",coarsening=classical,interpolation_entries=0", ",coarsening=classical,strength=0", ",unknowns_a_node=2"}) {
      INFO(executor << settings);
      const std::string all = "amg,aggressive_levels=2,coarsest_rows=20" + settings;
      CHECK(iterations_of(A, {.preconditioner = all, .rtol = 1e-8, .executor = executor}) <= 60);
      CHECK(iterations_of(B, {.method = "bicgstab", .preconditioner = all, .rtol = 1e-8, .executor = executor}) <= 60);
    }
}

TEST_CASE("aggressive amg: numbers of levels that there are not", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  for (const std::string levels : {"-1", "101"}) {
    std::string refusal = "no exception";
    try {
      linear_solver<double>(A, {.preconditioner = "amg,aggressive_levels=" + levels, .executor = "host"});
    } catch (const whilst::error& problem) {
      refusal = problem.what();
    }
    CHECK(refusal ==
          "making a linear solver: setting aggressive_levels is " + levels + " of preconditioner amg. Use 0 to 100");
  }
  // More than there are count as those that there are.
  linear_solver<double> solver(A, {.preconditioner = "amg,aggressive_levels=100,coarsest_rows=60", .executor = "host"});
  const std::string choice = solved_by(solver, random_vector<double>(A.rows(), 1)).told.preconditioner_choice();
  CHECK(choice.find("; aggressive on 1 level") != std::string::npos);
}

}  // namespace whilst_test
