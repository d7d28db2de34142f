// Preconditioners "chebyshev" and "neumann" as matrices, against polynomials of eigenvalues.
#include <cmath>
#include <limits>

#include <Eigen/Eigenvalues>

#include "solvers/linear/polynomial/polynomial.hpp"
#include "tests/catch.hpp"
#include "tests/linear/made_preconditioner.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {
namespace {

using whilst::chebyshev_options;
using whilst::csr_matrix;
using whilst::neumann_options;

/// -u'' with a diagonal that varies.
template <class T>
csr_matrix<T> line(int n) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, 2.25 + 0.5 * (i % 4)}};
    if (i > 0) row.emplace_back(i - 1, -1);
    if (i + 1 < n) row.emplace_back(i + 1, -1);
    t.row(row);
  }
  return t.matrix();
}

/// A as an operator in parts, with or without its diagonal.
template <class T>
class products_alone final : public whilst::linear_operator<T> {
 public:
  products_alone(const whilst::solve_request<T>& of, bool has_diagonal)
      : A_(whilst::make_csr_operator<T>(of.where, whilst::csr_of<std::int32_t>(of))), has_diagonal_(has_diagonal) {}
  whilst::place where() const override { return A_->where(); }
  index_type rows() const override { return A_->rows(); }
  void read_values_from(whilst::constant_slot<const T> values) override { A_->read_values_from(values); }
  void apply(whilst::recorder& run, const T* x, T* y) const override { A_->apply(run, x, y); }
  bool has_diagonal() const override { return has_diagonal_; }
  void diagonal(whilst::recorder& run, T* d) const override { A_->diagonal(run, d); }

 private:
  std::unique_ptr<whilst::linear_operator<T>> A_;
  bool has_diagonal_;
};

enum class given_as { matrix, parts, products };

/// A maker of M; of an operator in parts it keeps that.
template <class T, class Options>
preconditioner_for_test<T> polynomial_with(const Options& options, given_as form) {
  struct with_parts final : whilst::matrix_preconditioner<T> {
    std::unique_ptr<products_alone<T>> A;
    std::unique_ptr<whilst::matrix_preconditioner<T>> M;
    void read_values_from(whilst::constant_slot<const T> values) override {
      if (A) A->read_values_from(values);
      M->read_values_from(values);
    }
    void take_memory(index_type n, whilst::workspace& memory) override { M->take_memory(n, memory); }
    void prepare_by_itself(whilst::recorder& run, const double* factor) const override {
      M->prepare_by_itself(run, factor);
    }
    void apply(whilst::recorder& run, const T* r, T* z) const override { M->apply(run, r, z); }
    index_type bytes() const override { return M->bytes(); }
    std::string description() const override { return M->description(); }
  };
  return [=](whilst::solve_request<T> of) {
    auto made = std::make_unique<with_parts>();
    if (form != given_as::matrix) {
      made->A = std::make_unique<products_alone<T>>(of, form == given_as::parts);
      of.parts = made->A.get();
    }
    if constexpr (std::is_same_v<Options, chebyshev_options>) {
      made->M = whilst::make_chebyshev_polynomial<T>(of, options);
    } else {
      made->M = whilst::make_neumann_polynomial<T>(of, options);
    }
    return made;
  };
}

/// S q(S A S) S with S = D^-1/2, D the diagonal of A or the identity; of_eigenvalue(l, greatest) is q(l).
template <class T, class Polynomial>
Eigen::MatrixXd exact_polynomial(const csr_matrix<T>& A, double factor, bool by_diagonal, const Polynomial& q) {
  const Eigen::MatrixXd all = factor * Eigen::MatrixXd(to_eigen(A));
  Eigen::VectorXd S = Eigen::VectorXd::Ones(A.rows());
  if (by_diagonal) S = all.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> of(S.asDiagonal() * all * S.asDiagonal());
  Eigen::VectorXd values = of.eigenvalues();
  const double greatest = values.maxCoeff();
  for (double& value : values) value = q(value, greatest);
  return S.asDiagonal() * of.eigenvectors() * values.asDiagonal() * of.eigenvectors().transpose() * S.asDiagonal();
}

/// T_k(x), beyond [-1, 1], too.
double chebyshev_polynomial(int k, double x) {
  return std::abs(x) <= 1 ? std::cos(k * std::acos(x))
                          : std::pow(x < 0 ? -1 : 1, k) * std::cosh(k * std::acosh(std::abs(x)));
}

/// What a polynomial of degree k makes of rounding errors, of those of the greatest eigenvalue, too: up to k^2 times as
/// much, by A. A. Markov's inequality.
template <class T>
double tolerance(int degree) {
  return 16 * (degree + 1) * (degree + 1) * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T>
double distance(const Eigen::MatrixXd& M, const Eigen::MatrixXd& exact) {
  return (M - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff();
}

}  // namespace

TEMPLATE_TEST_CASE("chebyshev: 1 - l q(l) is a scaled Chebyshev polynomial", "[linear][polynomial]", float, double) {
  using T = TestType;
  for (const way& w : ways())
    for (const given_as form : {given_as::matrix, given_as::parts, given_as::products})
      for (const auto& [degree, ratio] : std::vector<std::pair<int, double>>{{1, 0}, {2, 0}, {3, 7}, {5, 30}, {8, 0}})
        for (const int n : {1, 2, 12, 13}) {
          INFO(w.name << ", form " << static_cast<int>(form) << ", degree " << degree << ", " << n << " rows");
          const csr_matrix<T> A = line<T>(n);
          // As many Lanczos steps as rows find the greatest eigenvalue but for rounding.
          const auto make =
              polynomial_with<T>(chebyshev_options{.degree = degree, .ratio = ratio, .lanczos_steps = 13}, form);
          const double factor = n % 2 ? 1 : 0.25;
          const bool wide = form == given_as::matrix && n == 13;
          const Eigen::MatrixXd M = matrix_of(make, A, w, factor, wide);
          const Eigen::MatrixXd exact = exact_polynomial(
              A, factor, form != given_as::products, [&, degree = degree, ratio = ratio](double l, double greatest) {
                const double b = 1.1 * greatest, a = b / (ratio > 0 ? ratio : (degree + 1) * (degree + 1));
                const double theta = (b + a) / 2, delta = (b - a) / 2;
                return (1 - chebyshev_polynomial(degree + 1, (theta - l) / delta) /
                                chebyshev_polynomial(degree + 1, theta / delta)) /
                       l;
              });
          CHECK(distance<T>(M, exact) <= tolerance<T>(degree));
        }
}

TEMPLATE_TEST_CASE("neumann: 1 - l q(l) is a power of 1 - w l", "[linear][polynomial]", float, double) {
  using T = TestType;
  for (const way& w : ways())
    for (const given_as form : {given_as::matrix, given_as::products})
      for (const int degree : {1, 2, 5})
        for (const double damping : {0.0, 0.2})
          for (const int n : {1, 12, 13}) {
            INFO(w.name << ", form " << static_cast<int>(form) << ", degree " << degree << ", damping " << damping
                        << ", " << n << " rows");
            const csr_matrix<T> A = line<T>(n);
            const auto make =
                polynomial_with<T>(neumann_options{.degree = degree, .damping = damping, .lanczos_steps = 13}, form);
            const Eigen::MatrixXd exact =
                exact_polynomial(A, 1, form != given_as::products, [&](double l, double greatest) {
                  return (1 - std::pow(1 - (damping > 0 ? damping : 1 / (1.1 * greatest)) * l, degree + 1)) / l;
                });
            CHECK(distance<T>(matrix_of(make, A, w), exact) <= tolerance<T>(degree));
          }
}

TEST_CASE("chebyshev: positive definite, larger than a block", "[linear][polynomial]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:18").matrix;
  const Eigen::MatrixXd dense(to_eigen(A)), L = dense.llt().matrixL();
  const Eigen::VectorXd of_A = dense.selfadjointView<Eigen::Lower>().eigenvalues();
  for (const way& w : ways())
    for (const int degree : {1, 4, 7, 16, 32}) {
      const Eigen::MatrixXd M =
          matrix_of(polynomial_with<double>(chebyshev_options{.degree = degree}, given_as::matrix), A, w);
      INFO(w.name << ", degree " << degree);
      CHECK((M - M.transpose()).cwiseAbs().maxCoeff() <= tolerance<double>(degree) * M.cwiseAbs().maxCoeff());
      // Of A M, which are those of L' M L: all within (0, 2), and closer together than those of A.
      const Eigen::VectorXd of_product = (L.transpose() * M * L).selfadjointView<Eigen::Lower>().eigenvalues();
      CHECK(of_product.minCoeff() > 0);
      CHECK(of_product.maxCoeff() < 2);
      CHECK(of_product.maxCoeff() / of_product.minCoeff() < of_A.maxCoeff() / of_A.minCoeff() / (degree + 1));
    }
}

}  // namespace whilst_test
