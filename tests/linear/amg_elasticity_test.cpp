// Preconditioner amg for systems of equations: nodes, near-null spaces and rigid body modes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "solvers/problems/gallery_elasticity.hpp"
#include "tests/catch.hpp"
#include "tests/linear/amg_solves.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::gallery_problem;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::make_gallery;
using whilst::reason;
using whilst::report;

namespace {

template <class T>
linear_solver_options with_nodes(const gallery_problem<T>& problem, linear_solver_options options) {
  options.preconditioner = "amg";
  options.amg.unknowns_a_node = problem.unknowns_a_node;
  options.amg.coordinates = problem.coordinates;
  return options;
}
/// A residual that T reaches for beams: condition numbers are some 1e5 here.
template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 1e-3 : 1e-8;

template <class T>
std::vector<T> values_of(const csr_matrix<T>& A) {
  return {A.values().begin(), A.values().end()};
}
template <class T>
csr_matrix<T> with_values(const csr_matrix<T>& A, const std::vector<T>& values) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values};
}
/// A plus a share of its diagonal, as a step in time has it.
template <class T>
std::vector<T> with_inertia(const csr_matrix<T>& A, double share) {
  std::vector<T> values = values_of(A);
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      if (A.column_indices()[static_cast<std::size_t>(k)] == i)
        values[static_cast<std::size_t>(k)] *= static_cast<T>(1 + share);
  return values;
}

/// `count` problems next to each other in each node, which know nothing of one another: blocks have a diagonal alone.
/// Rows are backwards.
template <class T>
csr_matrix<T> side_by_side(const csr_matrix<T>& A, int count) {
  triplets<T> t(A.rows() * count);
  for (index_type i = 0; i < A.rows(); ++i)
    for (int c = 0; c < count; ++c) {
      std::vector<std::pair<int, double>> row;
      for (index_type k = A.row_offset(i + 1) - 1; k >= A.row_offset(i); --k) {
        const auto entry = static_cast<std::size_t>(k);
        row.emplace_back(A.column_indices()[entry] * count + c, static_cast<double>(A.values()[entry]));
      }
      t.row(row);
    }
  return t.matrix();
}

/// The vectors of rigid motions that the coordinates of nodes in space give, one after another.
std::vector<double> rigid_motions(const std::vector<double>& at) {
  const std::size_t n = at.size();
  std::vector<double> vectors(6 * n, 0.0);
  for (std::size_t node = 0; node < n; node += 3) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      vectors[axis * n + node + axis] = 1;
      const std::size_t a = axis, b = (axis + 1) % 3;
      vectors[(3 + axis) * n + node + a] = -at[node + b];
      vectors[(3 + axis) * n + node + b] = at[node + a];
    }
  }
  return vectors;
}

/// A plate of nx x ny elements that is held at its left end, with a stiffness of each element; and its nodes.
gallery_problem<double> plate(int nx, int ny, double width, double height,
                              const std::function<double(int, int)>& stiffness) {
  whilst::detail::elastic_box box;
  box.sizes = {width, height};
  box.elements = {nx, ny};
  const std::vector<double> element = whilst::detail::element_stiffness(box);
  std::vector<std::map<int, double>> rows(static_cast<std::size_t>(2 * nx * (ny + 1)));
  const auto unknown = [&](int x, int y, int corner, int axis) {
    return 2 * ((x + (corner & 1) - 1) * (ny + 1) + y + (corner >> 1)) + axis;
  };
  for (int x = 0; x < nx; ++x)
    for (int y = 0; y < ny; ++y)
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) {
          const int row = unknown(x, y, i / 2, i % 2), column = unknown(x, y, j / 2, j % 2);
          if (row >= 0 && column >= 0)
            rows[static_cast<std::size_t>(row)][column] +=
                stiffness(x, y) * element[static_cast<std::size_t>(8 * i + j)];
        }
  triplets<double> t(static_cast<index_type>(rows.size()));
  std::vector<double> coordinates;
  for (const auto& row : rows) t.row({row.begin(), row.end()});
  for (int x = 1; x <= nx; ++x)
    for (int y = 0; y <= ny; ++y) {
      coordinates.push_back(x * width / nx);
      coordinates.push_back(y * height / ny);
    }
  return {"plate", "", t.matrix(), {}, {}, 2, coordinates};
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

TEMPLATE_TEST_CASE("amg for elasticity: few iterations, hardly more on finer meshes", "[linear][amg]", float, double) {
  using T = TestType;
  for (const auto& [dimension, sizes] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"elasticity2d:", under_sanitizers ? std::vector{3, 8} : std::vector{3, 8, 24, 64}},
           {"elasticity3d:", under_sanitizers ? std::vector{1, 3} : std::vector{1, 2, 5, 9}}}) {
    for (const int size : sizes) {
      if (sizeof(T) == 4 && size > 8) continue;  // float alone does not hold the solution
      const auto problem = make_gallery<T>(dimension + std::to_string(size));
      CAPTURE(problem.name);
      const linear_solver_options options = with_nodes(problem, {.method = "cg", .rtol = tolerance<T>});
      CHECK(iterations_of(problem.matrix, options) <= 24);
      CHECK(iterations_of(problem.matrix, options, problem.rhs) <= 26);
    }
  }
}

TEST_CASE("amg for elasticity: jumps in stiffness, and slender elements", "[linear][amg]") {
  const auto iterations = [](const gallery_problem<double>& problem, const char* precision = "auto") {
    linear_solver_options options = with_nodes(problem, {.rtol = 1e-8, .max_iterations = 400});
    options.amg.precision = precision;
    return iterations_of(problem.matrix, options);
  };
  const int size = under_sanitizers ? 8 : 40;
  const auto even = [](int, int) { return 1.0; };
  CHECK(iterations(plate(size, size, 1, 1, even)) <= 22);
  for (const double jump : {1e2, 1e4, 1e6}) {
    CAPTURE(jump);
    CHECK(iterations(plate(size, size, 1, 1, [&](int x, int y) { return (x / 4 + y / 4) % 2 ? jump : 1; })) <= 60);
    CHECK(iterations(plate(size, size, 1, 1, [&](int, int y) { return y < size / 3 ? jump : 1; })) <= 60);
  }
  // Strong along one axis, weak along the other: slow, and far from slower than jacobi. Of the most slender ones a
  // large coarsest matrix is too ill conditioned for the inverse in float to stay definite.
  for (const double aspect : {4.0, 0.25, 20.0, 0.05}) {
    CAPTURE(aspect);
    const bool is_slender = aspect == 20 || aspect == 0.05;
    CHECK(iterations(plate(size, size, aspect, 1, even), is_slender ? "double" : "auto") <= 390);
  }
}

TEST_CASE("amg for elasticity: settings and executors change how, not what is solved", "[linear][amg]") {
  const auto problem = make_gallery<double>(under_sanitizers ? "elasticity3d:2" : "elasticity3d:3");
  for (const std::string& executor : executors_with_steps())
    for (const char* precision : {"auto", "float", "double", "bfloat16"})
      for (const auto& [coarsest_rows, most_levels] : {std::pair{0, 30}, {12, 30}, {1, 2}, {1, 1}, {2000, 30}}) {
        CAPTURE(executor, precision, coarsest_rows, most_levels);
        linear_solver_options options = with_nodes(problem, {.rtol = 1e-8, .executor = executor});
        options.amg.precision = precision;
        options.amg.coarsest_rows = coarsest_rows;
        options.amg.most_levels = most_levels;
        const bool has_good_levels = coarsest_rows != 1;
        CHECK(iterations_of(problem.matrix, options) <= (has_good_levels ? 25 : 100));
      }
}

TEST_CASE("amg for elasticity: rigid motions by vectors, by coordinates anywhere, and constants alone",
          "[linear][amg]") {
  const auto problem = make_gallery<double>(under_sanitizers ? "elasticity3d:3" : "elasticity3d:5");
  const linear_solver_options by_coordinates = with_nodes(problem, {.rtol = 1e-8});
  const index_type iterations = iterations_of(problem.matrix, by_coordinates);
  linear_solver_options elsewhere = by_coordinates, by_vectors = by_coordinates, constants = by_coordinates;
  for (double& x : elsewhere.amg.coordinates) x = 1e5 - 30 * x;
  CHECK(std::abs(iterations_of(problem.matrix, elsewhere) - iterations) <= 1);
  by_vectors.amg.near_null_space = rigid_motions(problem.coordinates);
  by_vectors.amg.coordinates.clear();
  CHECK(std::abs(iterations_of(problem.matrix, by_vectors) - iterations) <= 1);
  constants.amg.coordinates.clear();
  const index_type by_constants = iterations_of(problem.matrix, constants);
  CHECK(by_constants > iterations);
  CHECK(by_constants < iterations_of(problem.matrix, {.preconditioner = "jacobi", .rtol = 1e-8}) / 2);
  CHECK(iterations_of(problem.matrix, {.preconditioner = "amg,unknowns_a_node=3", .rtol = 1e-8}) == by_constants);
  // Vectors take precedence, and a mixture of them spans the same.
  by_vectors.amg.coordinates = problem.coordinates;
  auto& mixed = by_vectors.amg.near_null_space;
  const std::size_t n = problem.coordinates.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 1; k < 6; ++k) mixed[k * n + i] += 3 * mixed[(k - 1) * n + i];
  CHECK(std::abs(iterations_of(problem.matrix, by_vectors) - iterations) <= 1);
}

TEMPLATE_TEST_CASE("amg for elasticity: new values are noticed", "[linear][amg][sanitizer]", float, double) {
  using T = TestType;
  const auto problem = make_gallery<T>("elasticity3d:2");
  const csr_matrix<T>& A = problem.matrix;
  const std::vector<T> b = random_vector<T>(A.rows(), 3), before = values_of(A), after = with_inertia(A, 0.01);
  for (const std::string& executor : executors_with_steps())
    for (const std::string settings : {"amg", "amg,smoother=gauss_seidel,cycle=W", "amg,aggressive_levels=1"}) {
      CAPTURE(executor, settings);
      linear_solver_options options =
          with_nodes(problem, {.amg = {.coarsest_rows = 20}, .rtol = tolerance<T>, .executor = executor});
      options.preconditioner = settings;
      linear_solver<T> solver(A, options);
      const solution<T> first = solved_by(solver, b);
      CHECK(first.told.converged());
      solver.update_values(after);
      const solution<T> second = solved_by(solver, b);
      CHECK(second.told.converged());
      CHECK(true_residual(with_values(A, after), b, second.x) <= 1.1 * options.rtol);
      CHECK(second.told.iterations() <= first.told.iterations());
      linear_solver<T> made_anew(with_values(A, after), options);
      CHECK(std::abs(solved_by(made_anew, b).told.iterations() - second.told.iterations()) <= 1);
      solver.update_values(before);
      CHECK(solved_by(solver, b).x == first.x);
    }
}

TEST_CASE("amg for systems: blocks that are not full, and rows that are not in order", "[linear][amg]") {
  const auto poisson = make_gallery<double>("poisson2d:30").matrix;
  const std::string several_levels = "amg,coarsest_rows=256";
  const index_type alone = iterations_of(poisson, {.preconditioner = several_levels, .rtol = 1e-8});
  for (const int count : {2, 3, 5, 8}) {
    CAPTURE(count);
    const csr_matrix<double> A = side_by_side(poisson, count);
    linear_solver_options options{.preconditioner = several_levels, .rtol = 1e-8};
    options.amg.unknowns_a_node = count;
    CHECK(iterations_of(A, options) <= alone + 6);
  }
}

TEST_CASE("amg for systems: vectors of every kind", "[linear][amg]") {
  const auto A = make_gallery<double>("poisson2d:24").matrix;
  const auto n = static_cast<std::size_t>(A.rows());
  linear_solver_options options{.preconditioner = "amg", .rtol = 1e-8, .max_iterations = 200};
  options.amg.coarsest_rows = 20;
  // More of them than an aggregate has unknowns; then the same one often, and none at all.
  for (const std::size_t count : {1, 2, 5, 8}) {
    CAPTURE(count);
    std::vector<double>& vectors = options.amg.near_null_space;
    vectors = random_vector<double>(A.rows() * static_cast<index_type>(count), 8);
    std::fill_n(vectors.begin(), n, 1.0);
    CHECK(iterations_of(A, options) <= 60);
    std::fill(vectors.begin(), vectors.end(), 1.0);
    CHECK(iterations_of(A, options) <= 60);
    std::fill(vectors.begin() + static_cast<std::ptrdiff_t>(n), vectors.end(), 0.0);
    CHECK(iterations_of(A, options) <= 60);
    for (double& entry : vectors) entry *= 1e-200;
    CHECK(iterations_of(A, options) <= 200);
    std::fill(vectors.begin(), vectors.end(), 0.0);
    CHECK(iterations_of(A, options) <= 200);
  }
  const auto line = make_gallery<double>("poisson1d:100").matrix;
  options.amg.near_null_space = random_vector<double>(800, 8);
  CHECK(iterations_of(line, options) <= 200);
}

TEST_CASE("amg for systems: matrices that are hard on a set-up end with a reason", "[linear][amg]") {
  const auto problem = make_gallery<double>("elasticity2d:6");
  const auto n = static_cast<std::size_t>(problem.matrix.rows());
  const std::vector<double> b(n, 1.0);
  linear_solver_options options = with_nodes(problem, {.max_iterations = 300});
  options.amg.coarsest_rows = 12;
  options.preconditioner = GENERATE("amg", "amg,smoother=gauss_seidel", "amg,aggressive_levels=2");
  CAPTURE(options.preconditioner);
  const auto ends = [&](const csr_matrix<double>& A) {
    linear_solver<double> solver(A, options);
    return solved_by(solver, b).told;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity, -infinity}) {
    for (const std::size_t at : {std::size_t{0}, values_of(problem.matrix).size() - 1}) {
      std::vector<double> values = values_of(problem.matrix);
      values[at] = bad;
      CHECK(!ends(with_values(problem.matrix, values)).converged());
    }
  }
  const std::vector<double> zeros(values_of(problem.matrix).size(), 0.0);
  CHECK(!ends(with_values(problem.matrix, zeros)).converged());
  for (const double factor : {1e-300, 1e280}) {
    std::vector<double> values = values_of(problem.matrix);
    for (double& value : values) value *= factor / 1e11;
    CHECK(ends(with_values(problem.matrix, values)).iterations() <= 300);
  }
  // Nodes that are held: rows of I.
  std::vector<double> held = values_of(problem.matrix);
  const csr_matrix<double>& A = problem.matrix;
  const auto is_held = [](index_type i) { return i / 2 % 5 == 0; };
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const index_type j = A.column_indices()[static_cast<std::size_t>(k)];
      if (is_held(i) || is_held(j)) held[static_cast<std::size_t>(k)] = i == j ? 1e9 : 0;
    }
  CHECK(ends(with_values(A, held)).converged());
}

TEST_CASE("amg for systems: one node, and none", "[linear][amg]") {
  triplets<double> t(2);
  t.row({{0, 2}, {1, 1}});
  t.row({{0, 1}, {1, 2}});
  linear_solver_options options{.preconditioner = "amg,unknowns_a_node=2", .rtol = 1e-10};
  options.amg.coordinates = {3, 4};
  CHECK(iterations_of(t.matrix(), options) <= 2);
  options.amg.coordinates.clear();
  const csr_matrix<double> none(0, 0, std::vector<std::int32_t>{0}, std::vector<std::int32_t>{}, std::vector<double>{});
  linear_solver<double> solver(none, options);
  CHECK(solved_by(solver, {}).told.converged());
}

TEST_CASE("amg for systems: what does not fit the matrix is refused", "[linear][amg]") {
  const auto A = make_gallery<double>("poisson1d:9").matrix;
  const auto refusal = [&](const whilst::amg_options& amg) {
    return message_of([&] { linear_solver<double>(A, {.preconditioner = "amg", .amg = amg, .executor = "host"}); });
  };
  const std::string making = "making preconditioner amg: ";
  CHECK(refusal({.unknowns_a_node = 2}) ==
        making +
            "the matrix has 9 rows, which are not nodes of unknowns_a_node = 2 each. Give the number of unknowns that "
            "every node has, next to each other");
  for (const int unknowns : {0, 9, -3})
    CHECK(refusal({.unknowns_a_node = unknowns}) == "making a linear solver: setting unknowns_a_node is " +
                                                        std::to_string(unknowns) +
                                                        " of preconditioner amg. Use 1 to 8");
  for (const std::size_t entries : {1, 8, 10, 81})
    CHECK(refusal({.near_null_space = std::vector<double>(entries, 1.0)}) ==
          making + "near_null_space has " + std::to_string(entries) +
              " entries, the matrix 9 rows. Give 1 to 8 vectors of as many entries, one after another");
  CHECK(refusal({.near_null_space = {1, 1, 1, 1, std::nan(""), 1, 1, 1, 1}}) ==
        making + "entry 4 of near_null_space is not finite. Give finite numbers");
  CHECK(refusal({.coordinates = std::vector<double>(9, 1.0)}) ==
        making +
            "there are coordinates, and unknowns_a_node is 1. Give unknowns_a_node = 2 or 3: the displacements of a "
            "node in the plane or in space");
  CHECK(refusal({.unknowns_a_node = 3, .coordinates = std::vector<double>(6, 1.0)}) ==
        making +
            "there are 6 coordinates, and the matrix has 9 rows. Give one for each unknown: where its node lies along "
            "its axis");
  std::vector<double> coordinates(9, 1.0);
  coordinates[7] = std::numeric_limits<double>::infinity();
  CHECK(refusal({.unknowns_a_node = 3, .coordinates = coordinates}) ==
        making + "entry 7 of coordinates is not finite. Give finite numbers");
}

}  // namespace whilst_test
