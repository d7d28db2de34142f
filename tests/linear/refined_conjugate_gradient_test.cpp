// Conjugate gradients in mixed precision: what the tests of all methods cannot see.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <Eigen/SparseCholesky>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/linear/methods/refined_conjugate_gradient.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// x after k iterations from zero, by the textbook in double.
Eigen::VectorXd after(int k, const Eigen::MatrixXd& A, const Eigen::MatrixXd& M, const Eigen::VectorXd& b) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(b.size()), r = b, u = M * r, p = u;
  for (int i = 0; i < k; ++i) {
    const Eigen::VectorXd q = A * p;
    const double ru = r.dot(u), alpha = ru / p.dot(q);
    x += alpha * p;
    r -= alpha * q;
    u = M * r;
    p = u + (r.dot(u) / ru) * p;
  }
  return x;
}

}  // namespace

TEST_CASE("the first iterates of refined-cg are those of cg to the digits of float", "[linear][refined-cg]") {
  const auto A = whilst::make_gallery<double>("poisson1d:50").matrix;
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(50, 4);
  for (const bool jacobi : {false, true}) {
    Eigen::MatrixXd M = Eigen::MatrixXd::Identity(50, 50);
    if (jacobi) M = dense.diagonal().cwiseInverse().asDiagonal();
    for (const std::string& executor : executors_with_steps())
      for (int k = 1; k <= 10; ++k) {
        INFO(executor << (jacobi ? ", jacobi" : ", none") << ", k = " << k);
        std::vector<double> x(50, 0.0);
        const report r = linear_solver<double>(A, {.method = "refined-cg",
                                                   .preconditioner = jacobi ? "jacobi" : "none",
                                                   .rtol = 0,
                                                   .max_iterations = k,
                                                   .keep_best = false,
                                                   .executor = executor})
                             .solve(b, x);
        CHECK(r.iterations() == k);
        CHECK(r.reason() == reason::iteration_limit);
        const Eigen::VectorXd expected = after(k, dense, M, to_eigen(b));
        // An entry of p, q, r and x is rounded to float once an iteration each.
        constexpr double float_epsilon = 0x1p-23;
        CHECK((to_eigen(x) - expected).norm() <= 4 * k * float_epsilon * expected.norm());
        CHECK(r.residual_norm() == Approx((to_eigen(b) - dense * to_eigen(x)).norm()).epsilon(1e-12));
        CHECK(r.history().size() >= static_cast<std::size_t>(k + 1));
      }
  }
}

TEST_CASE("refined-cg reaches what float cannot, in the iterations of cg", "[linear][refined-cg]") {
  struct one {
    const char* gallery;
    double most;  ///< times the iterations of cg
  };
  // Float holds the values of the first two. Those of the third it does not, and its condition is near 1e5.
  for (const auto& [gallery, most] : {one{"poisson2d:40", 1.2}, one{"poisson3d:12", 1.2}, one{"elasticity2d:8", 2}}) {
    const auto problem = whilst::make_gallery<double>(gallery);
    const auto n = static_cast<index_type>(problem.rhs.size());
    // A load without the symmetries of the grid.
    const std::vector<double> b = random_vector<double>(n, 6);
    const Eigen::SparseMatrix<double> of_columns = to_eigen(problem.matrix);
    const Eigen::VectorXd exact = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(of_columns).solve(to_eigen(b));
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"}) {
        linear_solver_options options{
            .method = "refined-cg", .preconditioner = preconditioner, .rtol = 1e-11, .executor = executor};
        std::vector<double> x(b.size(), 0), of_cg = x;
        linear_solver<double> solver(problem.matrix, options);
        const report r = solver.solve(b, x);
        options.method = "cg";
        const report cg = linear_solver<double>(problem.matrix, options).solve(b, of_cg);
        INFO(gallery << ", " << executor << ", " << preconditioner << ": " << r.iterations() << " iterations, cg "
                     << cg.iterations());
        CHECK(r.reason() == reason::converged_rtol);
        CHECK(r.method() == "refined-cg");
        CHECK(relative_residual(problem.matrix, b, x) <= 1.01e-11);
        CHECK((to_eigen(x) - exact).norm() <= 1e-8 * exact.norm());
        CHECK(static_cast<double>(r.iterations()) <= most * static_cast<double>(cg.iterations()));
        std::vector<double> again(b.size(), 0);
        CHECK(solver.solve(b, again).iterations() == r.iterations());
        CHECK((again == x));
        // From where it ended nothing is to do, and new values count.
        CHECK(solver.solve(b, x).iterations() == 0);
        std::vector<double> values(problem.matrix.values().begin(), problem.matrix.values().end());
        for (double& value : values) value *= 2;
        solver.update_values(values);
        std::vector<double> half(b.size(), 0);
        CHECK(solver.solve(b, half).converged());
        CHECK((2 * to_eigen(half) - exact).norm() <= 1e-8 * exact.norm());
      }
  }
}

namespace {

/// A matrix with slices for vectors of float, on the host.
class sliced {
  using csr = whilst::csr_operator<double, std::int32_t, whilst::fixed_slot<const double>>;
  using slices = whilst::sliced_operator<csr, true>;
  csr_matrix<double> A_;
  double factor_;
  struct alignas(256) piece {
    std::byte bytes[256];
  };
  std::vector<piece> memory_;

  slices placed(whilst::workspace& memory) const {
    const csr A{A_.rows(),    A_.row_offsets_32().data(), A_.column_indices().data(), {A_.values().data()}, 1,
                A_.nonzeros()};
    return slices(A, &factor_).with_memory(memory);
  }
  slices made() {
    whilst::workspace memory(memory_.data());
    return placed(memory);
  }

 public:
  sliced(const csr_matrix<double>& A, double factor) : A_(A), factor_(factor) {
    whilst::workspace measured;
    placed(measured);
    memory_.resize(static_cast<std::size_t>(measured.used()) / sizeof(piece) + 1);
    const slices of = made();
    for (index_type k = 0; k < of.count(); ++k) slices::lay_out{of}(k, whilst::lanes());
    whilst::sums<double, 3> values{};
    for (index_type k = 0; k < A.nonzeros(); ++k) values += slices::look_at_values{of}(k);
    whilst::choose_value_bytes{false, sizeof(float), of.value_bytes}(values);
    for (index_type k = 0; k < of.count(); ++k) slices::put_values{of}(k, whilst::lanes());
  }
  float row(index_type i, const std::vector<float>& x) {
    const slices of = made();
    const whilst::lanes alone;
    return of.row(of.fetch(i, alone), i, x.data(), alone);
  }
  const slices::slice& slice_of(index_type row) { return made().slices[row / slices::side_by_side]; }
};

}  // namespace

TEST_CASE("a copy in float sums the rows of a matrix in double, wherever their entries lie", "[linear][refined-cg]") {
  // Rows of a warp have few entries, many, none, some more than once; near ones, and others as far away as can be.
  constexpr int n = 100'000;
  triplets<double> rows(n);
  std::mt19937 random(3);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    const bool is_far = i / 1000 % 2 == 1;
    for (unsigned k = i / 320 % 3 == 0 ? 5 : random() % 12; k > 0; --k) {
      const int column =
          is_far ? static_cast<int>(random() % n) : std::min(n - 1, i / 2 + static_cast<int>(random() % 65'000));
      row.emplace_back(column, static_cast<double>(random()) * 0x1p-16 - 0x1p15);
    }
    if (i % 100 == 5) row = {{0, 0x1p24}, {1, 1}, {2, -0x1p24}};
    rows.row(row);
  }
  const csr_matrix<double> A = rows.matrix();
  constexpr double factor = 0x1.8p-3;
  sliced copy(A, factor);
  std::vector<float> x(n);
  for (float& value : x) value = static_cast<float>(random()) * 0x1p-32f;
  for (const index_type i : {0, 1, 2}) x[static_cast<std::size_t>(i)] = 1;
  index_type wrong = 0, near = 0, cut = 0;
  for (index_type i = 0; i < n; ++i) {
    double sum = 0, size = 0;
    for (index_type k = A.row_offsets_32()[i]; k < A.row_offsets_32()[i + 1]; ++k) {
      const double term = static_cast<double>(static_cast<float>(factor * A.values()[k])) *
                          static_cast<double>(x[static_cast<std::size_t>(A.column_indices()[k])]);
      sum += term;
      size += std::abs(term);
    }
    // The sum is rounded to float once.
    if (!(std::abs(copy.row(i, x) - sum) <= 0x1p-24 * std::abs(sum) + 0x1p-48 * size)) ++wrong;
    near += copy.slice_of(i).has_distances;
    cut += copy.slice_of(i).is_cut;
  }
  CHECK(wrong == 0);
  CHECK(copy.row(5, x) == static_cast<float>(factor));
  // All kinds of slices have been there.
  CHECK(near > n / 4);
  CHECK(near < 3 * n / 4);
  CHECK(cut > n / 4);
  CHECK(cut < 3 * n / 4);
}

TEST_CASE("refined-cg reads rows that are longer than its copy, and columns far away",
          "[linear][refined-cg][sanitizer]") {
  // A Laplacian of a path, whose first unknown is tied to all others, and whose unknown i is tied to i +- n / 2.
  constexpr int n = 140'000;
  triplets<double> rows(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, 8}};
    if (i > 0) row.emplace_back(i - 1, -1);
    if (i < n - 1) row.emplace_back(i + 1, -1);
    if (i >= n / 2) row.emplace_back(i - n / 2, -1);
    if (i < n / 2) row.emplace_back(i + n / 2, -1);
    if (i > 0 && i % 1000 == 0) row.emplace_back(0, -1);
    if (i == 0) {
      row[0].second = n / 1000 + 8;
      for (int j = 1000; j < n; j += 1000) row.emplace_back(j, -1);
    }
    rows.row(row);
  }
  const csr_matrix<double> A = rows.matrix();
  const std::vector<double> b = random_vector<double>(n, 8);
  for (const std::string& executor : executors_with_steps())
    for (const char* preconditioner : {"none", "jacobi"}) {
      INFO(executor << ", " << preconditioner);
      std::vector<double> x(b.size(), 0);
      const report r = linear_solver<double>(A, {.method = "refined-cg",
                                                 .preconditioner = preconditioner,
                                                 .rtol = 1e-12,
                                                 .max_iterations = 200,
                                                 .executor = executor})
                           .solve(b, x);
      CHECK(r.converged());
      CHECK(relative_residual(A, b, x) <= 1.01e-12);
    }
}

TEST_CASE("refined-cg solves systems of float, too", "[linear][refined-cg]") {
  const auto problem = whilst::make_gallery<float>("poisson2d:40");
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<float> x(problem.rhs.size(), 0.0f);
    linear_solver<float> solver(problem.matrix, {.method = "refined-cg", .rtol = 1e-5, .executor = executor});
    CHECK(solver.solve(problem.rhs, x).converged());
    CHECK(relative_residual(problem.matrix, problem.rhs, x) <= 1.01e-5);
  }
}

TEST_CASE("refined-cg works at every scale, and on negative definite matrices", "[linear][refined-cg][sanitizer]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:8");
  for (const std::string& executor : executors_with_steps())
    for (const double of_A : {1.0, -1.0, 1e200, 1e-200, -1e-200})
      for (const double of_b : {1.0, 1e200, 1e-200}) {
        if (std::abs(std::log10(std::abs(of_b / of_A))) > 250) continue;  // x is beyond double
        INFO(executor << ", A times " << of_A << ", b times " << of_b);
        std::vector<double> values(problem.matrix.values().begin(), problem.matrix.values().end()), b = problem.rhs;
        for (double& value : values) value *= of_A;
        for (double& value : b) value *= of_b;
        linear_solver<double> solver(
            problem.matrix, {.method = "refined-cg", .preconditioner = "jacobi", .rtol = 1e-12, .executor = executor});
        solver.update_values(values);
        std::vector<double> x(b.size(), 0.0);
        CHECK(solver.solve(b, x).reason() == reason::converged_rtol);
        Eigen::VectorXd unscaled(static_cast<Eigen::Index>(x.size()));
        for (std::size_t i = 0; i < x.size(); ++i) unscaled[static_cast<Eigen::Index>(i)] = x[i] * of_A / of_b;
        const Eigen::VectorXd rhs = to_eigen(problem.rhs);
        CHECK((rhs - to_eigen(problem.matrix) * unscaled).norm() <= 1.01e-12 * rhs.norm());
      }
}

TEST_CASE("how refined-cg ends where float is too coarse, or A is not definite", "[linear][refined-cg][sanitizer]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver_options options{.method = "refined-cg", .rtol = 1e-13, .executor = executor};
    // diag(1, 1e-12) coupled so that float sees a singular matrix: [1, 1; 1, 1 + 1e-12].
    triplets<double> nearly_singular(2);
    nearly_singular.row({{0, 1}, {1, 1}});
    nearly_singular.row({{0, 1}, {1, 1 + 1e-12}});
    const auto A = nearly_singular.matrix();
    const std::vector<double> b{1, -1};
    std::vector<double> x(2, 0.0);
    const report r = linear_solver<double>(A, options).solve(b, x);
    const double truth = relative_residual(A, b, x);
    CHECK_FALSE(r.converged());
    CHECK(r.relative_residual() == Approx(truth).epsilon(1e-6));
    CHECK(truth <= 1);

    // diag(1, -1).
    triplets<double> indefinite(2);
    indefinite.row({{0, 1}});
    indefinite.row({{1, -1}});
    x = {0, 0};
    CHECK(linear_solver<double>(indefinite.matrix(), options).solve({0.5, 1}, x).reason() ==
          reason::indefinite_operator);
    for (const double value : x) CHECK(std::isfinite(value));
    // Beyond float beside what makes A about 1.
    triplets<double> wide(2);
    wide.row({{0, 1e60}});
    wide.row({{1, 1}});
    x = {0, 0};
    const report of_wide = linear_solver<double>(wide.matrix(), options).solve({1, 1}, x);
    CHECK((!of_wide.converged() || relative_residual(wide.matrix(), {1, 1}, x) <= 1.01e-13));
    for (const double value : x) CHECK(std::isfinite(value));
    x = {0, 0};
    CHECK(linear_solver<double>(A, options).solve({std::nan(""), 1}, x).reason() == reason::nan_or_infinity);
  }
}

TEST_CASE("refined-cg is flexible-cg for what has no copy in float", "[linear][refined-cg]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:12");
  const auto by_A = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    Eigen::Map<Eigen::VectorXd>(y, n) = to_eigen(problem.matrix) * Eigen::Map<const Eigen::VectorXd>(x, n);
  };
  std::vector<double> x(problem.rhs.size(), 0), of_flexible = x;
  const auto n = problem.matrix.rows();
  const report refined =
      linear_solver<double>(n, by_A, {.method = "refined-cg", .executor = "host"}).solve(problem.rhs, x);
  const report flexible =
      linear_solver<double>(n, by_A, {.method = "flexible-cg", .executor = "host"}).solve(problem.rhs, of_flexible);
  CHECK(refined.converged());
  CHECK(x == of_flexible);
  CHECK(refined.iterations() == flexible.iterations());
}

}  // namespace whilst_test
