// Preconditioner multigrid: how fast, on which grids, with new values, and what is refused.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/grid_matrices.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

template <class T>
struct solved_on_grid {
  std::vector<T> x;
  report told;
};
template <class T>
solved_on_grid<T> solve_on_grid(linear_solver<T>& solver, const std::vector<T>& b) {
  std::vector<T> x(b.size(), T(0));
  const report told = solver.solve(b, x);
  return {std::move(x), told};
}
template <class T>
solved_on_grid<T> solve_on_grid(const csr_matrix<T>& A, const linear_solver_options& options, const std::vector<T>& b) {
  linear_solver<T> solver(A, options);
  return solve_on_grid(solver, b);
}
std::string words(const extents& points) {
  return std::to_string(points[0]) + " x " + std::to_string(points[1]) + " x " + std::to_string(points[2]);
}

}  // namespace

TEMPLATE_TEST_CASE("multigrid: few iterations on grids of any size", "[linear][multigrid]", float, double) {
  using T = TestType;
  const double asked = sizeof(T) == 4 ? 1e-4 : 1e-8;
  std::vector<extents> grids{{200, 1, 1}, {100, 37, 1}, {255, 16, 1}, {64, 16, 9}, {10, 30, 50}, {2, 3, 40}, {1, 8, 1}};
  for (const int n : {7, 8, 15, 16, 33, 100, 255}) grids.push_back({n, n, 1});
  for (const int n : {7, 8, 15, 16, 33}) grids.push_back({n, n, n});
  for (const std::string& executor : executors_with_steps())
    for (const extents& points : grids) {
      if (under_sanitizers && points[0] * points[1] * points[2] > 5000) continue;
      const csr_matrix<T> A = grid_matrix<T>(points);
      const std::vector<T> b = random_vector<T>(A.rows(), 5);
      linear_solver<T> solver(A, {.preconditioner = "multigrid,coarsest_rows=8", .rtol = asked, .executor = executor});
      const auto once = solve_on_grid(solver, b);
      INFO(executor << ", " << words(points) << ": " << name(once.told.reason()));
      CHECK(once.told.converged());
      CHECK(once.told.iterations() <= 10);
      CHECK(true_residual(A, b, once.x) <= 1.01 * asked);
      CHECK((solve_on_grid(solver, b).x == once.x));
      std::vector<T> warm = once.x;
      CHECK(solver.solve(b, warm).iterations() == 0);
    }
}

TEST_CASE("multigrid: links of different strength, and a shift", "[linear][multigrid]") {
  const std::vector<std::pair<extents, std::array<double, 4>>> cases{
      {{64, 70, 1}, {1, 0.01, 0, 0}},   {{64, 70, 1}, {0.001, 1, 0, 0}},   {{64, 70, 1}, {0.3, 1, 0, 0}},
      {{64, 70, 1}, {0.5, 1, 0, 0}},    {{20, 21, 23}, {1, 0.1, 0.01, 0}}, {{20, 21, 23}, {0.4, 1, 0.4, 0}},
      {{20, 21, 23}, {1, 1, 1, 0.01}},  {{20, 21, 23}, {1, 1, 1, 6}},      {{20, 21, 23}, {1, 1e-6, 1e-6, 1e-3}},
      {{64, 70, 1}, {1e-9, 1e9, 0, 0}},
  };
  for (const std::string& executor : executors_with_steps())
    for (const auto& [points, of] : cases) {
      const csr_matrix<double> A = grid_matrix<double>(points, {of[0], of[1], of[2]}, of[3]);
      const std::vector<double> b = random_vector<double>(A.rows(), 5);
      const auto found = solve_on_grid(A, {.preconditioner = "multigrid,coarsest_rows=8", .executor = executor}, b);
      INFO(executor << ", " << words(points) << ", " << of[0] << ", " << of[1] << ", " << of[2] << ", " << of[3]);
      CHECK(found.told.converged());
      CHECK(found.told.iterations() <= 10);
      CHECK(true_residual(A, b, found.x) <= 1.01e-8);
    }
}

TEST_CASE("multigrid: fewer iterations with more work, and what is told", "[linear][multigrid][sanitizer]") {
  const csr_matrix<double> A = grid_matrix<double>({13, 12, 11});
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const auto iterations = [&](const std::string& settings) {
      const auto found =
          solve_on_grid(A, {.preconditioner = "multigrid,coarsest_rows=30" + settings, .executor = executor}, b);
      CHECK(found.told.converged());
      CHECK(true_residual(A, b, found.x) <= 1.01e-8);
      CHECK(found.told.preconditioner_choice() == "multigrid, 3 grids of 13 x 12 x 11, 6 x 6 x 5, 3 x 3 x 2 points");
      return found.told.iterations();
    };
    const index_type by_one = iterations("");
    CHECK(iterations(",sweeps=2") < by_one);
    CHECK(iterations(",sweeps=8") <= 5);
    CHECK(iterations(",cycle=W") <= by_one);
    CHECK(iterations(",precision=double") <= by_one);
    const csr_matrix<double> small = grid_matrix<double>({7, 6, 5});
    linear_solver<double> alone(
        small, {.preconditioner = "multigrid", .multigrid = {.coarsest_rows = 210}, .executor = executor});
    const auto at_once = solve_on_grid(alone, random_vector<double>(small.rows(), 5));
    CHECK(at_once.told.preconditioner_choice() == "multigrid, 1 grid of 7 x 6 x 5 points");
    CHECK(at_once.told.iterations() <= 2);  // an inverse in float
    bool is_listed = false;
    for (const whilst::memory_item& item : alone.memory().items) is_listed |= item.name == "the grids of multigrid";
    CHECK(is_listed);
  }
}

TEST_CASE("multigrid: by hand", "[linear][multigrid]") {
  for (const std::string& executor : executors_with_steps()) {
    std::vector<double> x{0, 0, 0};
    linear_solver<double> line(grid_matrix<double>({3, 1, 1}),
                               {.preconditioner = "multigrid,coarsest_rows=1,precision=double", .executor = executor});
    const report told = line.solve({0, 4, 0}, x);  // one cycle is exact on a line: all points with odd numbers are red
    CHECK(told.iterations() == 1);
    for (const auto& [found, expected] : {std::pair(x[0], 2.0), std::pair(x[1], 4.0), std::pair(x[2], 2.0)})
      CHECK(std::fabs(found - expected) <= 16 * std::numeric_limits<double>::epsilon() * 4);
    std::vector<double> one{0}, none;
    linear_solver<double> point(grid_matrix<double>({1, 1, 1}), {.preconditioner = "multigrid", .executor = executor});
    CHECK(point.solve({3}, one).converged());
    CHECK(one[0] == 1.5);
    linear_solver<double> empty(triplets<double>(0).matrix(), {.preconditioner = "multigrid", .executor = executor});
    CHECK(empty.solve(none, none).converged());
  }
}

TEST_CASE("multigrid: every square method, and every format", "[linear][multigrid]") {
  const csr_matrix<double> A = grid_matrix<double>({17, 14, 1});
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    std::vector<linear_solver_options> all;
    for (const std::string& method : methods_on(executor)) all.push_back({.method = method});
    for (const char* format : {"sell", "ell", "balanced"}) all.push_back({.format = format});
    all.push_back({.method = "auto"});
    for (linear_solver_options options : all) {
      options.preconditioner = "multigrid,coarsest_rows=8";
      options.executor = executor;
      const auto found = solve_on_grid(A, options, b);
      INFO(options.method << ", " << executor << ", " << options.format << ": " << name(found.told.reason()));
      CHECK(found.told.converged());
      CHECK(found.told.iterations() <= 20);
      CHECK(true_residual(A, b, found.x) <= 1.01e-8);
    }
  }
}

TEMPLATE_TEST_CASE("multigrid: new values", "[linear][multigrid][sanitizer]", float, double) {
  using T = TestType;
  const extents points{12, 9, 7};
  const double asked = sizeof(T) == 4 ? 1e-4 : 1e-9;
  const csr_matrix<T> A = grid_matrix<T>(points), other = grid_matrix<T>(points, {300, 100, 200}, 50);
  const std::vector<T> b = random_vector<T>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<T> solver(A, {.preconditioner = "multigrid,coarsest_rows=8", .rtol = asked, .executor = executor});
    const auto first = solve_on_grid(solver, b);
    solver.update_values(other);
    const auto second = solve_on_grid(solver, b);
    CHECK(second.told.converged());
    CHECK(second.told.iterations() <= first.told.iterations() + 3);  // its axes are as the first values chose them
    CHECK(true_residual(other, b, second.x) <= 1.01 * asked);
    // What is no stencil is refused, and M remains that of the last values that were: solves are right.
    std::vector<T> odd(A.values().begin(), A.values().end());
    odd[5] *= 2;
    CHECK_THROWS_WITH(solver.update_values(odd), contains("1 rows of the matrix are not those of a stencil"));
    const csr_matrix<T> of_odd(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), odd);
    const auto third = solve_on_grid(solver, b);
    CHECK(third.told.converged());
    CHECK(true_residual(of_odd, b, third.x) <= 1.01 * asked);
    solver.update_values(A);
    CHECK((solve_on_grid(solver, b).x == first.x));
    const whilst::place where = executor == "host" ? whilst::place::host() : whilst::place::gpu(0);
    const whilst::buffer<T> values(where, A.nonzeros(), other.values().data());
    solver.bind_values(values.data());
    CHECK((solve_on_grid(solver, b).x == second.x));
  }
}

TEST_CASE("multigrid: matrices with 64-bit offsets, rows in any order, borrowed and in device memory",
          "[linear][multigrid]") {
  const csr_matrix<double> A = grid_matrix<double>({9, 8, 4});
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  std::vector<std::int32_t> offsets(A.row_offsets_32().begin(), A.row_offsets_32().end()),
      columns(A.column_indices().begin(), A.column_indices().end());
  std::vector<double> values(A.values().begin(), A.values().end());
  const std::vector<std::int64_t> wide(offsets.begin(), offsets.end());
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "multigrid,coarsest_rows=8", .executor = executor};
    const auto plain = solve_on_grid(A, options, b);
    CHECK((solve_on_grid(csr_matrix<double>(A.rows(), A.rows(), wide, columns, values), options, b).x == plain.x));
    CHECK((solve_on_grid(csr_matrix<double>::borrow(A.rows(), A.rows(), offsets, columns, values), options, b).x ==
           plain.x));
    auto other_columns = columns;
    auto other_values = values;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      std::reverse(other_columns.begin() + offsets[i], other_columns.begin() + offsets[i + 1]);
      std::reverse(other_values.begin() + offsets[i], other_values.begin() + offsets[i + 1]);
    }
    const auto reversed =
        solve_on_grid(csr_matrix<double>(A.rows(), A.rows(), offsets, other_columns, other_values), options, b);
    CHECK(reversed.told.iterations() == plain.told.iterations());
    if (executor == "host") continue;
    const whilst::place there = whilst::place::gpu(0);
    const whilst::buffer<std::int32_t> offsets_there(there, A.rows() + 1, offsets.data()),
        columns_there(there, A.nonzeros(), columns.data());
    const whilst::buffer<double> values_there(there, A.nonzeros(), values.data());
    CHECK((solve_on_grid(csr_matrix<double>::on_device(A.rows(), A.rows(), A.nonzeros(), offsets_there.data(),
                                                       columns_there.data(), values_there.data()),
                         options, b)
               .x == plain.x));
  }
}

TEST_CASE("multigrid: the same bits however a solve is run, and by two solvers at once", "[linear][multigrid]") {
  // So many points that the host shares steps among threads.
  const csr_matrix<double> A = grid_matrix<double>(under_sanitizers ? extents{45, 43, 3} : extents{90, 85, 6});
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  std::vector<double> on_gpu;
  for (const std::string& executor : executors_with_steps()) {
    const linear_solver_options options{.preconditioner = "multigrid", .rtol = 1e-10, .executor = executor};
    const auto once = solve_on_grid(A, options, b);
    for (const int number : {1, 3, 8}) {
      INFO(executor << ", " << number);
      linear_solver_options changed = options;
      changed.unroll = changed.threads = number;
      CHECK((solve_on_grid(A, changed, b).x == once.x));
    }
    solved_on_grid<double> beside;
    std::thread other([&] { beside = solve_on_grid(A, options, b); });
    CHECK((solve_on_grid(A, options, b).x == once.x));
    other.join();
    CHECK((beside.x == once.x));
    if (executor == "host") continue;
    if (on_gpu.empty()) on_gpu = once.x;
    CHECK((on_gpu == once.x));
  }
}

TEST_CASE("multigrid: b = 0, entries that are not finite, any scale", "[linear][multigrid]") {
  const csr_matrix<double> A = grid_matrix<double>({9, 8, 4});
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(A, {.preconditioner = "multigrid,coarsest_rows=8", .executor = executor});
    CHECK(solve_on_grid(solver, std::vector<double>(b.size(), 0)).told.iterations() == 0);
    std::vector<double> bad = b;
    bad[17] = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(solve_on_grid(solver, bad).told.converged());
    const auto plain = solve_on_grid(solver, b);
    for (const double scale : {0x1p-900, 0x1p900}) {
      const csr_matrix<double> scaled = grid_matrix<double>({9, 8, 4}, {scale, scale, scale});
      std::vector<double> large = b;
      for (double& entry : large) entry *= scale;
      CHECK((solve_on_grid(scaled, {.preconditioner = "multigrid,coarsest_rows=8", .executor = executor}, large).x ==
             plain.x));
    }
  }
}

TEST_CASE("multigrid: what is no stencil on a grid is refused", "[linear][multigrid]") {
  const auto refusal = [](const csr_matrix<double>& A) {
    try {
      linear_solver<double>(A, {.method = "gmres", .preconditioner = "multigrid", .executor = "host"});
    } catch (const whilst::error& problem) {
      return std::string(problem.what());
    }
    return std::string("none");
  };
  const auto changed = [](const csr_matrix<double>& A, const std::vector<std::pair<std::size_t, double>>& to) {
    std::vector<double> values(A.values().begin(), A.values().end());
    for (const auto& [k, value] : to) values[k] = value;
    return csr_matrix<double>(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values);
  };
  const auto gallery = [](const char* name) { return whilst::make_gallery<double>(name).matrix; };
  const csr_matrix<double> A = grid_matrix<double>({4, 3, 2});
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const std::string corner = "the columns of row 0 are not those of a corner", entries = "row 0 of the matrix has ",
                    values = "row 0 of the matrix does not have negative entries",
                    others = " rows of the matrix are not those of a stencil as row 0 has it, on a grid of ";
  CHECK(refusal(A) == "none");
  CHECK(refusal(gallery("neumann2d:5")).find(values) != std::string::npos);
  CHECK(refusal(gallery("helmholtz2d:9")).find(values) != std::string::npos);
  CHECK(refusal(gallery("elasticity2d:4")) != "none");
  CHECK(refusal(gallery("elasticity3d:2")).find(entries) != std::string::npos);
  CHECK(refusal(gallery("powerlaw:50")) != "none");
  CHECK(refusal(changed(A, {{0, 0}})).find(values) != std::string::npos);
  CHECK(refusal(changed(A, {{0, -6}})).find(values) != std::string::npos);
  // Entries may be wrong by 64 epsilon of the diagonal, in row 0 as in others.
  const double little = 16 * 6 * std::numeric_limits<double>::epsilon(), more = 16 * little;
  CHECK(refusal(changed(A, {{0, 6 - little}})) == "none");
  CHECK(refusal(changed(A, {{0, 6 - more}})).find(values) != std::string::npos);
  CHECK(refusal(changed(A, {{0, nan}})).find(values) != std::string::npos);
  CHECK(refusal(changed(A, {{0, infinite}})).find(values) != std::string::npos);
  CHECK(refusal(changed(A, {{1, 0}})).find(values) != std::string::npos);
  CHECK(refusal(changed(A, {{1, nan}})).find(values) != std::string::npos);
  CHECK(refusal(changed(A, {{9, nan}, {40, -2}})).find("2" + others + "4 x 3 x 2") != std::string::npos);
  triplets<double> diagonal(3), dense(4), periodic(9), crossed(4), twice(4), short_row(4), wide(9);
  for (int i = 0; i < 3; ++i) diagonal.row({{i, 2}});
  CHECK(refusal(diagonal.matrix()).find(entries + "1 entries") != std::string::npos);
  for (int i = 0; i < 4; ++i) dense.row({{0, -1}, {1, -1}, {2, -1}, {3, -1}});
  CHECK(refusal(dense.matrix()).find(corner) != std::string::npos);
  for (int i = 0; i < 9; ++i) {
    periodic.row({{i, 3}, {(i + 1) % 9, -1}, {(i + 8) % 9, -1}});
    // Neighbours across the end of a line: the columns of row 0 do not tell.
    std::vector<std::pair<int, double>> row{{i, 4}};
    for (const int way : {-3, -1, 1, 3})
      if (i + way >= 0 && i + way < 9) row.emplace_back(i + way, -1);
    wide.row(row);
  }
  CHECK(refusal(periodic.matrix()) != "none");
  CHECK(refusal(wide.matrix()).find("4" + others + "3 x 3 x 1") != std::string::npos);
  const auto four = [](triplets<double>& into, const std::vector<std::pair<int, double>>& second) {
    into.row({{0, 2}, {1, -1}});
    into.row(second);
    into.row({{1, -1}, {2, 2}, {3, -1}});
    into.row({{2, -1}, {3, 2}});
  };
  four(crossed, {{0, -1}, {1, 2}, {3, -1}});
  four(twice, {{0, -1}, {0, -1}, {1, 2}});
  four(short_row, {{1, 2}, {2, -1}});
  for (const auto* one : {&crossed, &twice, &short_row})
    CHECK(refusal(one->matrix()).find("1" + others + "4 x 1 x 1") != std::string::npos);
  CHECK(refusal(A).find("Use preconditioner amg") == std::string::npos);
  CHECK(refusal(wide.matrix()).find("Use preconditioner amg, which takes matrices of any grid or none") !=
        std::string::npos);
}

TEST_CASE("multigrid: settings that make no sense are refused", "[linear][multigrid]") {
  const csr_matrix<double> A = grid_matrix<double>({4, 3, 2});
  const auto refusal = [&](const std::string& settings) {
    try {
      linear_solver<double>(A, {.preconditioner = "multigrid," + settings, .executor = "host"});
    } catch (const whilst::error& problem) {
      return std::string(problem.what());
    }
    return std::string("none");
  };
  const std::string making = "making a linear solver: setting ", of = " of preconditioner multigrid. Use ";
  CHECK(refusal("precision=bfloat16") == making + "precision is 'bfloat16'" + of + "one of auto, float, double");
  CHECK(refusal("cycle=F") == making + "cycle is 'F'" + of + "V or W");
  CHECK(refusal("sweeps=0") == making + "sweeps is 0" + of + "1 to 8");
  CHECK(refusal("sweeps=9") == making + "sweeps is 9" + of + "1 to 8");
  CHECK(refusal("coarsest_rows=2049") ==
        making + "coarsest_rows is 2049" + of + "1 to 2048, or 0 for what suits the machine");
  CHECK(refusal("grid=4").find("no setting called 'grid'") != std::string::npos);
}

}  // namespace whilst_test
