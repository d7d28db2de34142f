// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// Multigrid's cycles and smoothers, against textbook cycles with dense matrices in extended precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include "solvers/linear/multigrid/cycles/cycle.hpp"
#include "solvers/linear/multigrid/cycles/deeper_cycle.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/hierarchy_there.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {
namespace {

using whilst::amg_options;
using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::place;
using whilst::multigrid::cycle_kind;
using whilst::multigrid::cycle_plan;
using whilst::multigrid::hierarchy;
using whilst::multigrid::level;
using whilst::multigrid::node_matrix;
using whilst::multigrid::pattern_view;
using whilst::multigrid::smoother_kind;

using real = long double;
using dense = Eigen::Matrix<real, Eigen::Dynamic, Eigen::Dynamic>;
using column = Eigen::Matrix<real, Eigen::Dynamic, 1>;

template <class C>
dense dense_of(const pattern_view& pattern, const C* values) {
  dense all = dense::Zero(pattern.rows, pattern.columns);
  for (index_type i = 0; i < pattern.rows; ++i)
    for (std::int32_t e = pattern.offsets[i]; e < pattern.offsets[i + 1]; ++e)
      all(i, pattern.indices[e]) += static_cast<real>(values[e]);
  return all;
}
dense dense_of(const node_matrix<double>& A) {
  dense all = dense::Zero(A.nodes.rows * A.down, A.nodes.columns * A.across);
  for (index_type i = 0; i < A.nodes.rows; ++i)
    for (std::int32_t e = A.nodes.offsets[i]; e < A.nodes.offsets[i + 1]; ++e)
      for (int r = 0; r < A.down; ++r)
        for (int c = 0; c < A.across; ++c)
          all(i * A.down + r, A.nodes.indices[e] * A.across + c) += static_cast<real>(A.row(i, e, r)[c]);
  return all;
}

/// The levels of a hierarchy on the host as dense matrices.
struct dense_level {
  dense A, M, P, R;
  dense Q, W;  ///< where the cycle's leave out small entries
  std::vector<std::int32_t> nodes_by_colour = {};
  int block = 1;
};
template <class C>
std::vector<dense_level> dense_levels(const hierarchy<C>& of, bool is_system) {
  std::vector<dense_level> all;
  for (const level<C>& here : of.levels()) {
    const bool is_last = &here == &of.levels().back();
    const index_type n = here.unknowns();
    dense_level made;
    made.block = here.block;
    if (here.colours.count() > 0) made.nodes_by_colour.assign(here.colours.rows, here.colours.rows + n / here.block);
    made.A = is_system ? dense_of(here.nodes_of_A()) : dense_of(here.A, here.A_values);
    made.M = dense::Zero(n, n);
    const int b = here.block;
    if (!is_last || !of.has_inverse())
      for (index_type i = 0; i < n; ++i)
        for (int k = 0; k < b; ++k)
          made.M(i, i / b * b + k) =
              is_system ? static_cast<real>(here.in_double.M[i * b + k]) : static_cast<real>(here.M[i]);
    if (!is_last) {
      made.P = is_system ? dense_of(here.nodes_of_P()) : dense_of(here.P, here.P_values);
      made.R = is_system ? dense(made.P.transpose()) : dense(dense_of(here.P, here.RT_values).transpose());
      if (here.Q.nonzeros < here.AP.nonzeros || here.WT.nonzeros < here.AP.nonzeros) {
        made.Q = dense_of(here.up.pattern, here.up_values).rightCols(here.coarse_rows);
        made.W = dense_of(here.W.view, here.W_values);
      }
    }
    all.push_back(made);
  }
  return all;
}

/// What a cycle multiplies by, most of which is zeros.
struct products_of_level {
  explicit products_of_level(const dense_level& of)
      : A(of.A.sparseView()), M(of.M.sparseView()), P(of.P.sparseView()), R(of.R.sparseView()) {}
  Eigen::SparseMatrix<real, Eigen::RowMajor> A, M, P, R;
};

/// A multigrid cycle as textbooks have it.
struct textbook_cycle {
  const std::vector<dense_level>& levels;
  const cycle_plan& plan;
  bool has_inverse, symmetric;
  std::size_t revisited = 0;  ///< of a V-cycle
  const std::vector<products_of_level> products{levels.begin(), levels.end()};

  column visit(std::size_t k, cycle_kind kind, const column& b) const {
    const dense_level& here = levels[k];
    const auto& [A, M, P, R] = products[k];
    const bool is_last = k + 1 == levels.size();
    if (is_last && has_inverse) return here.A.fullPivLu().solve(b);
    const bool by_nodes = plan.smoother == smoother_kind::gauss_seidel;  // around what is next to the coarse correction
    std::vector<double> weights = by_nodes ? std::vector<double>() : plan.outer_weights;
    const std::size_t sweeps = by_nodes ? plan.outer_weights.size() : 0;
    std::vector<std::int32_t> nodes = here.nodes_by_colour;
    const bool leaves_out = here.Q.size() > 0;
    if (!leaves_out) weights.push_back(1);
    column x = column::Zero(b.size());
    const auto smooth = [&](double weight) { x += real(weight) * (products[k].M * (b - products[k].A * x)); };
    // A vector that is left out on an aggregate leaves zeros in a block, and in its pseudoinverse.
    const auto relax_all_nodes = [&] {
      const index_type size = here.block;
      for (const std::int32_t i : nodes) {
        const dense D = here.A.block(i * size, i * size, size, size);
        const column rest = b.segment(i * size, size) - products[k].A.middleRows(i * size, size) * x;
        x.segment(i * size, size) += D.completeOrthogonalDecomposition().pseudoInverse() * rest;
      }
    };
    for (std::size_t j = 0; j < sweeps; ++j) relax_all_nodes();
    for (const double weight : weights) smooth(weight);
    if (leaves_out) {
      const column t = b - A * x, Mt = M * t;
      x += 2 * Mt - M * (A * Mt) + here.Q * solve(k + 1, kind, here.W * t);
    } else if (!is_last) {
      x += P * solve(k + 1, kind, R * (b - A * x));
    }
    std::reverse(weights.begin(), weights.end());
    for (const double weight : weights) smooth(weight);
    std::reverse(nodes.begin(), nodes.end());
    for (std::size_t j = 0; j < sweeps; ++j) relax_all_nodes();
    return x;
  }
  column solve(std::size_t k, cycle_kind kind, const column& b) const {
    const auto& A = products[k].A;
    if (k == revisited) {  // 2 B - B A B, entry by entry
      dense B(b.size(), b.size());
      for (Eigen::Index j = 0; j < b.size(); ++j) B.col(j) = visit(k, kind, column::Unit(b.size(), j));
      return (2 * B - B * levels[k].A * B) * b;
    }
    if (kind == cycle_kind::V || k > 4 || (k + 1 == levels.size() && has_inverse)) return visit(k, cycle_kind::V, b);
    const column x = visit(k, kind, b);
    if (kind == cycle_kind::W) return x + visit(k, cycle_kind::W, b - A * x);
    if (kind == cycle_kind::F) return x + visit(k, cycle_kind::V, b - A * x);
    // K: the best there is in the space of two directions, the second of which comes from what the first leaves.
    const column Ax = A * x;
    const real alpha = symmetric ? x.dot(b) / x.dot(Ax) : Ax.dot(b) / Ax.dot(Ax);
    dense both(b.size(), 2);
    both << x, visit(k, cycle_kind::K, b - alpha * Ax);
    const dense tests = symmetric ? both : dense(A * both);
    return both * (tests.transpose() * (A * both)).fullPivLu().solve(tests.transpose() * b);
  }
};

/// Applies the hierarchy's cycle to b by a program.
template <class C>
std::vector<double> applied(const way& w, const hierarchy<C>& levels, const std::vector<double>& b,
                            bool by_the_general_one = false) {
  const auto n = static_cast<index_type>(b.size());
  const buffer<double> r(w.where, n, b.data()), z(w.where, n);
  const double half = 0.5;
  const buffer<double> factor(w.where, 1, &half);
  whilst::program_recorder record(w.where);
  whilst::multigrid::cycle_vectors<C> plain;
  whilst::multigrid::deeper_cycle_vectors<C> deeper;
  const bool is_plain = levels.plan().is_plain() && !by_the_general_one;
  record.arena([&](whilst::arena_layout& memory) {
    if (is_plain) {
      plain.take_memory(levels, std::is_same_v<C, double>, memory);
    } else {
      deeper.take_memory(levels, memory);
    }
  });
  if (is_plain) {
    whilst::multigrid::record_cycle(record, levels, plain, r.data(), z.data(), factor.data());
  } else {
    whilst::multigrid::record_deeper_cycle(record, levels, deeper, r.data(), z.data(), factor.data());
  }
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  const std::vector<double> first = values(z);
  run(program);
  CHECK(values(z) == first);
  return first;
}

struct problem {
  std::string name;
  csr_matrix<double> A;
  bool symmetric;
  amg_options options;
  bool is_system() const { return options.unknowns_a_node > 1 || !options.near_null_space.empty(); }
};
std::vector<problem> problems() {
  std::vector<problem> all;
  const csr_matrix<double> line = whilst::make_gallery<double>("poisson1d:90").matrix,
                           square = whilst::make_gallery<double>("poisson2d:12").matrix;
  amg_options options{.coarsest_rows = 2};
  all.push_back({"a line", line, true, options});
  options.coarsest_rows = 1;
  options.most_levels = 3;
  all.push_back({"a line whose coarsest level only smooths", line, true, options});
  options = {.coarsest_rows = 2};
  triplets<double> flow(90);
  for (int i = 0; i < 90; ++i) {
    std::vector<std::pair<int, double>> row;
    if (i > 0) row.emplace_back(i - 1, -1.2);
    row.emplace_back(i, 2.2);
    if (i < 89) row.emplace_back(i + 1, -1);
    flow.row(row);
  }
  all.push_back({"a flow along a line", flow.matrix(), false, options});
  options.coarsest_rows = 5;
  options.near_null_space.assign(static_cast<std::size_t>(square.rows()), 1.0);
  all.push_back({"a square by nodes of one unknown", square, true, options});
  const auto beam = whilst::make_gallery<double>("elasticity2d:4");
  options = {.coarsest_rows = 8, .unknowns_a_node = 2, .coordinates = beam.coordinates};
  all.push_back({"a beam", beam.matrix, true, options});
  all.push_back({"a beam, for a method for any matrix", beam.matrix, false, options});
  options.most_levels = 2;
  all.push_back({"a beam whose coarsest level only smooths", beam.matrix, true, options});
  options.most_levels = amg_options().most_levels;
  options.aggressive_levels = 1;
  all.push_back({"a beam of large aggregates", beam.matrix, true, options});
  all.push_back({"a line of large aggregates", line, true, {.aggressive_levels = 1, .coarsest_rows = 2}});
  all.push_back({"a line of few of its unknowns",
                 line,
                 true,
                 {.coarsening = "classical", .aggressive_levels = 1, .coarsest_rows = 2}});
  return all;
}

/// The largest difference, as a share of the largest entry.
double difference(const std::vector<double>& found, const column& expected) {
  real most = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    most = std::max(most, std::abs(real(found[i]) - expected[static_cast<Eigen::Index>(i)]));
  return static_cast<double>(most / expected.cwiseAbs().maxCoeff());
}

/// What a cycle rounds by, in epsilons: some of ||M|| ||A|| in each of some dozen products, and on the coarsest level
/// of its condition, which is below 1e3 here.
constexpr double rounding = 2000;

template <class C>
void check_cycles(const problem& given) {
  for (const std::string cycle : {"V", "W", "F", "K"})
    for (const std::string smoother : {"spai0", "l1_jacobi", "chebyshev", "chebyshev_first", "gauss_seidel"})
      for (const int sweeps : {1, 2, 3}) {
        // The test below has each of the problems in float with three sweeps of a K-cycle.
        const bool is_short = std::is_same_v<C, float> ? sweeps == 1 && (cycle == "V" || cycle == "K") : sweeps == 2;
        if (under_sanitizers && !is_short) continue;
        CAPTURE(given.name, cycle, smoother, sweeps);
        amg_options options = given.options;
        options.cycle = cycle;
        options.smoother = smoother;
        options.sweeps = sweeps;
        const hierarchy_there<C> here(place::host(), given.A, given.symmetric, options);
        const hierarchy<C>& levels = here.levels;
        const auto dense_ones = dense_levels(levels, given.is_system());
        if (given.symmetric) REQUIRE(dense_ones.front().Q.size() == 0);  // so that P and R are what is tested
        const textbook_cycle reference{dense_ones, levels.plan(), levels.has_inverse(), given.symmetric};
        const std::vector<double> b = random_vector<double>(given.A.rows(), 5);
        const column expected =
            0.5L * reference.visit(0, levels.plan().cycle,
                                   Eigen::Map<const Eigen::VectorXd>(b.data(), given.A.rows()).cast<real>());
        for (const way& w : ways()) {
          CAPTURE(w.name);
          const auto check = [&](const hierarchy<C>& of) {
            CHECK(difference(applied(w, of, b), expected) <=
                  rounding * static_cast<double>(std::numeric_limits<C>::epsilon()));
          };
          if (w.how == whilst::executor::host) {
            check(levels);
          } else {
            check(hierarchy_there<C>(w.where, given.A, given.symmetric, options).levels);
          }
        }
      }
}

template <class C>
void check_revisited(const problem& given, int sweeps, int revisited) {
  amg_options options = given.options;
  options.sweeps = sweeps;
  const hierarchy_there<C> once(place::host(), given.A, given.symmetric, options);
  options.revisited_level = revisited;
  const hierarchy_there<C> here(place::host(), given.A, given.symmetric, options);
  const hierarchy<C>& levels = here.levels;
  const std::size_t last = levels.levels().size() - 1, wanted = static_cast<std::size_t>(revisited);
  const bool is_there = wanted < last || (wanted == last && !levels.has_inverse());
  CHECK(levels.plan().revisited == (is_there ? wanted : 0));
  const std::vector<double> b = random_vector<double>(given.A.rows(), 5);
  const std::vector<double> by_one_visit = applied(ways().front(), once.levels, b);
  if (!is_there) {
    CHECK(applied(ways().front(), levels, b) == by_one_visit);
    return;
  }
  const auto dense_ones = dense_levels(levels, given.is_system());
  const textbook_cycle reference{dense_ones, levels.plan(), levels.has_inverse(), given.symmetric, wanted};
  const column expected =
      0.5L *
      reference.visit(0, cycle_kind::V, Eigen::Map<const Eigen::VectorXd>(b.data(), given.A.rows()).cast<real>());
  const double rounded = rounding * static_cast<double>(std::numeric_limits<C>::epsilon());
  CHECK(difference(by_one_visit, expected) > rounded);
  for (const way& w : ways()) {
    CAPTURE(w.name);
    const hierarchy_there<C> there(w.where, given.A, given.symmetric, options);
    CHECK(difference(applied(w, there.levels, b), expected) <= rounded);
  }
}

}  // namespace

TEST_CASE("amg's cycles are those of textbooks", "[linear][amg]") {
  for (const problem& given : problems()) {
    check_cycles<double>(given);
    check_cycles<float>(given);
  }
}
TEST_CASE("amg: a level that is visited twice does what 2 B - B A B does", "[linear][amg][sanitizer]") {
  for (const problem& given : problems())
    for (const int sweeps : {1, 2})
      for (int revisited = 1; revisited <= 4; ++revisited) {
        CAPTURE(given.name, sweeps, revisited);
        check_revisited<double>(given, sweeps, revisited);
        check_revisited<float>(given, sweeps, revisited);
      }
}
TEST_CASE("amg: a level of a large matrix is visited twice", "[linear][amg]") {
  const auto chosen = [](const std::vector<index_type>& rows, const amg_options& options = {}) {
    cycle_plan plan = whilst::multigrid::make_cycle_plan("testing", options);
    for (std::size_t k = 0; k < rows.size(); ++k) plan.choose_revisited(k, rows[k], rows.front());
    for (std::size_t k = 0; k < rows.size(); ++k) CHECK(plan.uses_A_on(k) == plan.visits_twice(k));
    return plan.revisited;
  };
  CHECK(chosen({10'000'000, 1'500'000, 77'000, 6100}) == 2);
  CHECK(chosen({9'999'999, 1'500'000, 77'000, 6100}) == 0);
  CHECK(chosen({10'000'000, 100'000, 20'000, 6100}) == 2);              // never the one below the finest
  CHECK(chosen({10'000'000, 3'000'000, 200'001, 200'000, 6100}) == 3);  // at most a fiftieth
  CHECK(chosen({10'000'000, 3'000'000, 300'000}) == 0);
  CHECK(chosen({10'000'000, 1'500'000, 77'000, 6100}, {.revisited_level = 0}) == 0);
  CHECK(chosen({10'000'000, 1'500'000, 77'000, 6100}, {.revisited_level = 3}) == 3);
  CHECK(chosen({100, 50, 10}, {.revisited_level = 1}) == 1);
  CHECK(chosen({100, 50, 10}, {.revisited_level = 3}) == 0);
  cycle_plan W = whilst::multigrid::make_cycle_plan("testing", {.cycle = "W"});
  for (std::size_t k = 0; k < 3; ++k) W.choose_revisited(k, k == 0 ? 100'000'000 : 1000, 100'000'000);
  CHECK(W.revisited == 0);
  // Of a method for any matrix none is by itself.
  const csr_matrix<double> line = whilst::make_gallery<double>("poisson1d:90").matrix;
  for (const bool symmetric : {true, false}) {
    const hierarchy_there<double> here(place::host(), line, symmetric, {.coarsest_rows = 2});
    CHECK(here.levels.plan().to_revisit == (symmetric ? -1 : 0));
  }
}
TEST_CASE("amg's cycles with all that is special, once each", "[linear][amg][sanitizer]") {
  for (const problem& given : problems()) {
    amg_options options = given.options;
    options.cycle = "K";
    options.smoother = "chebyshev";
    options.sweeps = 3;
    for (const way& w : ways()) {
      CAPTURE(given.name, w.name);
      const hierarchy_there<float> there(w.where, given.A, given.symmetric, options);
      for (const double z : applied(w, there.levels, random_vector<double>(given.A.rows(), 5))) CHECK(std::isfinite(z));
    }
  }
}

TEST_CASE("amg: the default cycle has the bits of the general one", "[linear][amg]") {
  for (const problem& given : problems())
    for (const way& w : ways()) {
      CAPTURE(given.name, w.name);
      const std::vector<double> b = random_vector<double>(given.A.rows(), 5);
      const hierarchy_there<double> there(w.where, given.A, given.symmetric, given.options);
      CHECK(applied(w, there.levels, b) == applied(w, there.levels, b, true));
      const hierarchy_there<float> in_float(w.where, given.A, given.symmetric, given.options);
      CHECK(applied(w, in_float.levels, b) == applied(w, in_float.levels, b, true));
      amg_options options = given.options;
      options.revisited_level = 1;
      const hierarchy_there<float> twice(w.where, given.A, given.symmetric, options);
      CHECK(applied(w, twice.levels, b) == applied(w, twice.levels, b, true));
    }
}

TEST_CASE("amg: V- and W-cycles of a symmetric matrix are symmetric and definite", "[linear][amg]") {
  for (const problem& given : problems()) {
    if (!given.symmetric) continue;
    for (const std::string cycle : {"V", "W", "F"})
      for (const std::string smoother : {"spai0", "l1_jacobi", "chebyshev", "chebyshev_first", "gauss_seidel"})
        for (const int sweeps : {1, 4}) {
          CAPTURE(given.name, cycle, smoother, sweeps);
          amg_options options = given.options;
          options.cycle = cycle;
          options.smoother = smoother;
          options.sweeps = sweeps;
          const hierarchy_there<double> here(place::host(), given.A, true, options);
          const auto M = [&](const std::vector<double>& x) {
            return to_eigen(applied(ways().front(), here.levels, x));
          };
          const std::vector<double> x = random_vector<double>(given.A.rows(), 1),
                                    y = random_vector<double>(given.A.rows(), 2);
          const Eigen::VectorXd Mx = M(x), My = M(y);
          const double asymmetry = std::abs(to_eigen(x).dot(My) - to_eigen(y).dot(Mx)),
                       size = to_eigen(x).norm() * My.norm();
          const double rounded = rounding * std::numeric_limits<double>::epsilon() * size;
          // An F-cycle is not, but where there are no levels to visit twice.
          if (cycle != "F") CHECK(asymmetry <= rounded);
          if (cycle == "F" && given.name == "a line") CHECK(asymmetry > rounded);
          CHECK(to_eigen(x).dot(Mx) > 0);
          CHECK(to_eigen(y).dot(My) > 0);
        }
  }
}

TEST_CASE("amg: cycles by colours are symmetric with rounded matrices, too", "[linear][amg][sanitizer]") {
  for (const problem& given : problems()) {
    if (!given.symmetric) continue;
    amg_options options = given.options;
    options.smoother = "gauss_seidel";
    options.precision = "bfloat16";
    for (const way& w : ways()) {
      CAPTURE(given.name, w.name);
      const hierarchy_there<double> there(w.where, given.A, true, options);
      const std::vector<double> x = random_vector<double>(given.A.rows(), 1),
                                y = random_vector<double>(given.A.rows(), 2);
      const Eigen::VectorXd Mx = to_eigen(applied(w, there.levels, x)), My = to_eigen(applied(w, there.levels, y));
      CHECK(std::abs(to_eigen(x).dot(My) - to_eigen(y).dot(Mx)) <=
            rounding * std::numeric_limits<double>::epsilon() * to_eigen(x).norm() * My.norm());
      CHECK(to_eigen(x).dot(Mx) > 0);
    }
  }
}

TEST_CASE("amg: the fourth kind's polynomial is the one with the least bound for V-cycles", "[linear][amg]") {
  // Of degree 2 and 3, the optimal weights of Lottes's table: x += beta_i z_i, where z_i is that of the fourth kind.
  const std::vector<std::vector<double>> weights{
      {1.125}, {1.02387287570313, 1.26408905371085}, {1.00842544782028, 1.08867839208730, 1.33753125909618}};
  for (int degree = 1; degree <= 8; ++degree) {
    CAPTURE(degree);
    const std::vector<double> zeros = whilst::multigrid::zeros_of_fourth_kind(degree);
    REQUIRE(zeros.size() == static_cast<std::size_t>(degree));
    const auto p = [&](double x) {
      double product = 1;
      for (const double zero : zeros) product *= 1 - x / zero;
      return product;
    };
    double slope = 0;
    for (const double zero : zeros) slope += 1 / zero;
    // x p^2 / (1 - p^2) is c at 0, and alternates degree times between c and 0 on (0, 1]: its last value is c again.
    const double c = 1 / (2 * slope);
    int peaks = 0;
    double before = c, rising = 0;
    for (int k = 1; k <= 4000; ++k) {
      const double x = k / 4000.0, now = x * p(x) * p(x) / (1 - p(x) * p(x));
      CHECK(now <= c * (1 + 1e-9));
      if (now < before && rising && before > 0.999 * c) ++peaks;
      rising = now > before;
      before = now;
    }
    CHECK(peaks == degree - 1);
    CHECK(std::abs(before - c) <= 1e-9 * c);
    if (static_cast<std::size_t>(degree) > weights.size()) continue;
    for (const double x : {0.1, 0.3, 0.7, 1.0}) {
      double z = 0, r = 1, answer = 0;
      for (int i = 1; i <= degree; ++i) {
        z = (2.0 * i - 3) / (2.0 * i + 1) * z + (8.0 * i - 4) / (2.0 * i + 1) * r;
        answer += weights[static_cast<std::size_t>(degree - 1)][static_cast<std::size_t>(i - 1)] * z;
        r -= x * z;
      }
      CHECK(std::abs(1 - x * answer - p(x)) <= 1e-12);
    }
  }
}
TEST_CASE("amg: the first kind's polynomial is smallest on its interval", "[linear][amg]") {
  for (int degree = 1; degree <= 8; ++degree) {
    CAPTURE(degree);
    const double least = whilst::multigrid::least_share_smoothed;
    const std::vector<double> zeros = whilst::multigrid::zeros_of_first_kind(degree, least);
    // T(mu(x)) / T(mu(0)), mu from [least, 1] to [-1, 1].
    const auto T = [&](double t) {
      return std::abs(t) <= 1 ? std::cos(degree * std::acos(t))
                              : (t < 0 && degree % 2 ? -1 : 1) * std::cosh(degree * std::acosh(std::abs(t)));
    };
    const auto mu = [&](double x) { return (2 * x - 1 - least) / (1 - least); };
    for (const double x : {0.0, 0.05, 0.1, 0.4, 0.77, 1.0}) {
      double product = 1;
      for (const double zero : zeros) product *= 1 - x / zero;
      CHECK(std::abs(product - T(mu(x)) / T(mu(0))) <= 1e-12);
    }
  }
}

TEST_CASE("amg: smoothers' values, and what bounds they are made for", "[linear][amg]") {
  for (const problem& given : problems()) {
    CAPTURE(given.name);
    const auto levels_by = [&](const std::string& smoother, int sweeps) {
      amg_options options = given.options;
      options.smoother = smoother;
      options.sweeps = sweeps;
      const hierarchy_there<double> here(place::host(), given.A, given.symmetric, options);
      return dense_levels(here.levels, given.is_system());
    };
    // Of M A, which for symmetric ones, M definite, are those of A M. Eigenvalues of any matrix take 20 times as long.
    const auto largest = [](const dense_level& here) {
      const Eigen::MatrixXd M = here.M.cast<double>(), A = here.A.cast<double>();
      REQUIRE((M - M.transpose()).norm() <= 1e-14 * M.norm());
      const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> found(A, M,
                                                                            Eigen::EigenvaluesOnly | Eigen::ABx_lx);
      return found.eigenvalues().cwiseAbs().maxCoeff();
    };
    const auto plain = levels_by("spai0", 1), by_l1 = levels_by("l1_jacobi", 1), weighted = levels_by("chebyshev", 3);
    const double weight = 1 / whilst::multigrid::zeros_of_fourth_kind(3).front();
    for (std::size_t k = 0; k + 1 < plain.size(); ++k) {
      const int b = given.options.unknowns_a_node == 2 ? k == 0 ? 2 : 3 : 1;
      const dense& A = by_l1[k].A;
      dense expected = dense::Zero(A.rows(), A.cols());
      for (Eigen::Index first = 0; first < A.rows(); first += b) {
        dense block = A.block(first, first, b, b);
        for (int r = 0; r < b; ++r)
          block(r, r) += A.row(first + r).cwiseAbs().sum() - A.row(first + r).segment(first, b).cwiseAbs().sum();
        expected.block(first, first, b, b) = block.inverse();
      }
      CHECK((by_l1[k].M - expected).cwiseAbs().maxCoeff() <= 1e-12L * expected.cwiseAbs().maxCoeff());
      if (given.symmetric) CHECK(largest(by_l1[k]) <= 1 + 1e-12);
      // M of spai0 times weight / l, for an l that is a tenth above what an iteration finds, or a known bound.
      const real ratio = weighted[k].M(0, 0) / plain[k].M(0, 0);
      CHECK((weighted[k].M - ratio * plain[k].M).cwiseAbs().maxCoeff() <= 1e-12L * weighted[k].M.cwiseAbs().maxCoeff());
      if (!given.symmetric) {
        const double bound = given.is_system() ? 3 : 1.9;
        CHECK(static_cast<double>(ratio) == Approx(weight / bound).epsilon(1e-12));
        continue;
      }
      const double of_weighted = largest(weighted[k]);
      CHECK(of_weighted <= 1.02 * weight);
      CHECK(of_weighted >= 0.85 * weight);
    }
  }
}

}  // namespace whilst_test
