#pragma once

/// @file
/// Eigen's interface of iterative solvers, with Whilst's solvers behind it. Needs Eigen 3.4's headers.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "whilst/adapters/eigen_details.hpp"
#include "whilst/adapters/method_names.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/linear/columns_linear_solver.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/eigen.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst::eigen {

template <class Matrix, class Method, int UpLo, class Preconditioner>
class IterativeSolver;

}  // namespace whilst::eigen

/// @cond
// What Eigen's base class asks of a solver.
template <class M, class Method, int UpLo, class P>
struct Eigen::internal::traits<whilst::eigen::IterativeSolver<M, Method, UpLo, P>> {
  using MatrixType = M;
  using Preconditioner = P;
};
/// @endcond

namespace whilst::eigen {

/// One of Whilst's methods with the interface of Eigen's iterative solvers: compute, analyzePattern, factorize, solve,
/// solveWithGuess, setTolerance, setMaxIterations, iterations, error, info. Use it by the names below,
/// ConjugateGradient and the others, which take Eigen's template arguments.
///
/// @tparam Matrix an Eigen::SparseMatrix of float or double in either storage order, or a matrix-free type as Eigen's
///   documentation describes it: derived from Eigen::EigenBase, with a product. A product runs on the host, and so does
///   its solver. On a GPU: whilst::linear_solver with an operator of its own.
/// @tparam Method one of whilst::methods.
/// @tparam UpLo the triangle that is read of a symmetric matrix, or Eigen::Lower | Eigen::Upper for all of it.
/// @tparam Preconditioner Eigen::DiagonalPreconditioner is Whilst's "jacobi", Eigen::IdentityPreconditioner its "none";
///   setOptions names any other of Whilst's in their place. Other types are Eigen's own, such as
///   Eigen::IncompleteCholesky, or yours: each iteration calls their solve, on the host.
///
/// compute and factorize copy the matrix; with the pattern of the one before they replay what was recorded for it. A
/// matrix-free operator is not copied and must outlive the solver. tolerance() begins as Eigen's, the machine epsilon:
/// info() is Success, too, where rounding keeps the residual above that. With a tolerance of your own it is Success
/// only if the recomputed residual is within it. NumericalIssue means a breakdown, an indefinite matrix that must not
/// be, or NaN; NoConvergence every other end: report() says which.
///
/// Misuse throws whilst::error. Neither copied nor moved.
template <class Matrix, class Method, int UpLo, class Preconditioner>
class IterativeSolver : public Eigen::IterativeSolverBase<IterativeSolver<Matrix, Method, UpLo, Preconditioner>> {
  using Base = Eigen::IterativeSolverBase<IterativeSolver>;

 public:
  using typename Base::Scalar;
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>, "solvers are of float or of double");
  /// Whether the matrix is known by its products alone.
  static constexpr bool is_matrix_free = Eigen::internal::generic_matrix_wrapper<Matrix>::MatrixFree;
  /// Whether each iteration calls a preconditioner of Eigen's.
  static constexpr bool calls_preconditioner = detail::name_of<Preconditioner>.empty();
  static constexpr bool is_least_squares = std::is_same_v<Method, methods::cgls>;
  static_assert(!is_matrix_free || UpLo == (Eigen::Lower | Eigen::Upper),
                "a matrix-free type has no triangle: give Eigen::Lower | Eigen::Upper");
  static_assert(!is_matrix_free || !is_least_squares,
                "least squares need products with the transpose: use whilst::linear_solver");

  IterativeSolver() {
    options_.method = Method::name;
    options_.preconditioner = calls_preconditioner ? "none" : detail::name_of<Preconditioner>;
    if (is_matrix_free || calls_preconditioner) options_.callback_memory = "host";
  }
  /// The same as compute(A).
  template <class Derived>
  explicit IterativeSolver(const Eigen::EigenBase<Derived>& A) : IterativeSolver() {
    compute(A);
  }
  IterativeSolver(IterativeSolver&&) = delete;  // callbacks refer to it

  /// Options of Whilst as text, "preconditioner=amg, amg_strength=0.1, executor=graph": see options_from_string. What
  /// is not named stays as it is. Records the loop again if there is a matrix. Throws whilst::error on an unknown key
  /// or value, on another method than the type's, and on a preconditioner where the type calls one of Eigen's.
  IterativeSolver& setOptions(std::string_view text) {
    linear_solver_options start = options_;
    start.rtol = static_cast<double>(this->m_tolerance);
    start.max_iterations = static_cast<index_type>(this->m_maxIterations);
    auto read = options_from_string<linear_solver_options>(text, start);
    if (read.method != options_.method && !std::is_same_v<Method, methods::any>)
      throw error(doing, "this class is method '" + options_.method + "', and the options name '" + read.method + "'",
                  "Leave the method out, or use whilst::eigen::LinearSolver");
    if (calls_preconditioner && read.preconditioner != options_.preconditioner)
      throw error(doing,
                  "the class calls a preconditioner of Eigen's, and the options name '" + read.preconditioner + "'",
                  "Give the class Eigen::DiagonalPreconditioner, or leave the name out");
    const double tolerance = std::exchange(read.rtol, options_.rtol);
    const index_type limit = std::exchange(read.max_iterations, options_.max_iterations);
    const linear_solver_options before = std::exchange(options_, read);
    try {
      if (solver_) record();
    } catch (...) {
      options_ = before;  // the solver goes on as it was
      throw;
    }
    this->m_tolerance = static_cast<Scalar>(tolerance);
    this->m_maxIterations = static_cast<Eigen::Index>(limit);
    return *this;
  }
  /// The options in use but for rtol and max_iterations, which are tolerance() and maxIterations().
  const linear_solver_options& options() const { return options_; }
  /// How the last solve of a single right-hand side ended; of several that were solved one after another, the last one.
  const whilst::report& report() const { return report_; }

  /// The iterations after which it restarts: GMRES.
  IterativeSolver& set_restart(int restart) requires std::is_same_v<Method, methods::gmres> {
    return setOptions("restart=" + std::to_string(restart));
  }
  int get_restart() const requires std::is_same_v<Method, methods::gmres> { return options_.restart; }
  /// The degree of its polynomials: BiCGSTABL.
  IterativeSolver& setL(int degree) requires std::is_same_v<Method, methods::bicgstabl> {
    return setOptions("polynomial_degree=" + std::to_string(degree));
  }
  /// The dimension of its shadow space: IDRS.
  IterativeSolver& setS(int dimension) requires std::is_same_v<Method, methods::idr> {
    return setOptions("shadow_dimension=" + std::to_string(dimension));
  }

  /// analyzePattern and factorize.
  template <class Derived>
  IterativeSolver& compute(const Eigen::EigenBase<Derived>& A) {
    return analyzePattern(A).factorize(A);
  }
  /// Notes the matrix; factorize does the rest.
  template <class Derived>
  IterativeSolver& analyzePattern(const Eigen::EigenBase<Derived>& A) {
    this->grab(A.derived());
    if constexpr (calls_preconditioner) this->m_preconditioner.analyzePattern(this->matrix());
    this->m_isInitialized = this->m_analysisIsOk = true;
    this->m_factorizationIsOk = false;
    this->m_info = Eigen::Success;
    return *this;
  }
  /// Takes the matrix with its values as they are now. Throws whilst::error where linear_solver's constructor would.
  template <class Derived>
  IterativeSolver& factorize(const Eigen::EigenBase<Derived>& A) {
    eigen_assert(this->m_analysisIsOk && "You must first call analyzePattern()");
    this->grab(A.derived());
    this->m_info = Eigen::Success;
    if constexpr (calls_preconditioner) {
      this->m_preconditioner.factorize(this->matrix());
      this->m_info = this->m_preconditioner.info();
    }
    if constexpr (!is_matrix_free) {
      const csr_matrix<Scalar> now = detail::rows_of<UpLo>(this->matrix());
      const bool known = solver_ && now.has_pattern_of(*matrix_);
      if (!known) {  // if recording fails, there is no solver, and none of another pattern
        solver_.reset();
        columns_.reset();
      }
      matrix_ = now;
      if (known) {
        solver_->update_values(now);
        if (columns_) columns_->update_values(now.values());
      } else {
        record();
      }
    } else if (!solver_ || recorded_rows_ != this->rows()) {
      record();
    }
    this->m_factorizationIsOk = true;
    return *this;
  }

  /// For Eigen: one right-hand side from the guess in x.
  template <class Rhs, class Dest>
  void _solve_vector_with_guess_impl(const Rhs& b, Dest& x) const {
    eigen_assert(this->m_factorizationIsOk && "You must first call compute() or factorize()");
    const vector rhs = b;
    vector solution = x;
    solver_->set_tolerances(static_cast<double>(this->m_tolerance), options_.atol);
    solver_->set_max_iterations(static_cast<index_type>(this->maxIterations()));
    report_ = solver_->solve(span_of(rhs), span_of(solution));
    x = solution;
    this->m_iterations = static_cast<Eigen::Index>(report_.iterations());
    this->m_error = static_cast<Scalar>(report_.relative_residual());
    this->m_info = detail::info_of(report_.reason(), report_.relative_residual(), this->m_tolerance);
  }

  /// For Eigen: right-hand sides in a dense matrix, from the guesses in x. iterations() and error() then are the
  /// largest, info() the worst.
  template <class Rhs, class Dest>
  void _solve_with_guess_impl(const Rhs& b, Eigen::MatrixBase<Dest>& x) const {
    if (b.cols() == 1) {
      auto column = x.derived().col(0);
      _solve_vector_with_guess_impl(b.col(0), column);
    } else if constexpr (at_once) {
      if (!solve_columns(b, x.derived())) solve_in_turn(b, x.derived());
    } else {
      solve_in_turn(b, x.derived());
    }
  }
  /// For Eigen: the same with sparse right-hand sides and solutions.
  template <class Rhs, class Dest>
  void _solve_with_guess_impl(const Rhs& b, Eigen::SparseMatrixBase<Dest>& x) const {
    Base::_solve_with_guess_impl(b, x);
  }

 private:
  using vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  static constexpr std::string_view doing = "setting the options of a solver for Eigen";
  /// Conjugate gradients solve several right-hand sides at once, with what is made from the matrix.
  static constexpr bool at_once = std::is_same_v<Method, methods::cg> && !is_matrix_free && !calls_preconditioner;

  struct total {
    Eigen::Index iterations = 0;
    Scalar error = 0;
    Eigen::ComputationInfo info = Eigen::Success;
    void add(Eigen::Index more_iterations, Scalar other, Eigen::ComputationInfo how) {
      iterations = std::max(iterations, more_iterations);
      if (!(other <= error)) error = other;  // NaN is the largest
      if (how == Eigen::NumericalIssue || info == Eigen::Success) info = how;
    }
  };
  void conclude(const total& all) const {
    this->m_iterations = all.iterations;
    this->m_error = all.error;
    this->m_info = all.info;
  }

  void record() {
    solver_ = std::make_unique<linear_solver<Scalar>>(recorded());
    columns_.reset();
    only_in_turn_ = false;
    recorded_rows_ = this->rows();
  }
  linear_solver<Scalar> recorded() {
    using mapped = Eigen::Map<vector>;
    using mapped_const = Eigen::Map<const vector>;
    const auto precondition = [this](stream_handle, index_type n, const Scalar* r, Scalar* z) {
      mapped(z, n) = this->m_preconditioner.solve(mapped_const(r, n));
    };
    const auto multiply = [this](stream_handle, index_type n, const Scalar* x, Scalar* y) {
      mapped(y, n).noalias() = this->matrix() * mapped_const(x, n);
    };
    if constexpr (is_matrix_free && calls_preconditioner) {
      return {static_cast<index_type>(this->rows()), multiply, precondition, options_};
    } else if constexpr (is_matrix_free) {
      return {static_cast<index_type>(this->rows()), multiply, options_};
    } else if constexpr (calls_preconditioner) {
      return {*matrix_, precondition, options_};
    } else {
      return linear_solver<Scalar>(*matrix_, options_);
    }
  }

  template <class Rhs, class Dest>
  void solve_in_turn(const Rhs& b, Dest& x) const {
    total all;
    for (Eigen::Index k = 0; k < b.cols(); ++k) {
      auto column = x.col(k);
      _solve_vector_with_guess_impl(b.col(k), column);
      all.add(this->m_iterations, this->m_error, this->m_info);
    }
    conclude(all);
  }

  /// Up to 64 columns a solve; columns of zeros, which need no iteration, fill up the last one. False, and x is as it
  /// was, if the library does not solve several at once with these options.
  template <class Rhs, class Dest>
  bool solve_columns(const Rhs& b, Dest& x) const {
    if (only_in_turn_) return false;
    eigen_assert(this->m_factorizationIsOk && "You must first call compute() or factorize()");
    using columns_of = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    const Eigen::Index all_columns = b.cols(), width = std::min<Eigen::Index>(all_columns, 64);
    total all;
    for (Eigen::Index first = 0; first < all_columns; first += width) {
      const Eigen::Index count = std::min(width, all_columns - first);
      columns_of B = columns_of::Zero(b.rows(), width), X = columns_of::Zero(x.rows(), width);
      B.leftCols(count) = b.middleCols(first, count);
      X.leftCols(count) = x.middleCols(first, count);
      if (!columns_ || columns_->columns() != width) {
        try {
          columns_ =
              std::make_unique<columns_linear_solver<Scalar>>(*matrix_, static_cast<index_type>(width), options_);
        } catch (const out_of_memory&) {
          throw;
        } catch (const error&) {  // a preconditioner that is for one right-hand side
          only_in_turn_ = true;
          return false;
        }
      }
      columns_->set_tolerances(static_cast<double>(this->m_tolerance), options_.atol);
      columns_->set_max_iterations(static_cast<index_type>(this->maxIterations()));
      const columns_report ended =
          columns_->solve(std::span<const Scalar>(B.data(), size_of(B)), std::span<Scalar>(X.data(), size_of(X)));
      x.middleCols(first, count) = X.leftCols(count);
      for (Eigen::Index k = 0; k < count; ++k) {
        const auto& one = ended[static_cast<index_type>(k)];
        const double relative = one.relative_residual();
        all.add(static_cast<Eigen::Index>(one.iterations), static_cast<Scalar>(relative),
                detail::info_of(one.reason, relative, this->m_tolerance));
      }
    }
    conclude(all);
    return true;
  }
  template <class Plain>
  static std::size_t size_of(const Plain& matrix) {
    return static_cast<std::size_t>(matrix.size());
  }

  linear_solver_options options_;
  std::optional<csr_matrix<Scalar>> matrix_;
  std::unique_ptr<linear_solver<Scalar>> solver_;
  mutable std::unique_ptr<columns_linear_solver<Scalar>> columns_;
  mutable bool only_in_turn_ = false;
  Eigen::Index recorded_rows_ = 0;
  mutable whilst::report report_;
};

/// Eigen's default preconditioner.
template <class Matrix>
using diagonal = Eigen::DiagonalPreconditioner<typename Matrix::Scalar>;
/// All of a matrix.
inline constexpr int whole = Eigen::Lower | Eigen::Upper;

/// Method "cg", in the place of Eigen::ConjugateGradient. Several right-hand sides are solved at once.
template <class Matrix, int UpLo = Eigen::Lower, class Preconditioner = diagonal<Matrix>>
using ConjugateGradient = IterativeSolver<Matrix, methods::cg, UpLo, Preconditioner>;
/// Method "minres", in the place of Eigen::MINRES.
template <class Matrix, int UpLo = Eigen::Lower, class Preconditioner = Eigen::IdentityPreconditioner>
using MINRES = IterativeSolver<Matrix, methods::minres, UpLo, Preconditioner>;
/// Method "bicgstab", in the place of Eigen::BiCGSTAB.
template <class Matrix, class Preconditioner = diagonal<Matrix>>
using BiCGSTAB = IterativeSolver<Matrix, methods::bicgstab, whole, Preconditioner>;
/// Method "bicgstabl", in the place of Eigen::BiCGSTABL.
template <class Matrix, class Preconditioner = diagonal<Matrix>>
using BiCGSTABL = IterativeSolver<Matrix, methods::bicgstabl, whole, Preconditioner>;
/// Method "idr", in the place of Eigen::IDRS.
template <class Matrix, class Preconditioner = diagonal<Matrix>>
using IDRS = IterativeSolver<Matrix, methods::idr, whole, Preconditioner>;
/// Method "gmres", in the place of Eigen::GMRES.
template <class Matrix, class Preconditioner = diagonal<Matrix>>
using GMRES = IterativeSolver<Matrix, methods::gmres, whole, Preconditioner>;
/// Method "cgls", in the place of Eigen::LeastSquaresConjugateGradient; error() is ||b - A x|| / ||b||.
template <class Matrix, class Preconditioner = Eigen::LeastSquareDiagonalPreconditioner<typename Matrix::Scalar>>
using LeastSquaresConjugateGradient = IterativeSolver<Matrix, methods::cgls, whole, Preconditioner>;
/// Whatever method the options name; without a name "auto", which looks at the matrix.
template <class Matrix, class Preconditioner = diagonal<Matrix>>
using LinearSolver = IterativeSolver<Matrix, methods::any, whole, Preconditioner>;

}  // namespace whilst::eigen
