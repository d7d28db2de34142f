#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

template <class T>
constexpr double epsilon_of = static_cast<double>(std::numeric_limits<T>::epsilon());

template <class T>
csr_matrix<T> matrix_of(const Eigen::MatrixXd& dense) {
  triplets<T> t(dense.rows());
  for (Eigen::Index i = 0; i < dense.rows(); ++i) {
    for (Eigen::Index j = 0; j < dense.cols(); ++j) {
      if (dense(i, j) == 0 && i != j) continue;
      t.columns.push_back(static_cast<std::int32_t>(j));
      t.values.push_back(static_cast<T>(dense(i, j)));
    }
    t.offsets.push_back(static_cast<std::int32_t>(t.columns.size()));
  }
  return t.matrix();
}

/// A graph's Laplacian, with these conductances between neighbours of a path: 1-D, pure Neumann.
Eigen::MatrixXd path(const std::vector<double>& conductances) {
  const auto n = static_cast<Eigen::Index>(conductances.size()) + 1;
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i + 1 < n; ++i) {
    const double c = conductances[static_cast<std::size_t>(i)];
    A(i, i) += c;
    A(i + 1, i + 1) += c;
    A(i, i + 1) = A(i + 1, i) = -c;
  }
  return A;
}
std::vector<double> uneven(int count) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i) made.push_back(1 + 0.5 * std::sin(3.0 * i));
  return made;
}

/// A singular symmetric matrix and what spans its null space, one vector after another.
struct singular {
  Eigen::MatrixXd A;
  std::vector<double> vectors;
};

/// Two paths that nothing connects; indicator vectors, mixed so that they are neither normed nor orthogonal.
singular two_paths() {
  const Eigen::MatrixXd one = path(uneven(19)), other = path(uneven(29));
  singular made{Eigen::MatrixXd::Zero(50, 50), {}};
  made.A.topLeftCorner(20, 20) = one;
  made.A.bottomRightCorner(30, 30) = 100 * other;
  for (const double weight : {3.0, -0.5})
    for (int i = 0; i < 50; ++i) made.vectors.push_back(i < 20 ? 1 : weight);
  return made;
}

/// Eight paths of five points: more vectors than a step takes.
singular eight_paths() {
  singular made{Eigen::MatrixXd::Zero(40, 40), std::vector<double>(320, 0)};
  for (int k = 0; k < 8; ++k) {
    made.A.block(5 * k, 5 * k, 5, 5) = path(uneven(4));
    for (int i = 0; i < 5; ++i) made.vectors[static_cast<std::size_t>(40 * k + 5 * k + i)] = 1 + k;
  }
  return made;
}

/// Springs between near points of a 3 x 3 x 3 grid with moved points, held by nothing: six rigid motions.
singular loose_springs() {
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < 27; ++i)
    points.emplace_back(i % 3 + 0.1 * std::sin(i), i / 3 % 3 + 0.1 * std::sin(2 * i), i / 9 + 0.1 * std::cos(i));
  const auto n = static_cast<Eigen::Index>(3 * points.size());
  singular made{Eigen::MatrixXd::Zero(n, n), {}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Eigen::Vector3d way = points[i] - points[j];
      if (way.norm() > 2) continue;
      const Eigen::Matrix3d spring = way * way.transpose() / way.squaredNorm();
      const auto at = static_cast<Eigen::Index>(3 * i), to = static_cast<Eigen::Index>(3 * j);
      made.A.block<3, 3>(at, at) += spring;
      made.A.block<3, 3>(to, to) += spring;
      made.A.block<3, 3>(at, to) -= spring;
      made.A.block<3, 3>(to, at) -= spring;
    }
  }
  for (int axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < points.size(); ++i)
      for (int k = 0; k < 3; ++k) made.vectors.push_back(k == axis);
  for (int axis = 0; axis < 3; ++axis)
    for (const Eigen::Vector3d& point : points) {
      const Eigen::Vector3d turned = Eigen::Vector3d::Unit(axis).cross(point);
      made.vectors.insert(made.vectors.end(), turned.data(), turned.data() + 3);
    }
  return made;
}

/// The least-squares solution of least norm.
Eigen::VectorXd least_norm_solution(const Eigen::MatrixXd& A, const Eigen::VectorXd& b, int nullity) {
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factors(A.rows(), A.cols());
  factors.setThreshold(1e-6);  // in float, A's null space is one within its rounding only
  factors.compute(A);
  REQUIRE(factors.rank() == A.rows() - nullity);
  return factors.solve(b);
}
/// The least eigenvalue but for those of the null space.
double least_eigenvalue(const Eigen::MatrixXd& A, int nullity) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A).eigenvalues()[nullity];
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

TEMPLATE_TEST_CASE("a current through a line: the constant null space, every method", "[linear][null-space][sanitizer]",
                   float, double) {
  // In at one end and out at the other: every neighbour is lower by 1, and the mean of the least x is 0.
  constexpr int n = 8;
  const csr_matrix<TestType> A = matrix_of<TestType>(path(std::vector<double>(n - 1, 1)));
  std::vector<TestType> b(n, 0);
  b.front() = 1;
  b.back() = -1;
  const double rtol = 100 * epsilon_of<TestType>;
  const double least = 2 - 2 * std::cos(std::numbers::pi / n);
  std::vector<std::string> names = methods_on("host");
  for (const char* more : {"auto", "chebyshev", "richardson"}) names.emplace_back(more);
  for (const std::string& executor : executors_with_steps()) {
    for (const std::string& method : names) {
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", " << method << ", " << preconditioner);
        // For chebyshev and richardson: 2 - 2 cos(k pi / n) without M, 1 - cos(k pi / (n - 1)) with it.
        const bool is_plain = preconditioner == std::string("none");
        linear_solver<TestType> solver(A,
                                       {.method = method,
                                        .preconditioner = preconditioner,
                                        .null_space = "constant",
                                        .rtol = rtol,
                                        .least_eigenvalue = is_plain ? least : 1 - std::cos(std::numbers::pi / (n - 1)),
                                        .greatest_eigenvalue = is_plain ? 4.0 : 2.0,
                                        .executor = executor});
        std::vector<TestType> x(n, 1000), again = x;
        const report told = solver.solve(b, x);
        CHECK(told.converged());
        CHECK(told.rhs_norm() == Approx(std::sqrt(2)));
        CHECK(told.removed_norm() <= epsilon_of<TestType>);
        // ||x - exact|| <= ||residual|| / least, and the rounding of x.
        double error = 0;
        for (int i = 0; i < n; ++i)
          error = std::hypot(error, static_cast<double>(x[static_cast<std::size_t>(i)]) - ((n - 1) / 2.0 - i));
        CHECK(error <= 2 * rtol * std::sqrt(2) / least);
        solver.solve(b, again);
        CHECK((again == x));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a square without boundary values, more rows than a block", "[linear][null-space]", float, double) {
  constexpr int size = 40, n = size * size;
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("neumann2d:40").matrix;
  // A cosine that is level at the boundary is an eigenvector.
  const auto factor = [](int waves) { return 2 - 2 * std::cos(waves * std::numbers::pi / size); };
  const double eigenvalue = factor(2) + factor(3), least = factor(1);
  std::vector<double> exact;
  for (int i = 0; i < n; ++i)
    exact.push_back(std::cos(2 * std::numbers::pi * (i / size + 0.5) / size) *
                    std::cos(3 * std::numbers::pi * (i % size + 0.5) / size));
  constexpr double level = 7;  // what no A x can be
  std::vector<TestType> b;
  for (const double value : exact) b.push_back(static_cast<TestType>(eigenvalue * value + level));
  const double rtol = 200 * epsilon_of<TestType>;
  for (const std::string& executor : executors_with_steps()) {
    for (const char* method : {"cg", "minres", "bicgstab", "gmres", "auto"}) {
      INFO(executor << ", " << method);
      linear_solver<TestType> solver(
          A,
          {.method = method, .preconditioner = "jacobi", .null_space = "constant", .rtol = rtol, .executor = executor});
      std::vector<TestType> x = random_vector<TestType>(n, 5);
      for (TestType& value : x) value += 100;
      const report told = solver.solve(b, x);
      CHECK(told.converged());
      CHECK(told.removed_norm() == Approx(level * size));
      CHECK(told.rhs_norm() == Approx(eigenvalue * to_eigen(exact).norm()));
      const Eigen::VectorXd error = to_eigen(x) - to_eigen(exact);
      // The residual, and that b is rounded next to a level far above the rest of it.
      const double of_b = rtol * told.rhs_norm() + epsilon_of<TestType> * to_eigen(b).norm();
      CHECK(error.norm() <= 2 * of_b / least);
      CHECK(std::abs(to_eigen(x).sum()) <= n * epsilon_of<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("a block of null space vectors and any b: least squares, least norm", "[linear][null-space]", float,
                   double) {
  struct example {
    const char* name;
    singular given;
    int nullity;
  };
  for (const example& e : {example{"two paths", two_paths(), 2}, example{"loose springs", loose_springs(), 6},
                           example{"eight paths", eight_paths(), 8}}) {
    const csr_matrix<TestType> A = matrix_of<TestType>(e.given.A);
    const Eigen::MatrixXd rounded = to_eigen(A);
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 4);
    const Eigen::VectorXd best = least_norm_solution(rounded, to_eigen(b), e.nullity);
    const double removed = (to_eigen(b) - rounded * best).norm(), least = least_eigenvalue(rounded, e.nullity);
    const double rtol = 1000 * epsilon_of<TestType>;
    for (const std::string& executor : executors_with_steps()) {
      for (const char* method : {"cg", "minres", "cr", "bicgstab", "gmres", "auto"}) {
        for (const char* preconditioner : {"none", "jacobi"}) {
          INFO(e.name << ", " << executor << ", " << method << ", " << preconditioner);
          linear_solver<TestType> solver(A, {.method = method,
                                             .preconditioner = preconditioner,
                                             .null_space = "vectors",
                                             .null_space_vectors = e.given.vectors,
                                             .rtol = rtol,
                                             .executor = executor});
          std::vector<TestType> x = random_vector<TestType>(A.rows(), 6);
          const report told = solver.solve(b, x);
          CHECK(told.converged());
          CHECK(told.removed_norm() == Approx(removed).epsilon(100 * epsilon_of<TestType>));
          CHECK(std::hypot(told.removed_norm(), told.rhs_norm()) ==
                Approx(to_eigen(b).norm()).epsilon(100 * epsilon_of<TestType>));
          // The residual; in float, that the null space of the rounded A is another one by some epsilon of its norm.
          const double off = epsilon_of<TestType> * rounded.norm() * best.norm();
          CHECK((to_eigen(x) - best).norm() <= 4 * (rtol * to_eigen(b).norm() + off) / least);
          // ... without which cg finds no solution, since there is none.
          if (method == std::string("cg")) {
            linear_solver<TestType> plain(A, {.rtol = rtol, .max_iterations = 1000, .executor = executor});
            std::vector<TestType> y(x.size(), 0);
            CHECK_FALSE(plain.solve(b, y).converged());
          }
        }
      }
    }
  }
}

TEST_CASE("a null space means the same at every scale", "[linear][null-space]") {
  const singular given = two_paths();
  const std::vector<double> b = random_vector<double>(50, 3);
  std::string method, preconditioner;
  const auto solved = [&](double of_A, double of_b) {
    const csr_matrix<double> A = matrix_of<double>(of_A * given.A);
    std::vector<double> scaled = b, vectors = given.vectors;
    for (double& value : scaled) value *= of_b;
    for (double& value : vectors) value *= of_A;
    linear_solver<double> solver(A, {.method = method,
                                     .preconditioner = preconditioner,
                                     .null_space = "vectors",
                                     .null_space_vectors = vectors,
                                     .rtol = 1e-12,
                                     .executor = "host"});
    std::vector<double> x(b.size(), 0);
    const report told = solver.solve(scaled, x);
    INFO(of_A << " A, " << of_b << " b: " << told.message());
    CHECK(told.converged());
    for (double& value : x) value *= of_A / of_b;
    return x;
  };
  for (const char* of : {"cg", "minres"}) {
    method = of;
    preconditioner = of == std::string("cg") ? "jacobi" : "none";
    const std::vector<double> plain = solved(1, 1);
    // Powers of two change no digit.
    for (const double of_A : {0x1p-660, 0x1p660}) CHECK((solved(of_A, of_A) == plain));
    for (const double of_b : {0x1p-660, 0x1p660}) CHECK((solved(1, of_b) == plain));
    for (const double scale : {1e-200, 1e200}) {
      const std::vector<double> x = solved(scale, scale);
      // Within rtol of the solution, whose condition number is about 4e4.
      CHECK((to_eigen(x) - to_eigen(plain)).norm() <= 1e-6 * to_eigen(plain).norm());
    }
  }
  // The constant vector's mean: the sum of its entries would overflow.
  linear_solver<double> solver(matrix_of<double>(path({1, 1, 1})),
                               {.null_space = "constant", .rtol = 1e-12, .executor = "host"});
  const double huge = 1e308;
  std::vector<double> x(4, huge);
  CHECK(solver.solve(std::vector<double>{1, -1, 1, -1}, x).converged());
  CHECK((to_eigen(x) - Eigen::Vector4d(1, 0, 0, -1)).norm() < 1e-11);
}

TEST_CASE("the null space of a matrix that is not symmetric", "[linear][null-space]") {
  // Rows of different sizes: A 1 = 0, but A' 1 is not 0.
  const int n = 60;
  Eigen::MatrixXd dense = path(uneven(n - 1));
  for (int i = 0; i < n; ++i) dense.row(i) *= 1 + i % 7;
  const csr_matrix<double> A = matrix_of<double>(dense);
  Eigen::VectorXd wanted = to_eigen(random_vector<double>(n, 8));
  wanted.array() -= wanted.mean();
  const Eigen::VectorXd consistent = dense * wanted;
  std::vector<double> b(consistent.data(), consistent.data() + n);
  for (const std::string& method : methods_on("host", matrix_kind::unsymmetric)) {
    INFO(method);
    linear_solver<double> solver(
        A, {.method = method, .preconditioner = "jacobi", .null_space = "constant", .rtol = 1e-12, .restart = 60});
    std::vector<double> x(b.size(), 1);
    CHECK(solver.solve(b, x).converged());
    // Of a consistent b, nothing is lost.
    CHECK((dense * to_eigen(x) - consistent).norm() <= 1e-11 * consistent.norm());
    CHECK((to_eigen(x) - wanted).norm() <= 1e-8 * wanted.norm());
    // Of another one, b - A x lies in the null space.
    std::vector<double> other = b;
    other[3] += 1;
    CHECK(solver.solve(other, x).converged());
    const Eigen::VectorXd left = to_eigen(other) - dense * to_eigen(x);
    CHECK((left.array() - left.mean()).matrix().norm() <= 1e-11 * consistent.norm());
  }
}

TEST_CASE("a singular matrix that is indefinite", "[linear][null-space]") {
  std::vector<double> conductances = uneven(39);
  for (std::size_t i = 15; i < conductances.size(); ++i) conductances[i] *= -1;
  const Eigen::MatrixXd dense = path(conductances);
  const std::vector<double> b = random_vector<double>(40, 2);
  const Eigen::VectorXd best = least_norm_solution(dense, to_eigen(b), 1);
  for (const std::string& method : methods_on("host", matrix_kind::indefinite)) {
    // Convergence takes about as many iterations as there are rows; those that stagnate there are not for it.
    if (method != "minres" && method != "gmres" && method != "fgmres") continue;
    for (const char* preconditioner : {"none", "jacobi"}) {
      INFO(method << ", " << preconditioner);
      linear_solver<double> solver(matrix_of<double>(dense), {.method = method,
                                                              .preconditioner = preconditioner,
                                                              .null_space = "constant",
                                                              .rtol = 1e-10,
                                                              .restart = 60,
                                                              .executor = "host"});
      std::vector<double> x(b.size(), 1);
      CHECK(solver.solve(b, x).converged());
      CHECK((to_eigen(x) - best).norm() <= 1e-6 * best.norm());  // rtol times a condition number of about 1000
    }
  }
}

TEST_CASE("a null space of formats, callbacks and preconditioners of one's own", "[linear][null-space]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("neumann2d:9").matrix;
  const std::vector<double> b = random_vector<double>(81, 2);
  const Eigen::VectorXd best = least_norm_solution(Eigen::MatrixXd(to_eigen(A)), to_eigen(b), 1);
  const auto check = [&](linear_solver<double>& solver) {
    std::vector<double> x(b.size(), 3);
    CHECK(solver.solve(b, x).converged());
    CHECK((to_eigen(x) - best).norm() <= 1e-9 * best.norm());  // rtol times a condition number of about 70
  };
  for (const char* format : {"csr", "sell", "ell", "balanced"}) {
    INFO(format);
    linear_solver<double> solver(A, {.null_space = "constant", .format = format, .rtol = 1e-12, .executor = "host"});
    check(solver);
  }
  const auto multiply = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    Eigen::Map<Eigen::VectorXd>(y, n) = to_eigen(A) * Eigen::Map<const Eigen::VectorXd>(x, n);
  };
  const auto scale = [](whilst::stream_handle, index_type n, const double* r, double* z) {
    for (index_type i = 0; i < n; ++i) z[i] = (1 + static_cast<double>(i % 3)) * r[i];
  };
  // Nearly all of M r is in the null space. What x would get of it, it would lose in digits.
  const auto lean = [](whilst::stream_handle, index_type n, const double* r, double* z) {
    double sum = 0;
    for (index_type i = 0; i < n; ++i) sum += static_cast<double>(i % 3) * r[i];
    for (index_type i = 0; i < n; ++i) z[i] = r[i] + 1e10 * sum;
  };
  for (const char* method : {"cg", "minres", "auto"}) {
    INFO(method);
    const linear_solver_options options{
        .method = method, .null_space = "constant", .rtol = 1e-12, .callback_memory = "host"};
    linear_solver<double> by_callback(81, multiply, options);
    check(by_callback);
    linear_solver<double> preconditioned(A, scale, options);
    check(preconditioned);
    linear_solver<double> both(81, multiply, scale, options);
    check(both);
    linear_solver<double> leaning(A, lean, options);
    check(leaning);
  }
}

TEST_CASE("other values of a matrix with a null space", "[linear][null-space]") {
  const Eigen::MatrixXd first = path(uneven(29)), second = path(std::vector<double>(29, 3));
  const csr_matrix<double> A = matrix_of<double>(first), other = matrix_of<double>(second);
  const std::vector<double> b = random_vector<double>(30, 2);
  linear_solver<double> solver(A, {.null_space = "constant", .rtol = 1e-12, .executor = "host"});
  const auto check = [&](const Eigen::MatrixXd& dense) {
    std::vector<double> x(b.size(), 0);
    CHECK(solver.solve(b, x).converged());
    const Eigen::VectorXd best = least_norm_solution(dense, to_eigen(b), 1);
    CHECK((to_eigen(x) - best).norm() <= 1e-9 * best.norm());  // rtol times a condition number of about 400
  };
  check(first);
  solver.update_values(other.values());
  check(second);
  solver.update_values(A);
  check(first);
  solver.bind_values(other.values().data());
  check(second);
  // Values without that null space are refused, and those before stay in use.
  std::vector<double> regular(other.values().begin(), other.values().end());
  regular.front() += 1;
  CHECK_THROWS_WITH(solver.update_values(std::span<const double>(regular)),
                    contains("updating a matrix's values: the constant vector is not in the null space"));
  const csr_matrix<double> refused(30, 30, other.row_offsets_32(), other.column_indices(), regular);
  CHECK_THROWS_WITH(solver.update_values(refused), contains("the constant vector is not in the null space"));
  check(second);
}

TEST_CASE("null spaces in the cache and in columns", "[linear][null-space]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("neumann2d:5").matrix;
  const std::vector<double> b = random_vector<double>(25, 2);
  const Eigen::VectorXd best = least_norm_solution(Eigen::MatrixXd(to_eigen(A)), to_eigen(b), 1);
  for (const char* method : {"cg", "auto"}) {
    const linear_solver_options options{.method = method, .null_space = "constant", .rtol = 1e-12};
    std::vector<double> x(b.size(), 0), both(50, 0), twice = b;
    CHECK(whilst::solve(A, b, x, options).converged());
    CHECK((to_eigen(x) - best).norm() <= 1e-10 * best.norm());  // rtol times a condition number of about 20
    twice.insert(twice.end(), b.begin(), b.end());
    whilst::columns_linear_solver<double> columns(A, 2, options);
    const whilst::columns_report told = columns.solve(twice, both);
    CHECK(told.all_converged());
    CHECK_THAT(told.note(), contains("since a null space is projected out of one vector"));
    CHECK((to_eigen(both).tail(25) - best).norm() <= 1e-10 * best.norm());
  }
  whilst::reset();
}

TEST_CASE("solves with a null space that do not converge", "[linear][null-space]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("neumann2d:20").matrix;
  linear_solver<double> solver(A, {.null_space = "constant", .rtol = 1e-12, .max_iterations = 3, .executor = "host"});
  const std::vector<double> b = random_vector<double>(400, 2);
  std::vector<double> x(b.size(), 9);
  const report limited = solver.solve(b, x);
  CHECK(limited.reason() == whilst::reason::iteration_limit);
  CHECK(limited.iterations() == 3);
  CHECK(std::abs(to_eigen(x).sum()) <= 1e-12);
  std::vector<double> bad = b;
  bad[7] = std::numeric_limits<double>::quiet_NaN();
  const report failed = solver.solve(bad, x);
  CHECK(failed.reason() == whilst::reason::nan_or_infinity);
  CHECK(std::isnan(failed.removed_norm()));
  for (const double value : x) CHECK(std::isfinite(value));
  // Nothing but what is removed: x is of the size of its rounding.
  const report nothing = solver.solve(std::vector<double>(400, 0.1), x);
  CHECK(nothing.removed_norm() == Approx(2));
  CHECK(to_eigen(x).norm() <= 1e-12);
  // One row that says nothing.
  linear_solver<double> trivial(matrix_of<double>(Eigen::MatrixXd::Zero(1, 1)),
                                {.null_space = "constant", .executor = "host"});
  std::vector<double> one{5};
  const report zero = trivial.solve(std::vector<double>{3}, one);
  CHECK(zero.converged());
  CHECK(zero.removed_norm() == 3);
  CHECK(one[0] == 0);
}

TEST_CASE("null spaces that cannot be are refused", "[linear][null-space]") {
  const csr_matrix<double> A = matrix_of<double>(path(uneven(3))), regular = convection_diffusion<double>(4);
  const auto refused = [&](const linear_solver_options& options) {
    return message_of([&] { linear_solver<double>(A, options); });
  };
  const auto vectors = [](std::vector<double> given) {
    return linear_solver_options{.null_space = "vectors", .null_space_vectors = std::move(given)};
  };
  const std::string making = "making a linear solver: ";
  CHECK(refused({.null_space = "ones"}) ==
        making + "there is no null_space called 'ones'. Use one of none, constant, vectors");
  CHECK(refused({.null_space_vectors = {1, 1, 1, 1}}) ==
        making + "there are null_space_vectors, and null_space is none. Set null_space to vectors, or leave them out");
  CHECK_THAT(refused(vectors({})), contains("null_space_vectors has 0 entries, and the matrix 4 rows"));
  CHECK_THAT(refused(vectors({1, 1, 1, 1, 1})), contains("null_space_vectors has 5 entries, and the matrix 4 rows"));
  CHECK_THAT(refused(vectors(std::vector<double>(20, 1))), contains("there are 5 null space vectors for 4 rows"));
  CHECK_THAT(refused(vectors({1, 1, 1, 1, 0, 0, 0, 0})), contains("null space vector 1 (from 0) is zero"));
  CHECK_THAT(refused(vectors({1, 1, 1, 1, 2, 2, 2, 2})),
             contains("null space vector 1 (from 0) is a combination of those before it"));
  CHECK_THAT(refused(vectors({1, std::nan(""), 1, 1})),
             contains("null space vector 0 (from 0) has the entry nan in row 1. Give finite vectors"));
  CHECK_THAT(refused(vectors({1, 1, 1, HUGE_VAL})), contains("has the entry inf in row 3"));
  CHECK_THAT(refused(vectors({1, 1, 1, 1.1})), contains("null space vector 0 (from 0) is not in the null space"));
  CHECK_THAT(message_of([&] { linear_solver<double>(regular, {.method = "gmres", .null_space = "constant"}); }),
             contains("the constant vector is not in the null space: row 0 of A times it is"));
  CHECK_THAT(refused({.null_space = "constant", .executor = "resident"}), contains("executor resident is one kernel"));
  CHECK_THAT(refused({.method = "chebyshev", .null_space = "constant", .greatest_eigenvalue = 4}),
             contains("method chebyshev does not estimate eigenvalues beside a null space"));
  CHECK_THAT(refused({.method = "lsqr", .null_space = "constant"}),
             contains("method lsqr needs no null space to find the solution of least norm"));
  CHECK_THAT(message_of([&] {
               linear_solver<double>(
                   csr_matrix<double>(1, 2, std::vector{0, 2}, std::vector{0, 1}, std::vector<double>{1, -1}),
                   {.method = "auto", .null_space = "constant"});
             }),
             contains("method lsqr needs no null space"));
  CHECK_THAT(message_of([&] { whilst::batch_linear_solver<double>(A, 3, {.null_space = "constant"}); }),
             contains("a null space is projected out by steps"));
  // Regular ones, with a condition of some thousands and some billions: their solutions would be lost.
  const auto shifted = [](double by) {
    return Eigen::MatrixXd(by * path(uneven(9)) + Eigen::MatrixXd::Identity(10, 10));
  };
  CHECK_THAT(message_of([&] { linear_solver<float>(matrix_of<float>(shifted(1000)), {.null_space = "constant"}); }),
             contains("the constant vector is not in the null space"));
  Eigen::MatrixXd parts = Eigen::MatrixXd::Zero(20, 20);  // one of them far larger than the regular one
  parts.topLeftCorner(10, 10) = 1e12 * path(uneven(9));
  parts.bottomRightCorner(10, 10) = shifted(1);
  CHECK_THAT(message_of([&] { linear_solver<double>(matrix_of<double>(parts), {.null_space = "constant"}); }),
             contains("not in the null space: row 10 of A"));
  // A NaN in the matrix is no error: the solve says so.
  csr_matrix<double> spoiled(1, 1, std::vector{0, 1}, std::vector{0}, std::vector<double>{std::nan("")});
  linear_solver<double> solver(spoiled, {.null_space = "constant", .executor = "host"});
  std::vector<double> x{0};
  CHECK(solver.solve(std::vector<double>{1}, x).converged());  // b is all null space, and 0 solves what is left
}

}  // namespace whilst_test
