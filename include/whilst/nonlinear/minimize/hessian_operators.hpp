#pragma once

#include "whilst/linear/operators.hpp"
#include "whilst/nonlinear/descent/descent_state.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// The factor of a Hessian: that of the function and its gradient. Null while the arena is measured.
inline const double* magnification_of(const descent_state* s) { return s ? &s->magnification : nullptr; }

/// An objective's Hessian for methods that multiply by it: a sparse matrix in memory.
template <class T>
struct assembled_hessian {
  using operator_type = scaled_operator<T, csr_operator<T, std::int32_t, fixed_slot<const T>>>;
  static operator_type of(const objective<T>& f, const descent_state* s) {
    const hessian_view<T> H = f.hessian();
    const int lanes = lanes_for_row(static_cast<double>(H.nonzeros) / static_cast<double>(H.n));
    return {{H.n, H.row_offsets, H.column_indices, {H.values}, lanes, H.nonzeros}, magnification_of(s)};
  }
  /// Records the steps that compute it at x, if *wanted is not 0 when they run.
  static void make(recorder& run, const objective<T>& f, const T* x, const int* wanted, bool positive) {
    f.make_hessian(run, x, wanted, positive);
  }
};

/// Rows of a product that an objective's own steps have left in pieces: each adds up its own.
template <class T>
struct gathered_rows {
  static constexpr bool fetches_constants = true;
  index_type n;
  gathered<T> product;
  int lanes_a_row;

  struct pieces {
    static constexpr int held = on_device ? 4 : 1;
    std::int32_t next, end, position[held];
  };
  WHILST_HD index_type rows() const { return n; }
  WHILST_HD int lanes_wanted() const { return lanes_a_row; }
  template <class Team>
  WHILST_HD pieces fetch(index_type i, const Team& team) const {
    pieces p{};
    if (!product.offsets) return p;
    p.next = read_constant(product.offsets + i) + team.rank();
    p.end = read_constant(product.offsets + i + 1);
    for (int k = 0; k < pieces::held; ++k, p.next += team.size())
      p.position[k] = p.next < p.end ? read_constant(product.positions + p.next) : -1;
    return p;
  }
  template <class Team>
  WHILST_HD T row(const pieces& p, index_type i, const T*, const Team& team) const {
    if (!product.offsets) return product.pieces[i];
    T first[pieces::held], sum = 0;
    for (int k = 0; k < pieces::held; ++k) first[k] = p.position[k] >= 0 ? product.pieces[p.position[k]] : T(0);
    for (int k = 0; k < pieces::held; ++k) sum += first[k];
    for (std::int32_t k = p.next; k < p.end; k += team.size())
      sum += product.pieces[read_constant(product.positions + k)];
    return team.sum(sum);
  }
};

/// An objective's product as an operator: before a step that applies it, the objective's own steps compute the pieces.
template <class T>
struct product_operator {
  index_type n;
  hessian_products<T> H;
  int lanes_a_row;
  const objective<T>* of;  ///< read while recording, never when the steps run

  WHILST_HD index_type rows() const { return n; }
  template <class Run>
  gathered_rows<T> before_apply(Run& run, const T* x) const {
    of->multiply(run, x);
    return {n, H.product, lanes_a_row};
  }
  WHILST_HD bool knows_diagonal() const { return H.diagonal.pieces != nullptr; }
  /// 1 if unknown.
  WHILST_HD T diagonal(index_type i) const { return H.diagonal.pieces ? H.diagonal(i, H.diagonal.entries(i)) : T(1); }
};

/// The same Hessian as products, without a matrix.
template <class T>
struct matrix_free_hessian {
  using operator_type = scaled_operator<T, product_operator<T>>;
  static operator_type of(const objective<T>& f, const descent_state* s) {
    const hessian_products<T> H = f.products();
    return {{f.unknowns(), H, lanes_for_row(H.pieces_a_row), &f}, magnification_of(s)};
  }
  static void make(recorder& run, const objective<T>& f, const T* x, const int* wanted, bool positive) {
    f.prepare_products(run, x, wanted, positive);
  }
};

/// Preconditions with the inverse of a diagonal that changes with the matrix.
template <class T>
struct inverse_diagonal {
  static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = true;
  T* inverse;
  WHILST_HD T operator()(index_type i, T r) const { return inverse[i] * r; }
};

/// A + damping D, D diagonal.
template <class T, class Operator>
struct damped_operator {
  static constexpr bool fetches_constants = false;
  Operator A;
  const T* D;
  const double* damping;

  WHILST_HD index_type rows() const { return A.rows(); }
  WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
  template <class Run>
  auto before_apply(Run& run, const T* x) const requires requires {
    A.before_apply(run, x);
  }
  {
    const auto rows = rows_for(run, A, x);
    return damped_operator<T, std::remove_const_t<decltype(rows)>>{rows, D, damping};
  }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return fetch_row(A, i, team);
  }
  template <class Row, class Team>
  WHILST_HD T row(const Row& fetched, index_type i, const T* x, const Team& team) const {
    return row_times(fetched, A, i, x, team) + static_cast<T>(*damping) * D[i] * x[i];
  }
};

}  // namespace whilst
