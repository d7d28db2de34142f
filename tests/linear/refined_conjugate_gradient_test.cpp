// Iterative refinement in double, with conjugate gradients in float as its inner solver.

#include <Eigen/Dense>
#include <Eigen/SparseCholesky>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// Conjugate gradients from zero, k iterations of the textbook in float.
Eigen::VectorXd after(int k, const Eigen::MatrixXf& A, const Eigen::MatrixXf& M, const Eigen::VectorXf& b) {
  Eigen::VectorXf x = Eigen::VectorXf::Zero(b.size()), r = b, u = M * r, p = u;
  for (int i = 0; i < k; ++i) {
    const Eigen::VectorXf q = A * p;
    const float ru = r.dot(u), alpha = ru / p.dot(q);
    x += alpha * p;
    r -= alpha * q;
    u = M * r;
    p = u + (r.dot(u) / ru) * p;
  }
  return x.cast<double>();
}

}  // namespace

TEST_CASE("the first iterates of refined-cg are those of cg in float", "[linear][refined]") {
  const auto A = whilst::make_gallery<double>("poisson1d:50").matrix;
  const Eigen::MatrixXf dense = Eigen::MatrixXd(to_eigen(A)).cast<float>();
  const std::vector<double> b = random_vector<double>(50, 4);
  for (const bool jacobi : {false, true}) {
    Eigen::MatrixXf M = Eigen::MatrixXf::Identity(50, 50);
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
        const Eigen::VectorXd expected = after(k, dense, M, to_eigen(b).cast<float>());
        // Both round in float, some dozen times an entry and iteration.
        CHECK((to_eigen(x) - expected).norm() <= 1e-5 * expected.norm());
        // The first k + 1 residuals are those of x, to float's rounding; of the last, the true one is told.
        CHECK(r.residual_norm() == Approx((to_eigen(b) - to_eigen(A) * to_eigen(x)).norm()).epsilon(1e-12));
      }
  }
}

TEST_CASE("refined-cg reaches what float cannot", "[linear][refined][sanitizer]") {
  for (const char* gallery : {"poisson2d:30", "poisson3d:9", "elasticity2d:8"}) {
    const auto problem = whilst::make_gallery<double>(gallery);
    const Eigen::SparseMatrix<double> of_columns = to_eigen(problem.matrix);
    const Eigen::VectorXd exact =
        Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(of_columns).solve(to_eigen(problem.rhs));
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(gallery << ", " << executor << ", " << preconditioner);
        linear_solver_options options{
            .method = "refined-cg", .preconditioner = preconditioner, .rtol = 1e-11, .executor = executor};
        std::vector<double> x(problem.rhs.size(), 0), of_cg = x;
        linear_solver<double> solver(problem.matrix, options);
        const report r = solver.solve(problem.rhs, x);
        CHECK(r.reason() == reason::converged_rtol);
        CHECK(r.method() == "refined-cg");
        CHECK(relative_residual(problem.matrix, problem.rhs, x) <= 1.01e-11);
        CHECK((to_eigen(x) - exact).norm() <= 1e-8 * exact.norm());
        options.method = "cg";
        const report cg = linear_solver<double>(problem.matrix, options).solve(problem.rhs, of_cg);
        // Three refinements, each of which builds its own space.
        CHECK(r.iterations() <= 4 * cg.iterations());
        // From where it ended nothing is to do, and new values count.
        CHECK(solver.solve(problem.rhs, x).iterations() == 0);
        std::vector<double> values(problem.matrix.values().begin(), problem.matrix.values().end());
        for (double& value : values) value *= 2;
        solver.update_values(values);
        std::vector<double> half(problem.rhs.size(), 0);
        CHECK(solver.solve(problem.rhs, half).converged());
        CHECK((2 * to_eigen(half) - to_eigen(x)).norm() <= 1e-8 * exact.norm());
      }
  }
}

TEST_CASE("refined-cg says where float is too coarse", "[linear][refined]") {
  // A condition of about 1e11: corrections have no digit.
  triplets<double> t(200);
  for (int i = 0; i < 200; ++i) {
    const double step = i % 2 ? 1 : 1e-11;
    if (i == 0)
      t.row({{0, 1 + step}, {1, -1}});
    else if (i == 199)
      t.row({{198, -1}, {199, 1 + step}});
    else
      t.row({{i - 1, -1}, {i, 2 + (i % 50 == 0 ? 1e-9 : 0)}, {i + 1, -1}});
  }
  const auto A = t.matrix();
  const std::vector<double> b = random_vector<double>(200, 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<double> x(200, 0.0);
    const report r =
        linear_solver<double>(A, {.method = "refined-cg", .rtol = 1e-13, .executor = executor}).solve(b, x);
    const double truth = relative_residual(A, b, x);
    CHECK(r.relative_residual() == Approx(truth).epsilon(1e-6).margin(1e-13));
    if (r.converged()) CHECK(truth <= 1.01e-13);
    CHECK(truth <= 1);
  }
}

TEST_CASE("refined-cg is cg for what has no float", "[linear][refined]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:12");
  const auto by_A = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    Eigen::Map<Eigen::VectorXd>(y, n) = to_eigen(problem.matrix) * Eigen::Map<const Eigen::VectorXd>(x, n);
  };
  std::vector<double> x(problem.rhs.size(), 0), of_cg = x;
  const report refined =
      linear_solver<double>(problem.matrix.rows(), by_A, {.method = "refined-cg", .executor = "host"})
          .solve(problem.rhs, x);
  const report cg = linear_solver<double>(problem.matrix.rows(), by_A, {.method = "cg", .executor = "host"})
                        .solve(problem.rhs, of_cg);
  CHECK(refined.converged());
  CHECK(x == of_cg);
  CHECK(refined.iterations() == cg.iterations());
}

}  // namespace whilst_test
