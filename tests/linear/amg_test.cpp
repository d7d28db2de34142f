// Preconditioner amg: how fast, for which matrices, with new values, and what is refused.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/amg_solves.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/whilst.hpp"

#if WHILST_WITH_CUDA
#include "whilst/engine/memory/cuda.hpp"
#endif

namespace whilst_test {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::reason;
using whilst::report;

namespace {

template <class T>
constexpr double epsilon_of = static_cast<double>(std::numeric_limits<T>::epsilon());
/// A residual that T reaches on the model problems here, whose condition numbers are below 1e4 and whose right-hand
/// sides are random: a product rounds by some epsilon of ||A|| ||x||.
template <class T>
constexpr double reachable = 1000 * epsilon_of<T>;

template <class T>
bool is_finite(const std::vector<T>& x) {
  for (const T value : x)
    if (!std::isfinite(value)) return false;
  return true;
}

template <class T>
solution<T> solved(const csr_matrix<T>& A, const linear_solver_options& options, const std::vector<T>& b) {
  linear_solver<T> solver(A, options);
  return solved_by(solver, b);
}
template <class T>
std::vector<T> values_of(const csr_matrix<T>& A) {
  return {A.values().begin(), A.values().end()};
}
template <class T>
csr_matrix<T> with_values(const csr_matrix<T>& A, const std::vector<T>& values) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values};
}
template <class T>
csr_matrix<T> times(double factor, const csr_matrix<T>& A) {
  std::vector<T> values = values_of(A);
  for (T& value : values) value = static_cast<T>(factor * static_cast<double>(value));
  return with_values(A, values);
}
/// I + A, as implicit steps in time have it: what is beside the diagonal stays.
template <class T>
csr_matrix<T> with_ones_added(const csr_matrix<T>& A) {
  std::vector<T> values = values_of(A);
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      if (A.column_indices()[static_cast<std::size_t>(k)] == i) values[static_cast<std::size_t>(k)] += T(1);
  return with_values(A, values);
}

/// Diffusion in a cube of size^3 cells by finite volumes: between two cells the harmonic mean of what they conduct,
/// zero beyond the boundary.
template <class T>
csr_matrix<T> diffusion(int size, const std::function<double(int, int, int)>& conducts) {
  triplets<T> t(index_type{size} * size * size);
  const int steps[6][3] = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int z = 0; z < size; ++z)
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) {
        const int i = (z * size + y) * size + x;
        const double own = conducts(x, y, z);
        double diagonal = 0;
        std::vector<std::pair<int, double>> row;
        for (const auto& [dx, dy, dz] : steps) {
          const int nx = x + dx, ny = y + dy, nz = z + dz;
          const bool is_inside = nx >= 0 && ny >= 0 && nz >= 0 && nx < size && ny < size && nz < size;
          const double other = is_inside ? conducts(nx, ny, nz) : own, between = 2 * own * other / (own + other);
          diagonal += between;
          if (is_inside) row.emplace_back((nz * size + ny) * size + nx, -between);
        }
        row.emplace_back(i, diagonal);
        std::sort(row.begin(), row.end());
        t.row(row);
      }
  return t.matrix();
}
/// Diffusion of 1 and a flow upwind, in a box of cells; flow(x, y, z) is how much leaves a cell along each axis, in
/// units of what diffuses. Zero beyond the boundary.
template <class T>
csr_matrix<T> convection(const int (&sizes)[3], const std::function<std::array<double, 3>(int, int, int)>& flow) {
  triplets<T> t(index_type{sizes[0]} * sizes[1] * sizes[2]);
  for (int z = 0; z < sizes[2]; ++z)
    for (int y = 0; y < sizes[1]; ++y)
      for (int x = 0; x < sizes[0]; ++x) {
        const int at[3] = {x, y, z}, strides[3] = {1, sizes[0], sizes[0] * sizes[1]};
        const int i = x + y * strides[1] + z * strides[2];
        const std::array<double, 3> leaving = flow(x, y, z);
        double diagonal = 0;
        std::vector<std::pair<int, double>> row;
        for (int axis = 0; axis < 3; ++axis) {
          if (sizes[axis] == 1) continue;
          const double v = leaving[static_cast<std::size_t>(axis)];
          diagonal += 2 + std::abs(v);
          if (at[axis] > 0) row.emplace_back(i - strides[axis], -1 - std::max(v, 0.0));
          if (at[axis] + 1 < sizes[axis]) row.emplace_back(i + strides[axis], -1 + std::min(v, 0.0));
        }
        row.emplace_back(i, diagonal);
        std::sort(row.begin(), row.end());
        t.row(row);
      }
  return t.matrix();
}
/// Along x, in a cube.
template <class T>
csr_matrix<T> wind(int size, double v) {
  return convection<T>({size, size, size}, [v](int, int, int) { return std::array{v, 0.0, 0.0}; });
}
/// Around the middle of a square, at most v.
template <class T>
csr_matrix<T> whirl(int size, double v) {
  return convection<T>({size, size, 1}, [size, v](int i, int j, int) {
    const double x = (i + 1.0) / (size + 1), y = (j + 1.0) / (size + 1);
    return std::array{4 * v * x * (x - 1) * (1 - 2 * y), -4 * v * y * (y - 1) * (1 - 2 * x), 0.0};
  });
}
/// A million times as much in every other block of four cells.
double checkered(int x, int y, int z) { return (x / 4 + y / 4 + z / 4) % 2 ? 1e6 : 1; }

template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

place place_of(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

}  // namespace

TEMPLATE_TEST_CASE("amg: model problems of every size", "[linear][amg]", float, double) {
  std::vector<std::string> precisions{"float"};
  if (sizeof(TestType) == 8) precisions.emplace_back("double");
  for (const std::string& executor : executors_with_steps())
    for (const std::string problem :
         {"poisson1d:1", "poisson1d:2", "poisson1d:3", "poisson1d:100", "poisson2d:1", "poisson2d:2", "poisson2d:3",
          "poisson2d:30", "poisson3d:1", "poisson3d:2", "poisson3d:3", "poisson3d:24", "anisotropic2d:30"}) {
      if (under_sanitizers && problem == "poisson3d:24") continue;
      const csr_matrix<TestType> A = whilst::make_gallery<TestType>(problem).matrix;
      const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
      for (const std::string& precision : precisions) {
        INFO(executor << ", " << problem << ", " << precision);
        const auto [told, x] = solved(A,
                                      {.preconditioner = "amg",
                                       .amg = {.precision = precision, .coarsest_rows = 128},
                                       .rtol = reachable<TestType>,
                                       .executor = executor},
                                      b);
        CHECK(told.reason() == reason::converged_rtol);
        CHECK(true_residual(A, b, x) <= 1.01 * reachable<TestType>);
        CHECK(told.preconditioner() == "amg");
        const std::string levels = A.rows() <= 128 ? "amg, 1 level of " : " levels of ";
        CHECK(told.preconditioner_choice().find(levels + std::to_string(A.rows())) != std::string::npos);
        // The coarsest level has an inverse, in float: alone it takes one iteration, or a few to refine it.
        if (A.rows() <= 128) CHECK(told.iterations() <= 4);
        CHECK(told.iterations() <= 40);
      }
    }
}

TEST_CASE("amg: iterations hardly depend on the size, and are far fewer than by jacobi", "[linear][amg]") {
  const std::string cube = under_sanitizers ? "poisson3d:20" : "poisson3d:32",
                    square = under_sanitizers ? "poisson2d:80" : "poisson2d:128";
  for (const std::string& executor : executors_with_steps()) {
    const auto taken = [&](const std::string& problem, const std::string& preconditioner) {
      return iterations_of(whilst::make_gallery<double>(problem).matrix,
                           {.preconditioner = preconditioner, .rtol = 1e-8, .executor = executor});
    };
    INFO(executor);
    const index_type small = taken("poisson3d:16", "amg"), large = taken(cube, "amg");
    CHECK(2 * large <= 3 * small);
    CHECK(large <= 20);
    const std::string several_levels = "amg,coarsest_rows=256";
    const index_type narrow = taken("poisson2d:32", several_levels), wide = taken(square, several_levels);
    CHECK(2 * wide <= 3 * narrow);
    if (under_sanitizers) continue;
    CHECK(4 * large <= taken(cube, "jacobi"));
    CHECK(8 * wide <= taken(square, "jacobi"));
    CHECK(4 * taken("anisotropic2d:128", "amg") <= taken("anisotropic2d:128", "jacobi"));
  }
}

TEMPLATE_TEST_CASE("amg: settings change levels, not what is solved", "[linear][amg]", float, double) {
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson2d:16").matrix;
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    for (const std::string settings :
         {"amg,precision=auto", "amg,precision=bfloat16", "amg,strength=0", "amg,strength=1", "amg,coarsest_rows=1",
          "amg,coarsest_rows=1024", "amg,most_levels=1", "amg,most_levels=2",
          "amg,most_levels=100,coarsest_rows=2,strength=0.08"}) {
      INFO(executor << ", " << settings);
      const auto [told, x] = solved(A,
                                    {.preconditioner = settings,
                                     .amg = {.coarsest_rows = 128},
                                     .rtol = reachable<TestType>,
                                     .executor = executor},
                                    b);
      CHECK(told.converged());
      CHECK(true_residual(A, b, x) <= 1.01 * reachable<TestType>);
      CHECK(told.preconditioner() == settings);
      const bool is_single = settings == "amg,most_levels=1" || settings == "amg,coarsest_rows=1024";
      CHECK((told.preconditioner_choice() == "amg, 1 level of 256 rows; operator complexity 1.00") == is_single);
    }
    // Text counts before the struct.
    const linear_solver_options both{
        .preconditioner = "amg,most_levels=1", .amg = {.coarsest_rows = 8, .most_levels = 3}, .executor = executor};
    CHECK(solved(A, both, b).told.preconditioner_choice() == "amg, 1 level of 256 rows; operator complexity 1.00");
  }
}

TEMPLATE_TEST_CASE("amg: jumps in coefficients of a million", "[linear][amg]", float, double) {
  // Entries of a million times some tenths, which are a solution where little is conducted, round by that much of b.
  const double rtol = 1e5 * epsilon_of<TestType>;
  const int size = under_sanitizers ? 8 : 16;
  const csr_matrix<TestType> A = diffusion<TestType>(size, checkered);
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const auto [told, x] = solved(A, {.preconditioner = "amg", .rtol = rtol, .executor = executor}, b);
    CHECK(told.converged());
    CHECK(true_residual(A, b, x) <= 1.01 * rtol);
    CHECK(told.iterations() <= 60);
  }
}

TEST_CASE("amg: every method for symmetric matrices, and every format", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const double rtol = 1e-10;
  const std::string several_levels = "amg,coarsest_rows=256";
  for (const std::string& executor : executors_with_steps()) {
    const index_type by_cg = iterations_of(A, {.preconditioner = several_levels, .rtol = rtol, .executor = executor});
    std::vector<std::string> names = methods_on(executor);
    for (const char* more : {"auto", "chebyshev", "richardson"}) names.emplace_back(more);
    for (const std::string& method : names) {
      INFO(executor << ", " << method);
      const index_type taken =
          iterations_of(A, {.method = method, .preconditioner = several_levels, .rtol = rtol, .executor = executor});
      CHECK(taken <= (method == "richardson" ? 6 : 3) * by_cg);
    }
    for (const char* format : {"csr", "sell", "ell", "balanced"}) {
      INFO(executor << ", " << format);
      const index_type taken =
          iterations_of(A, {.preconditioner = several_levels, .format = format, .rtol = rtol, .executor = executor});
      CHECK(std::abs(taken - by_cg) <= 1);
    }
  }
}

TEST_CASE("amg: unsymmetric and indefinite matrices", "[linear][amg]") {
  const csr_matrix<double> A = convection_diffusion<double>(2000);
  // Definite but for its lowest eigenvalues, by hand: 2 - 2 cos(k pi / 301) - 0.0005.
  std::vector<double> shifted = values_of(whilst::make_gallery<double>("poisson1d:300").matrix);
  for (double& value : shifted) value -= value > 0 ? 0.0005 : 0;
  const csr_matrix<double> B = with_values(whilst::make_gallery<double>("poisson1d:300").matrix, shifted);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    for (const char* method : {"bicgstab", "gmres", "idr", "auto"}) {
      INFO(method);
      iterations_of(A, {.method = method, .preconditioner = "amg", .rtol = 1e-10, .executor = executor});
    }
    for (const char* method : {"gmres", "bicgstab"}) {
      INFO(method);
      iterations_of(B, {.method = method, .preconditioner = "amg", .rtol = 1e-8, .executor = executor});
    }
  }
}

TEMPLATE_TEST_CASE("amg: convection, weak and strong", "[linear][amg]", float, double) {
  const double rtol = std::max(1e-8, reachable<TestType>);
  const int across = under_sanitizers ? 10 : 20, along = under_sanitizers ? 24 : 64;
  std::vector<std::pair<std::string, csr_matrix<TestType>>> all;
  for (const double v : {0.1, 1.0, 10.0, 100.0}) {
    all.emplace_back("wind of " + std::to_string(v), wind<TestType>(across, v));
    all.emplace_back("askew, " + std::to_string(v), convection<TestType>({across, across, across}, [v](int, int, int) {
                       return std::array{v, -0.6 * v, 0.3 * v};
                     }));
    all.emplace_back("whirl of " + std::to_string(v), whirl<TestType>(along, v));
  }
  for (const std::string& executor : executors_with_steps())
    for (const auto& [name, A] : all)
      for (const auto& [method, most] : {std::pair<const char*, int>{"bicgstab", 20}, {"gmres", 40}, {"idr", 50}})
        for (const char* const settings : {"amg,coarsest_rows=100", "amg,coarsest_rows=100,coarsening=classical"}) {
          // What methods ask of the levels is the same in both number types.
          if (under_sanitizers && sizeof(TestType) == 4 && std::string(method) != "bicgstab") continue;
          INFO(executor << ", " << name << ", " << method << ", " << settings);
          CHECK(iterations_of(A, {.method = method, .preconditioner = settings, .rtol = rtol, .executor = executor}) <=
                most);
        }
}

TEST_CASE("amg: of a symmetric matrix, methods for any matrix take as many iterations", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson3d:16").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg", .rtol = 1e-8, .executor = executor};
    linear_solver_options by_gmres = options;
    by_gmres.method = "gmres";
    CHECK(iterations_of(A, by_gmres) <= iterations_of(A, options) + 4);
  }
}

TEST_CASE("amg: entries without one across the diagonal, in parts and in no order", "[linear][amg]") {
  // A chain of unknowns, each fed by two others. Every third row has its entries in halves, from right to left.
  constexpr int n = 3000;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, 3}};
    if (i > 0) row.emplace_back(i - 1, -2);
    if (i >= 50) row.emplace_back(i - 50, -0.9);
    if (i % 3 == 0) {
      for (auto& [j, a] : row) a /= 2;
      row.insert(row.end(), row.begin(), row.end());
    }
    t.row(row);
  }
  const csr_matrix<double> A = t.matrix();
  for (const std::string& executor : executors_with_steps())
    for (const char* method : {"bicgstab", "gmres", "auto"}) {
      INFO(executor << ", " << method);
      CHECK(iterations_of(A, {.method = method, .preconditioner = "amg", .rtol = 1e-9, .executor = executor}) <= 60);
    }
}

TEST_CASE("amg: a flow, and a row and a column that all unknowns have part in", "[linear][amg]") {
  const csr_matrix<double> flow = wind<double>(16, 10);
  const auto n = static_cast<int>(flow.rows());
  triplets<double> t(n + 2);
  std::vector<std::pair<int, double>> sum;
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{n + 1, 0.01}};
    for (index_type k = flow.row_offset(i); k < flow.row_offset(i + 1); ++k)
      row.emplace_back(flow.column_indices()[static_cast<std::size_t>(k)], flow.values()[static_cast<std::size_t>(k)]);
    t.row(row);
    sum.emplace_back(i, 0.01);
  }
  sum.emplace_back(n, 1);
  t.row(sum);
  t.row({{n + 1, 1}});
  const csr_matrix<double> A = t.matrix();
  for (const std::string& executor : executors_with_steps())
    for (const char* method : {"bicgstab", "gmres"}) {
      INFO(executor << ", " << method);
      CHECK(iterations_of(A, {.method = method, .preconditioner = "amg", .rtol = 1e-8, .executor = executor}) <= 40);
    }
}

TEMPLATE_TEST_CASE("amg: another flow through the same cells", "[linear][amg]", float, double) {
  const double rtol = std::max(1e-8, reachable<TestType>);
  const int size = under_sanitizers ? 8 : 14;
  const csr_matrix<TestType> A = wind<TestType>(size, 2), other = wind<TestType>(size, -5),
                             still = wind<TestType>(size, 0);
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps())
    for (const char* method : {"bicgstab", "gmres", "auto", "idr"}) {
      INFO(executor << ", " << method);
      const bool is_classical = method == std::string("idr");
      linear_solver<TestType> solver(A, {.method = method,
                                         .preconditioner = "amg,coarsest_rows=100",
                                         .amg = {.coarsening = is_classical ? "classical" : "aggregation"},
                                         .rtol = rtol,
                                         .executor = executor});
      const auto of_A = solved_by(solver, b);
      for (const csr_matrix<TestType>* matrix : {&other, &still, &A, &still}) {
        solver.update_values(*matrix);
        const auto [told, x] = solved_by(solver, b);
        CHECK(told.converged());
        CHECK(true_residual(*matrix, b, x) <= 1.01 * rtol);
        CHECK(told.iterations() <= 30);
        if (matrix == &A) CHECK((x == of_A.x));
        if (method == std::string("auto")) CHECK(told.method() == (matrix == &still ? "cg" : "bicgstab"));
      }
    }
}

TEST_CASE("amg: powers of two and bits of a matrix that is not symmetric", "[linear][amg]") {
  const csr_matrix<double> A = whirl<double>(48, 10);
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver_options options{.method = "bicgstab", .preconditioner = "amg", .rtol = 1e-10, .executor = executor};
    const auto plain = solved(A, options, b);
    auto scaled = solved(times(std::ldexp(1.0, -700), A), options, b);
    for (double& value : scaled.x) value = std::ldexp(value, -700);
    CHECK((scaled.x == plain.x));
    options.threads = 3;
    CHECK((solved(A, options, b).x == plain.x));
  }
}

namespace {

/// A matrix that a set-up may stumble over. must: a solve by cg converges.
struct hostile {
  std::string name;
  csr_matrix<double> A;
  bool must = false;
};

csr_matrix<double> rows_of(index_type n, const std::function<std::vector<std::pair<int, double>>(int)>& row) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) t.row(row(i));
  return t.matrix();
}
/// By rows of a line: -1, 2, -1, less what is beyond its ends, with something in place of some rows.
std::vector<std::pair<int, double>> of_line(int i, int n, double beside = -1, double diagonal = 2) {
  std::vector<std::pair<int, double>> row;
  if (i > 0) row.emplace_back(i - 1, beside);
  row.emplace_back(i, diagonal);
  if (i + 1 < n) row.emplace_back(i + 1, beside);
  return row;
}

/// A line whose entries come in three parts each, in no order: a row's columns are all there once, and then twice more.
csr_matrix<double> in_parts(int n) {
  return rows_of(n, [&](int i) {
    const auto whole = of_line(i, n);
    std::vector<std::pair<int, double>> row;
    for (const auto& [j, a] : whole) row.insert(row.begin(), {j, a / 4});
    for (const auto& [j, a] : whole) row.emplace_back(j, a / 2);
    for (const auto& [j, a] : whole) row.emplace_back(j, a / 4);
    return row;
  });
}

std::vector<hostile> hostile_matrices() {
  using row = std::vector<std::pair<int, double>>;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  constexpr int n = 500;
  const csr_matrix<double> square = whilst::make_gallery<double>("poisson2d:22").matrix;
  std::vector<hostile> all;
  all.push_back({"one entry", rows_of(1, [](int) { return row{{0, 3}}; }), true});
  all.push_back({"one zero", rows_of(1, [](int) { return row{{0, 0}}; })});
  all.push_back({"one row without entries", rows_of(1, [](int) { return row{}; })});
  all.push_back({"no entries", rows_of(n, [](int) { return row{}; })});
  all.push_back({"all zeros", times(0, square)});
  all.push_back({"the identity", rows_of(n, [](int i) { return row{{i, 1}}; }), true});
  all.push_back({"rows without entries", rows_of(n, [](int i) { return i % 7 == 3 ? row{} : of_line(i, n); })});
  all.push_back({"rows of zeros", rows_of(n, [](int i) { return i % 7 == 3 ? of_line(i, n, 0, 0) : of_line(i, n); })});
  all.push_back({"isolated unknowns",
                 rows_of(n,
                         [](int i) {
                           if (i >= 300) return row{{i, 1 + i % 5}};
                           return of_line(i, 300);
                         }),
                 true});
  all.push_back({"isolated unknowns beside zeros",
                 rows_of(n,
                         [](int i) {
                           if (i % 50 == 7) return of_line(i, n, 0, 4);
                           row made = of_line(i, n);
                           for (auto& [j, a] : made)
                             if (j % 50 == 7) a = 0;
                           return made;
                         }),
                 true});
  all.push_back({"positive beside the diagonal", rows_of(n, [](int i) { return of_line(i, n, 1, 2.5); }), true});
  all.push_back(
      {"positive beside the diagonal, barely definite", rows_of(n, [](int i) { return of_line(i, n, 1, 2); }), true});
  all.push_back({"signs by chance",
                 rows_of(n,
                         [](int i) {
                           row made{{i, 4}};
                           for (const int d : {1, 20})
                             for (const int j : {i - d, i + d})
                               if (j >= 0 && j < n) made.emplace_back(j, (i + j) % 3 ? -1 : 1);
                           return made;
                         }),
                 true});
  all.push_back({"antisymmetric", rows_of(n, [](int i) {
                   row made;
                   if (i > 0) made.emplace_back(i - 1, -1);
                   if (i + 1 < n) made.emplace_back(i + 1, 1);
                   return made;
                 })});
  all.push_back({"negative definite", times(-1, square), true});
  all.push_back({"indefinite", rows_of(n, [](int i) { return of_line(i, n, -1, i % 2 ? 3 : -3); })});
  all.push_back({"an arrow",
                 rows_of(2000,
                         [](int i) {
                           if (i > 0) return row{{0, -1}, {i, 2}};
                           row made{{0, 2000}};
                           for (int j = 1; j < 2000; ++j) made.emplace_back(j, -1);
                           return made;
                         }),
                 true});
  all.push_back({"two parts",
                 rows_of(n,
                         [](int i) {
                           row made = of_line(i / 2, n / 2, i % 2 ? -100 : -1, i % 2 ? 200 : 2);
                           for (auto& [j, a] : made) j = 2 * j + i % 2;
                           return made;
                         }),
                 true});
  all.push_back({"pairs",
                 rows_of(n,
                         [](int i) {
                           return row{{i - i % 2, i % 2 ? 1 : 2}, {i - i % 2 + 1, i % 2 ? 2 : 1}};
                         }),
                 true});
  all.push_back({"full rows",
                 rows_of(200,
                         [](int i) {
                           row made;
                           for (int j = 0; j < 200; ++j) made.emplace_back(j, i == j ? 200 : -1);
                           return made;
                         }),
                 true});
  all.push_back({"a NaN", [&] {
                   std::vector<double> values = values_of(square);
                   values[100] = nan;
                   return with_values(square, values);
                 }()});
  all.push_back({"NaN throughout", times(nan, square)});
  all.push_back({"an infinity", [&] {
                   std::vector<double> values = values_of(square);
                   values[101] = infinity;
                   return with_values(square, values);
                 }()});
  for (const double scale : {1e200, 1e-200, 1e300, 1e-290})
    all.push_back({"scale " + std::to_string(std::log10(scale)), times(scale, square), true});
  all.push_back({"sizes from 1e-20 to 1e20, by rows and columns", rows_of(n, [](int i) {
                   row made = of_line(i, n, -1, 2.1);
                   const auto size = [](int k) { return std::pow(10.0, k % 21 - 10); };
                   for (auto& [j, a] : made) a *= size(i) * size(j);
                   return made;
                 })});
  all.push_back({"columns in no order",
                 rows_of(n,
                         [](int i) {
                           row made = of_line(i, n);
                           std::swap(made.front(), made.back());
                           if (i % 2) std::swap(made.front(), made[1]);
                           return made;
                         }),
                 true});
  all.push_back({"entries in parts", in_parts(n)});
  all.push_back({"a row without its diagonal", rows_of(n, [](int i) {
                   row made = of_line(i, n);
                   if (i == 77) std::erase(made, std::pair<int, double>(77, 2));
                   return made;
                 })});
  all.push_back({"no row has its diagonal", rows_of(n, [](int i) { return row{{n - 1 - i, 1}}; })});
  all.push_back({"a saddle", rows_of(n, [](int i) {
                   if (i < 400) {
                     row made = of_line(i, 400);
                     if (i < 100) made.emplace_back(400 + i, 1);
                     return made;
                   }
                   return row{{i - 400, 1}};
                 })});
  return all;
}

}  // namespace

TEST_CASE("amg: matrices that are hard on a set-up end with a reason", "[linear][amg]") {
  const double rtol = 1e-8;
  for (const hostile& one : hostile_matrices()) {
    const std::vector<double> b = random_vector<double>(one.A.rows(), 8);
    for (const std::string& executor : executors_with_steps())
      for (const std::string method : {"cg", "minres", "bicgstab", "gmres"})
        for (const std::string settings :
             {"amg", "amg,precision=double", "amg,coarsest_rows=10", "amg,most_levels=1,coarsest_rows=1",
              "amg,coarsening=classical,coarsest_rows=10", "amg,coarsening=classical,strength=0,precision=double",
              "amg,aggressive_levels=2,coarsest_rows=10",
              "amg,coarsening=classical,aggressive_levels=2,coarsest_rows=10"}) {
          // The set-up is the same text everywhere: where it takes longer, half of the combinations.
          const bool is_usual = (settings == "amg" || settings.find("coarsest_rows=10") != std::string::npos) &&
                                (method == "cg" || method == "gmres");
          if ((under_sanitizers || executor != "host") && !is_usual) continue;
          if (under_sanitizers && method == "gmres" && settings != "amg") continue;
          INFO(one.name << ", " << executor << ", " << method << ", " << settings);
          const auto [told, x] = solved(one.A,
                                        {.method = method,
                                         .preconditioner = settings,
                                         .rtol = rtol,
                                         .max_iterations = under_sanitizers && method != "cg" ? 200 : 1000,
                                         .executor = executor},
                                        b);
          INFO(told.message());
          CHECK(told.reason() != reason::running);
          CHECK(is_finite(x));
          if (told.converged()) CHECK(true_residual(one.A, b, x) <= 1.01 * rtol);
          const bool has_levels = settings.find("most_levels") == std::string::npos;
          if (one.must && has_levels && method == "cg") CHECK(told.converged());
        }
  }
}

TEST_CASE("amg: M is positive definite where A is", "[linear][amg]") {
  // What a diagonal smoother with eigenvalues of M A above 2 is not: parts of entries have smaller squares than their
  // sums, and rows of elasticity many entries of either sign.
  for (const auto& [name, A] : {std::pair<const char*, csr_matrix<double>>("entries in parts", in_parts(500)),
                                {"elasticity", whilst::make_gallery<double>("elasticity3d:3").matrix}}) {
    const std::vector<double> b = random_vector<double>(A.rows(), 8);
    for (const std::string& executor : executors_with_steps())
      for (const char* settings : {"amg", "amg,precision=double", "amg,most_levels=1,coarsest_rows=1"}) {
        INFO(name << ", " << executor << ", " << settings);
        const auto [told, x] = solved(A, {.preconditioner = settings, .executor = executor}, b);
        CHECK(told.reason() == reason::converged_rtol);
        CHECK(true_residual(A, b, x) <= 1.01e-8);
      }
  }
}

TEST_CASE("amg: no unknowns, and b = 0", "[linear][amg]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg", .executor = executor};
    const auto nothing = solved(triplets<double>(0).matrix(), options, std::vector<double>{});
    CHECK(nothing.told.converged());
    CHECK(nothing.told.preconditioner_choice() == "amg, 1 level of 0 rows; operator complexity 1.00");
    for (const char* problem : {"poisson2d:20", "poisson2d:3"}) {
      const csr_matrix<double> A = whilst::make_gallery<double>(problem).matrix;
      std::vector<double> x = random_vector<double>(A.rows(), 3);
      linear_solver<double> solver(A, options);
      CHECK(solver.solve(std::vector<double>(x.size(), 0.0), x).converged());
      CHECK((x == std::vector<double>(x.size(), 0.0)));
    }
  }
}

TEST_CASE("amg: powers of two change no bit", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    const linear_solver_options options{.preconditioner = "amg", .rtol = 1e-10, .executor = executor};
    const auto plain = solved(A, options, b);
    for (const int exponent : {-600, -3, 1, 700}) {
      INFO(executor << ", 2^" << exponent);
      const auto scaled = solved(times(std::ldexp(1.0, exponent), A), options, b);
      CHECK(scaled.told.iterations() == plain.told.iterations());
      std::vector<double> back = scaled.x;
      for (double& value : back) value = std::ldexp(value, exponent);
      CHECK((back == plain.x));
    }
  }
}

TEMPLATE_TEST_CASE("amg: a singular matrix and its constant null space", "[linear][amg][null-space]", float, double) {
  const double rtol = reachable<TestType>;
  for (const char* problem : {"neumann2d:10", "neumann2d:40"}) {
    const csr_matrix<TestType> A = whilst::make_gallery<TestType>(problem).matrix;
    // Without a mean, up to rounding.
    std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
    double mean = 0;
    for (const TestType value : b) mean += static_cast<double>(value) / static_cast<double>(b.size());
    for (TestType& value : b) value -= static_cast<TestType>(mean);
    for (const std::string& executor : executors_with_steps()) {
      for (const char* method : {"cg", "minres", "gmres"}) {
        INFO(problem << ", " << executor << ", " << method);
        const auto [told, x] = solved(
            A,
            {.method = method, .preconditioner = "amg", .null_space = "constant", .rtol = rtol, .executor = executor},
            b);
        CHECK(told.converged());
        // Where M is linear but for a rounding of float, an estimate of gmres goes ahead of the residual.
        if (method != std::string("gmres")) CHECK(told.iterations() <= 40);
        CHECK(true_residual(A, b, x) <= 1.01 * rtol + 10 * epsilon_of<TestType>);
        double sum = 0, size = 0;
        for (const TestType value : x) {
          sum += static_cast<double>(value);
          size += std::abs(static_cast<double>(value));
        }
        CHECK(std::abs(sum) <= 10 * epsilon_of<TestType> * size);
      }
    }
  }
}

TEMPLATE_TEST_CASE("amg: new values are noticed", "[linear][amg][sanitizer]", float, double) {
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson2d:24").matrix;
  const csr_matrix<TestType> other = with_ones_added(A);
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps())
    for (const auto& [settings, coarsest_rows] : {std::pair<std::string, int>("amg", 128),
                                                  {"amg,precision=double", 128},
                                                  {"amg", 10},
                                                  {"amg,coarsening=classical", 250},
                                                  {"amg,coarsening=classical", 10},
                                                  {"amg,aggressive_levels=1", 128},

                                                  {"amg,coarsening=classical,aggressive_levels=2", 10}}) {
      INFO(executor << ", " << settings << ", " << coarsest_rows);
      const linear_solver_options options{.preconditioner = settings,
                                          .amg = {.coarsest_rows = coarsest_rows},
                                          .rtol = reachable<TestType>,
                                          .executor = executor};
      const auto of_A = solved(A, options, b), of_other = solved(other, options, b);
      CHECK(of_other.told.iterations() < of_A.told.iterations());  // a better condition, and levels of their own
      linear_solver<TestType> solver(A, options);
      CHECK((solved_by(solver, b).x == of_A.x));
      // Aggregates and coarse unknowns stay as they are. Those of the finest level depend on what is beside the
      // diagonal, which is the same: where there are no others, a solve makes what the constructor makes.
      solver.update_values(values_of(other));
      for (int again = 0; again < 2; ++again) {
        const auto updated = solved_by(solver, b);
        CHECK(updated.told.iterations() == of_other.told.iterations());
        CHECK(true_residual(other, b, updated.x) <= 1.01 * reachable<TestType>);
        if (coarsest_rows >= 128) CHECK((updated.x == of_other.x));
      }
      solver.update_values(A);
      CHECK((solved_by(solver, b).x == of_A.x));
      // Values of another size, which alone would make the old levels useless.
      solver.update_values(times(1e6, other));
      const auto large = solved_by(solver, b);
      CHECK(large.told.converged());
      CHECK(std::abs(large.told.iterations() - of_other.told.iterations()) <= 1);
      CHECK(true_residual(times(1e6, other), b, large.x) <= 1.01 * reachable<TestType>);
      // And values that spoil a hierarchy, for good if it were not made anew.
      for (const double spoilt : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
        solver.update_values(times(spoilt, A));
        const auto failed = solved_by(solver, b);
        CHECK_FALSE(failed.told.converged());
        CHECK(is_finite(failed.x));
        solver.update_values(A);
        CHECK((solved_by(solver, b).x == of_A.x));
      }
    }
}

TEST_CASE("amg: a solver made from zeros solves with the values that follow", "[linear][amg]") {
  // Without strong entries there is one level, which smooths.
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(times(0, A), {.preconditioner = "amg", .rtol = 1e-10, .executor = executor});
    solver.update_values(A);
    const auto [told, x] = solved_by(solver, b);
    CHECK(told.converged());
    CHECK(true_residual(A, b, x) <= 1.01e-10);
    CHECK(told.preconditioner_choice() == "amg, 1 level of 400 rows; operator complexity 1.00");
  }
}

TEST_CASE("amg: where other entries become large, aggregates no longer fit and solves are right", "[linear][amg]") {
  const csr_matrix<double> along_x = diffusion<double>(12, [](int x, int, int) { return x % 6 < 3 ? 1e4 : 1; }),
                           along_z = diffusion<double>(12, [](int, int, int z) { return z % 6 < 3 ? 1e4 : 1; });
  const std::vector<double> b = random_vector<double>(along_x.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(along_x, {.preconditioner = "amg", .rtol = 1e-8, .executor = executor});
    CHECK(solved_by(solver, b).told.converged());
    solver.update_values(along_z);
    const auto [told, x] = solved_by(solver, b);
    CHECK(told.converged());
    CHECK(true_residual(along_z, b, x) <= 1.01e-8);
  }
}

TEST_CASE("amg: values that other code writes are noticed, too", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix, other = with_ones_added(A);
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg", .rtol = 1e-10, .executor = executor};
    const auto of_A = solved(A, options, b), of_other = solved(other, options, b);
    linear_solver<double> solver(A, options);
    buffer<double> values(place_of(executor), A.nonzeros(), A.values().data());
    solver.bind_values(values.data());
    CHECK((solved_by(solver, b).x == of_A.x));
    values.upload(other.values().data());  // the solver is not told
    CHECK((solved_by(solver, b).x == of_other.x));
    // One entry counts, and so does the order.
    std::vector<double> changed = values_of(other);
    changed[33] *= 0.5;
    values.upload(changed.data());
    CHECK((solved_by(solver, b).x != of_other.x));
    std::swap(changed[33], changed[60]);
    values.upload(changed.data());
    const auto swapped = solved_by(solver, b);
    CHECK((swapped.told.reason() != reason::running));
    values.upload(A.values().data());
    CHECK((solved_by(solver, b).x == of_A.x));
  }
}

TEST_CASE("amg: the same bits however a solve is run", "[linear][amg]") {
  // 4096 unknowns: the host shares steps among threads.
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:64").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string settings :
       {"amg", "amg,coarsening=classical", "amg,aggressive_levels=1", "amg,coarsening=classical,aggressive_levels=1"}) {
    std::vector<double> on_gpu;
    for (const std::string& executor : executors_with_steps()) {
      const linear_solver_options options{.preconditioner = settings, .rtol = 1e-10, .executor = executor};
      const auto once = solved(A, options, b);
      CHECK((solved(A, options, b).x == once.x));
      for (const int number : {1, 3, 8}) {
        INFO(executor << ", " << settings << ", " << number);
        linear_solver_options changed = options;
        changed.unroll = number;
        CHECK((solved(A, changed, b).x == once.x));
        changed.threads = number;
        CHECK((solved(A, changed, b).x == once.x));
      }
      if (executor == "host") continue;
      if (on_gpu.empty()) on_gpu = once.x;
      CHECK((on_gpu == once.x));  // stream and graph
    }
  }
}

TEST_CASE("amg: solves that are enqueued run in their order", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg", .rtol = 1e-10, .executor = executor};
    // The second solve's right-hand side is what the first one finds: A A y = b.
    const auto first = solved(A, options, b), second = solved(A, options, first.x);
    const place where = place_of(executor);
    const buffer<double> rhs(where, A.rows(), b.data()), x(where, A.rows()), y(where, A.rows());
    linear_solver<double> solver(A, options);
#if WHILST_WITH_CUDA
    whilst::cuda::stream made;
    if (executor != "host") made = whilst::cuda::make_stream();
    const whilst::stream_handle stream = made.get();
#else
    const whilst::stream_handle stream = nullptr;
#endif
    const whilst::ticket one = solver.enqueue(stream, rhs.data(), x.data());
    const whilst::ticket other = solver.enqueue(stream, x.data(), y.data());
    CHECK(other.wait().iterations() == second.told.iterations());
    CHECK(one.wait().iterations() == first.told.iterations());
    std::vector<double> found(b.size());
    y.download(found.data());
    CHECK((found == second.x));
  }
}

TEST_CASE("amg: a cache keeps its hierarchy, and makes it anew for other values", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix, other = with_ones_added(A);
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg", .rtol = 1e-10, .executor = executor};
    whilst::program_cache cache;
    for (const csr_matrix<double>* matrix : {&A, &other, &A}) {
      std::vector<double> x(b.size(), 0.0);
      const report told = cache.solve(*matrix, b, x, options);
      CHECK(told.converged());
      CHECK((x == solved(*matrix, options, b).x));
    }
    CHECK(cache.counters().records == 1);
    CHECK(cache.counters().hits == 2);
    // Other settings make another hierarchy.
    linear_solver_options changed = options;
    changed.amg.coarsest_rows = 16;
    std::vector<double> x(b.size(), 0.0);
    CHECK(cache.solve(A, b, x, changed).converged());
    CHECK(cache.counters().records == 2);
  }
  std::vector<double> x(b.size(), 0.0);
  CHECK(whilst::solve(A, b, x, {.preconditioner = "amg", .rtol = 1e-10}).converged());
  CHECK(true_residual(A, b, x) <= 1.01e-10);
}

TEST_CASE("amg: matrices with 64-bit offsets, borrowed and in device memory", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  const std::vector<std::int32_t> offsets(A.row_offsets_32().begin(), A.row_offsets_32().end()),
      columns(A.column_indices().begin(), A.column_indices().end());
  const std::vector<double> values = values_of(A);
  const std::vector<std::int64_t> wide(offsets.begin(), offsets.end());
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg", .rtol = 1e-10, .executor = executor};
    const auto plain = solved(A, options, b);
    CHECK((solved(csr_matrix<double>(A.rows(), A.rows(), wide, columns, values), options, b).x == plain.x));
    CHECK((solved(csr_matrix<double>::borrow(A.rows(), A.rows(), offsets, columns, values), options, b).x == plain.x));
    if (executor == "host") continue;
    const buffer<std::int32_t> offsets_there(place::gpu(0), A.rows() + 1, offsets.data()),
        columns_there(place::gpu(0), A.nonzeros(), columns.data());
    const buffer<double> values_there(place::gpu(0), A.nonzeros(), values.data());
    const auto there = csr_matrix<double>::on_device(A.rows(), A.rows(), A.nonzeros(), offsets_there.data(),
                                                     columns_there.data(), values_there.data());
    CHECK((solved(there, options, b).x == plain.x));
  }
}

TEST_CASE("amg: limits, cancelling and what is told", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:64").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(A, {.preconditioner = "amg", .rtol = 1e-10, .executor = executor});
    solver.set_max_iterations(2);
    const auto stopped = solved_by(solver, b);
    CHECK(stopped.told.reason() == reason::iteration_limit);
    CHECK(stopped.told.iterations() == 2);
    CHECK(true_residual(A, b, stopped.x) < 1);
    solver.set_max_iterations(1000);
    solver.set_deadline(1e-9);
    CHECK(solved_by(solver, b).told.reason() == reason::deadline);
    solver.set_deadline(std::numeric_limits<double>::infinity());
    CHECK(solved_by(solver, b).told.converged());
    // The finest level alone holds, in float, two products of about twice the matrix's entries.
    linear_solver<double> plain(A, {.rtol = 1e-10, .executor = executor});
    CHECK(solver.bytes() > plain.bytes() + 2 * A.nonzeros() * index_type{sizeof(float)});
    bool is_listed = false;
    for (const whilst::memory_item& item : solver.memory().items) is_listed |= item.name == "the levels of amg";
    CHECK(is_listed);
  }
}

TEST_CASE("amg: what does not go with it is refused", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:9").matrix;
  const auto refusal = [&](linear_solver_options options) {
    options.executor = options.executor == "auto" ? "host" : options.executor;
    if (options.preconditioner == "none") options.preconditioner = "amg";
    return message_of([&] { linear_solver<double>(A, options); });
  };
  const std::string making = "making a linear solver: ";
  for (const std::string method : {"lsqr", "lsmr", "cgls"})
    CHECK(refusal({.method = method}) == making + "preconditioner amg is for A, and method " + method +
                                             " wants one for A'A. Use none or jacobi, or another method");
  for (const std::string scaling : {"rows", "symmetric", "equilibrate"})
    CHECK(refusal({.method = "bicgstab", .scaling = scaling}) ==
          making + "scaling " + scaling +
              " changes the matrix that preconditioner amg is for. Leave out one of the two");
  CHECK(refusal({.matrix_values = "float"}).find("changes the matrix that preconditioner amg is for") !=
        std::string::npos);
  CHECK(refusal({.executor = "resident"}) ==
        making +
            "preconditioner amg records steps of its own, and executor resident is one kernel. Use executor "
            "graph, stream or host");
  CHECK(refusal({.preconditioner = "amg,precision=half"}) ==
        making + "setting precision is 'half' of preconditioner amg. Use one of auto, bfloat16, float, double");
  CHECK(refusal({.amg = {.precision = "half"}}) == refusal({.preconditioner = "amg,precision=half"}));
  CHECK(refusal({.preconditioner = "amg,strength=-0.5"}) ==
        making + "setting strength is -0.500000 of preconditioner amg. Use 0 to 1");
  CHECK(refusal({.preconditioner = "amg,strength=nan"}).find("Use 0 to 1") != std::string::npos);
  for (const std::string rows : {"2049", "-1", "-3"})
    CHECK(refusal({.preconditioner = "amg,coarsest_rows=" + rows}) ==
          making + "setting coarsest_rows is " + rows +
              " of preconditioner amg. Use 1 to 2048, or 0 for what suits the machine");
  CHECK(refusal({.preconditioner = "amg,most_levels=0"}) ==
        making + "setting most_levels is 0 of preconditioner amg. Use 1 to 100");
  for (const std::string text : {"much", "", "0.5x", " 1"})
    CHECK(refusal({.preconditioner = "amg,strength=" + text}) ==
          making + "setting strength of preconditioner amg is '" + text + "'. Give a number");
  CHECK(refusal({.preconditioner = "amg,levels=2"}) ==
        making +
            "preconditioner amg has no setting called 'levels'. Use some of precision, coarsening, strength, "
            "interpolation_entries, aggressive_levels, coarsest_rows, most_levels, cycle, revisited_level, "
            "smoother, sweeps, unknowns_a_node, refresh, refresh_growth");
  CHECK(refusal({.preconditioner = "amgx"}).find("there is no preconditioner called 'amgx'") != std::string::npos);

  // Where there is no matrix.
  const auto apply = [](whilst::stream_handle, index_type n, const double* x, double* y) {
    for (index_type i = 0; i < n; ++i) y[i] = 2 * x[i];
  };
  const std::string without = message_of([&] {
    linear_solver<double>(9, apply, {.preconditioner = "amg", .executor = "host", .callback_memory = "host"});
  });
  CHECK(without.find(making) == 0);
  CHECK(without.find("amg") != std::string::npos);
  // The caller's preconditioner counts, as it does beside jacobi.
  const auto halve = [](whilst::stream_handle, index_type n, const double* r, double* z) {
    for (index_type i = 0; i < n; ++i) z[i] = r[i] / 2;
  };
  linear_solver<double> given(A, halve, {.preconditioner = "amg", .executor = "host", .callback_memory = "host"});
  std::vector<double> x(9, 0.0);
  CHECK(given.solve(std::vector<double>(9, 1.0), x).preconditioner() == "user");

  const std::string others =
      "there is no preconditioner called 'amg'. Use one of none, jacobi; a linear_solver also "
      "takes amg, multigrid, ilu, ic, fsai, spai";
  CHECK(message_of([&] { whilst::batch_linear_solver<double>(A, 2, {.preconditioner = "amg"}); }).find(others) !=
        std::string::npos);
}

}  // namespace whilst_test
