#pragma once

#include <type_traits>

#include "whilst/linear/method_settings.hpp"
#include "whilst/linear/methods/gmres_column.hpp"
#include "whilst/linear/methods/gmres_least_squares.hpp"
#include "whilst/linear/methods/gmres_memory.hpp"
#include "whilst/linear/methods/gmres_steps.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// GMRES(m), for any square matrix: Y. Saad and M. H. Schultz, "GMRES: a generalized minimal residual algorithm for
/// solving nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 7 (1986); right-preconditioned, so that its norm is
/// that of b - A x. With a basis of its own for x, FGMRES(m), whose M may differ from step to step: Y. Saad, SIAM J.
/// Sci. Comput. 14 (1993).
///
/// The basis is made orthogonal by classical Gram-Schmidt twice, the second time an iteration later, in the reduction
/// and the update of the next vector, so that an iteration has one reduction and reads the basis twice: D. Bielich, J.
/// Langou, S. Thomas, K. Swirydowicz, I. Yamazaki, E. G. Boman, "Low-synch Gram-Schmidt with delayed
/// reorthogonalization for Krylov solvers", Parallel Computing 112 (2022). Three steps an iteration, or five for large
/// systems. A cycle ends with reason completed: the caller adds to x, computes r anew and starts the next.
///
/// Ends with breakdown if A M maps the space to itself and is singular there.
template <class T, class Operator, class Preconditioner, bool flexible>
struct gmres_loop {
  static constexpr bool runs_in_kernel = !flexible && Preconditioner::runs_in_kernel;
  static constexpr index_type most_rows_of_block = 256;  ///< one block reads the whole basis twice an iteration
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{.fixed_preconditioner = !flexible};

  using steps = gmres_steps<T>;
  /// What M is within the update of q.
  using pointwise_part = std::conditional_t<Preconditioner::pointwise, Preconditioner, identity_preconditioner>;
  using column = gmres_column<T, pointwise_part>;

  Operator A;
  Preconditioner M;
  T *x, *r, *q, *u;
  gmres_memory<T> all;
  T* basis_of_x;

  WHILST_HD gmres_loop(const Operator& A, const Preconditioner& M, T* x, T* r, const method_settings& settings,
                       workspace& memory)
      : A(A),
        M(M),
        x(x),
        r(r),
        q(memory.take<T>(A.rows())),
        u(result_of(M, A.rows(), q, memory)),
        all(A.rows(), rows_of_all(without_factor(A)), settings.restart, memory),
        basis_of_x(flexible ? memory.take<T>(A.rows() * all.most) : nullptr) {}

  template <class Run>
  WHILST_HD void start(Run& run) const {
    const index_type n = A.rows();
    run.step("(r,r)", n, typename steps::dot_with_itself{r}, typename steps::begin_cycle{all.s});
    update(run, "q = r / beta", n, preconditioned(M, typename steps::first_of_basis{all.s, r, q}, q, u));
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    const index_type n = A.rows();
    if constexpr (flexible) run.step("keep M q", n, typename steps::copy{all.s, u, basis_of_x, n});
    product_without_factor(run, "w = A M q", A, u, all.w);
    run.step("V'q, V'w by pieces", index_type{all.pieces} * (all.most + 1),
             typename steps::dots_of_piece{all, q, factor_of(A)});
    if constexpr (requires { run.ranks(); }) {
      finish_iteration_of_group(run);
    } else {
      finish_iteration(run);
    }
  }

  template <class Run>
  WHILST_HD void conclude(Run& run) const {
    const index_type n = A.rows();
    run.team("least ||beta e - B y||", 1, gmres_least_squares<T>{all, flexible}, gmres_check_solution<T>{all});
    using sum = typename steps::combine;
    if constexpr (flexible) {
      update(run, "M Q y", n,
             preconditioned(identity_preconditioner(), sum{all.s, all.y, basis_of_x, nullptr, u, n, all.most}, u, u));
    } else {
      update(run, "Q y", n, preconditioned(M, sum{all.s, all.y, all.basis, q, q, n, all.most}, q, u));
    }
    run.step("x += M Q y", n, typename steps::add_to_x{u, x});
  }

 private:
  template <class Run>
  WHILST_HD void finish_iteration(Run& run) const {
    const index_type n = A.rows();
    // On the host and within a kernel no step waits for another to start.
    if constexpr (requires { run.where(); }) {
      if (!run.where().on_host() && all.is_small()) {
        const index_type blocks = (n + column::rows_a_block - 1) / column::rows_a_block;
        run.team("column of B, rotation; v, q", 1 + blocks, column_of(all.pieces), gmres_judge<T>{all, true});
        if constexpr (!Preconditioner::pointwise) M.record(run, n, q, u);
        return;
      }
    }
    const bool few = all.has_few_pieces();
    if (!few) run.step("V'q, V'w", all.sums_of_piece(), typename steps::add_pieces{all});
    run.team("column of B, rotation", 1, column_of(few ? all.pieces : 1), gmres_judge<T>{all, false});
    update(run, "v, q", n, preconditioned(M, typename steps::next_of_basis{all, q}, q, u));
  }
  /// Small arithmetic is done by each rank for itself, with the same numbers.
  template <class Run>
  void finish_iteration_of_group(Run& run) const {
    const index_type n = A.rows();
    if (all.pieces > 1) run.step("V'q, V'w of this rank", all.sums_of_piece(), typename steps::add_pieces{all});
    for (int first = 0; first < all.sums_of_piece(); first += steps::sums_at_once)
      run.step("V'q, V'w", 1, typename steps::sums_of_rank{all, first}, typename steps::take_sums{all, first});
    run.team("column of B, rotation", 1, column_of(1), gmres_judge<T>{all, false});
    update(run, "v, q", n, preconditioned(M, typename steps::next_of_basis{all, q}, q, u));
    run.once("v is there", typename steps::note_written{all.s});
  }
  WHILST_HD column column_of(int pieces) const {
    if constexpr (Preconditioner::pointwise) {
      return {all, pieces, M, q, u, factor_of(A)};
    } else {
      return {all, pieces, identity_preconditioner(), q, u, factor_of(A)};
    }
  }
};

template <class T, class Operator, class Preconditioner>
struct gmres : gmres_loop<T, Operator, Preconditioner, false> {
  static constexpr const char* name = "gmres";
  using gmres_loop<T, Operator, Preconditioner, false>::gmres_loop;
};
template <class T, class Operator, class Preconditioner>
struct fgmres : gmres_loop<T, Operator, Preconditioner, true> {
  static constexpr const char* name = "fgmres";
  using gmres_loop<T, Operator, Preconditioner, true>::gmres_loop;
};

}  // namespace whilst
