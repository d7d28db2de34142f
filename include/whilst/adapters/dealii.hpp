#pragma once

/// @file
/// Solvers for deal.II with the interface of its own. Needs deal.II's headers, 9.4 or later.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>

#include "whilst/adapters/method_names.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/program_cache.hpp"

namespace whilst::deal_ii {

/// A copy of a matrix of deal.II by rows, in the precision of a solve. The entries keep deal.II's order in a row.
template <class T, class Number>
csr_matrix<T> from_dealii(const ::dealii::SparseMatrix<Number>& A) {
  std::vector<std::int64_t> row_offsets{0};
  std::vector<std::int32_t> column_indices;
  std::vector<T> values;
  row_offsets.reserve(static_cast<std::size_t>(A.m()) + 1);
  column_indices.reserve(A.n_nonzero_elements());
  values.reserve(A.n_nonzero_elements());
  for (typename ::dealii::SparseMatrix<Number>::size_type i = 0; i < A.m(); ++i) {
    for (auto entry = A.begin(i); entry != A.end(i); ++entry) {
      column_indices.push_back(static_cast<std::int32_t>(entry->column()));
      values.push_back(static_cast<T>(entry->value()));
    }
    row_offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
  if (values.size() > static_cast<std::size_t>(INT32_MAX))
    return csr_matrix<T>::adopt(A.m(), A.n(), std::move(row_offsets), std::move(column_indices), std::move(values));
  return csr_matrix<T>::adopt(A.m(), A.n(), std::vector<std::int32_t>(row_offsets.begin(), row_offsets.end()),
                              std::move(column_indices), std::move(values));
}

/// Solves A x = b as a Solver class of deal.II does, by one of Whilst's methods. Use it by SolverCG and the other names
/// below.
///
/// @code
///   SolverControl control(1000, 1e-10 * b.l2_norm());
///   whilst::deal_ii::SolverCG<> solver(control, "preconditioner=amg");
///   solver.solve(A, x, b, PreconditionIdentity());
/// @endcode
/// The control is checked twice: with the first residual's norm, and at the end. Its limit and its tolerance, an
/// absolute one, hold as they do in deal.II, those of ReductionControl and IterationNumberControl as well; the norm is
/// that of b - A x, recomputed at the end. A solve that fails throws SolverControl::NoConvergence, and x is finite.
///
/// For a SparseMatrix and PreconditionIdentity the recorded loop is kept in whilst::default_cache(), by pattern and
/// options: the next solve replays it. The matrix is copied in each. Any other matrix is called by its vmult, any other
/// preconditioner by its own, on the host; such a loop is recorded in each solve.
///
/// @tparam VectorType dealii::Vector<double> or dealii::Vector<float>.
/// @tparam Method one of whilst::methods.
template <class VectorType, class Method>
class Solver {
 public:
  using Number = typename VectorType::value_type;
  static_assert(std::is_same_v<VectorType, ::dealii::Vector<double>> ||
                    std::is_same_v<VectorType, ::dealii::Vector<float>>,
                "vectors are dealii::Vector<double> or dealii::Vector<float>");

  /// The control must outlive the solver. For the text see whilst::options_from_string; rtol, atol and
  /// max_iterations are the control's. Throws whilst::error on these, on an unknown key or value, and on another
  /// method.
  explicit Solver(::dealii::SolverControl& control, std::string_view options = "") : control_(&control) {
    linear_solver_options start;
    start.method = Method::name;
    const linear_solver_options usual = start;
    start.rtol = start.atol = std::numeric_limits<double>::quiet_NaN();
    start.max_iterations = -1;  // as it stays where it is not named
    options_ = options_from_string<linear_solver_options>(options, start);
    if (!std::isnan(options_.rtol) || !std::isnan(options_.atol) || options_.max_iterations != -1)
      throw error("making a solver for deal.II",
                  "the options name rtol, atol or max_iterations, which are the control's",
                  "Leave them out, and give the SolverControl its tolerance and its limit");
    options_.rtol = usual.rtol;
    options_.atol = usual.atol;
    options_.max_iterations = usual.max_iterations;
    if (!std::is_same_v<Method, methods::any> && options_.method != Method::name)
      throw error("making a solver for deal.II",
                  "this class is method '" + start.method + "', and the options name '" + options_.method + "'",
                  "Leave the method out, or use whilst::deal_ii::SolverAny");
  }

  /// x holds the initial guess and receives the solution. Throws SolverControl::NoConvergence, and whilst::error where
  /// linear_solver would, and if there are two preconditioners, this one and one that the options name.
  template <class Matrix, class Preconditioner>
  void solve(const Matrix& A, VectorType& x, const VectorType& b, const Preconditioner& M) {
    using ::dealii::SolverControl;
    VectorType r(b.size());
    A.vmult(r, x);
    r.sadd(Number(-1), b);
    const double first = static_cast<double>(r.l2_norm());
    SolverControl::State state = control_->check(0, first);
    unsigned int steps = 0;
    double last = first;
    if (state == SolverControl::iterate) {
      linear_solver_options options = options_;
      options.rtol = 0;
      options.atol = control_->tolerance();
      if (const auto* const by = dynamic_cast<const ::dealii::ReductionControl*>(control_))
        options.atol = std::max(options.atol, by->reduction() * first);
      options.max_iterations = static_cast<index_type>(control_->max_steps());
      report_ = run(A, x, b, M, options);
      steps = static_cast<unsigned int>(report_.iterations());
      last = report_.residual_norm();
      state = control_->check(steps, last);
    }
    if (state != SolverControl::success) throw SolverControl::NoConvergence(steps, last);
  }

  /// How the last solve that began an iteration ended.
  const whilst::report& report() const { return report_; }

 private:
  template <class Matrix, class Preconditioner>
  whilst::report run(const Matrix& A, VectorType& x, const VectorType& b, const Preconditioner& M,
                     linear_solver_options options) const {
    constexpr bool has_entries =
        std::is_same_v<Matrix, ::dealii::SparseMatrix<double>> || std::is_same_v<Matrix, ::dealii::SparseMatrix<float>>;
    constexpr bool is_called = !std::is_same_v<Preconditioner, ::dealii::PreconditionIdentity>;
    if (is_called && options.preconditioner != "none")
      throw error("solving for deal.II",
                  "there are two preconditioners, deal.II's and '" + options.preconditioner + "'",
                  "Pass PreconditionIdentity, or leave the name out");
    if (!has_entries || is_called) options.callback_memory = "host";
    const std::span<const Number> from(b.begin(), b.size());
    const std::span<Number> to(x.begin(), x.size());
    const auto multiply = calling(b.size(), [&](VectorType& y, const VectorType& v) { A.vmult(y, v); });
    const auto precondition = calling(b.size(), [&](VectorType& z, const VectorType& r) { M.vmult(z, r); });
    const auto rows = static_cast<index_type>(b.size());
    if constexpr (has_entries && is_called) {
      return linear_solver<Number>(from_dealii<Number>(A), precondition, options).solve(from, to);
    } else if constexpr (has_entries) {
      return whilst::solve(from_dealii<Number>(A), from, to, options);
    } else if constexpr (is_called) {
      return linear_solver<Number>(rows, multiply, precondition, options).solve(from, to);
    } else {
      return linear_solver<Number>(rows, multiply, options).solve(from, to);
    }
  }

  /// A callback of Whilst's around a vmult. deal.II's vectors own their memory, hence the copies.
  template <class Apply>
  static auto calling(std::size_t n, Apply apply) {
    return [apply, in = VectorType(static_cast<typename VectorType::size_type>(n)),
            out = VectorType(static_cast<typename VectorType::size_type>(n))](stream_handle, index_type,
                                                                              const Number* r, Number* z) mutable {
      std::copy_n(r, in.size(), in.begin());
      apply(out, in);
      std::copy_n(out.begin(), out.size(), z);
    };
  }

  ::dealii::SolverControl* control_;
  linear_solver_options options_;
  whilst::report report_;
};

/// Method "cg", in the place of dealii::SolverCG.
template <class VectorType = ::dealii::Vector<double>>
using SolverCG = Solver<VectorType, methods::cg>;
/// Method "minres", in the place of dealii::SolverMinRes.
template <class VectorType = ::dealii::Vector<double>>
using SolverMinRes = Solver<VectorType, methods::minres>;
/// Method "bicgstab", in the place of dealii::SolverBicgstab.
template <class VectorType = ::dealii::Vector<double>>
using SolverBicgstab = Solver<VectorType, methods::bicgstab>;
/// Method "gmres", in the place of dealii::SolverGMRES.
template <class VectorType = ::dealii::Vector<double>>
using SolverGMRES = Solver<VectorType, methods::gmres>;
/// Whatever method the options name; without a name "auto", which looks at the matrix.
template <class VectorType = ::dealii::Vector<double>>
using SolverAny = Solver<VectorType, methods::any>;

}  // namespace whilst::deal_ii
