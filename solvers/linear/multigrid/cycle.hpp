#pragma once

#include "solvers/linear/multigrid/hierarchy.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

/// The caller's vector, in numbers of the cycle.
template <class C, class T>
struct rounded_vector {
  const T* x;
  WHILST_HD C operator[](index_type i) const { return static_cast<C>(x[i]); }
};

/// A lane's share of row i of a matrix, in CSR, times x; for the host, where it is all of it.
template <class C, class X, class Team>
WHILST_HD C times_row(const matrix_view<C>& A, index_type i, const X& x, const Team& team) {
  C sum = 0;
  A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { sum += A.values[e] * x[j]; });
  return sum;
}

/// y = *factor (S r + Q e) on the way up, y = S r on the way down, where S is the restriction; factor is null for 1. On
/// a GPU the rows of a warp, on the host one row.
template <class C, class X, class Y>
struct cycle_step {
  static constexpr bool fetches_constants = false;
  interleaved_rows<C> S, Q;
  X r;
  const C* e;  ///< null for no Q
  Y* y;
  const double* factor;

  WHILST_HD int lanes_wanted() const { return S.columns ? 32 : 1; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    index_type row = i;
    C sum = 0;
    int lanes = 1;
    if constexpr (on_device) {
      const auto of_S = S.share_of(i, team);
      sum = S.times(of_S, r, team);
      if (e) sum += Q.times(Q.share_of(i, team), e, team);
      row = of_S.row;
      lanes = S.lanes;
    } else {
      sum = times_row<C>({S.pattern, S.csr_values}, i, r, team);
      if (e) sum += times_row<C>({Q.pattern, Q.csr_values}, i, e, team);
    }
    sum = team.sum_of_groups(sum, lanes);
    if (team.rank() % lanes == 0 && row < S.pattern.rows)
      y[row] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
  index_type bytes(index_type) const {
    return S.bytes() + (e ? Q.bytes() : 0) + S.pattern.rows * static_cast<index_type>(sizeof(Y));
  }
};

/// The coarsest level: y = A^-1 x by rows of the inverse.
template <class C, class X, class Y>
struct inverse_product {
  index_type n;
  const C* inverse;
  X x;
  Y* y;
  const double* factor;

  WHILST_HD static int lanes_wanted() { return 32; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    C sum = 0;
    for (index_type j = team.rank(); j < n; j += team.size()) sum += inverse[i * n + j] * x[j];
    sum = team.sum(sum);
    if (team.rank() == 0) y[i] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
};

/// The vectors of a cycle: of each level but the finest r, and what the next coarser level answers.
template <class C>
class cycle_vectors {
 public:
  void take_memory(const hierarchy<C>& of, workspace& memory) {
    residual_.clear();
    correction_.clear();
    for (std::size_t k = 0; k < of.levels().size(); ++k) {
      const level<C>& here = of.levels()[k];
      residual_.push_back(k ? memory.take<C>(here.A.rows) : nullptr);
      correction_.push_back(memory.take<C>(here.coarse_rows));
    }
  }
  C* residual(std::size_t k) const { return residual_[k]; }
  C* correction(std::size_t k) const { return correction_[k]; }

 private:
  std::vector<C*> residual_, correction_;
};

/// Records z = *factor B r for the whole hierarchy's B.
template <class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, const T* r, T* z,
                  const double* factor) {
  const auto& levels = of.levels();
  const std::size_t last = levels.size() - 1;
  const bool on_host = run.where().on_host();
  const auto record = [&](const char* name, const interleaved_rows<C>& S, const interleaved_rows<C>& Q, const auto& r,
                          const C* e, auto* y, const double* factor) {
    using X = std::remove_cvref_t<decltype(r)>;
    run.step(name, on_host ? S.pattern.rows : S.warps(),
             cycle_step<C, X, std::remove_pointer_t<decltype(y)>>{S, Q, r, e, y, factor});
  };
  const auto down = [&](const level<C>& here, const auto& r, C* y) {
    record("down: Q'r", here.restriction, {}, r, nullptr, y, nullptr);
  };
  const auto up = [&](const level<C>& here, const auto& r, const C* e, auto* y, const double* factor) {
    record("up: S r + Q e", here.S, here.Q, r, e, y, factor);
  };
  const auto solve_coarsest = [&](const auto& r, auto* y, const double* factor) {
    using X = std::remove_cvref_t<decltype(r)>;
    const index_type n = levels[last].A.rows;
    run.step("the coarsest level", n,
             inverse_product<C, X, std::remove_pointer_t<decltype(y)>>{n, of.inverse(), r, y, factor});
  };
  const rounded_vector<C, T> finest{r};
  const auto residual = [&](std::size_t k) { return static_cast<const C*>(vectors.residual(k)); };
  if (last > 0) down(levels[0], finest, vectors.residual(1));
  for (std::size_t k = 1; k < last; ++k) down(levels[k], residual(k), vectors.residual(k + 1));
  for (std::size_t k = last; k > 0; --k) {
    if (k == last && of.has_inverse()) {
      solve_coarsest(residual(k), vectors.correction(k - 1), nullptr);
    } else {
      up(levels[k], residual(k), k == last ? nullptr : vectors.correction(k), vectors.correction(k - 1), nullptr);
    }
  }
  if (last == 0 && of.has_inverse()) {
    solve_coarsest(finest, z, factor);
  } else {
    up(levels[0], finest, last == 0 ? nullptr : vectors.correction(0), z, factor);
  }
}

}  // namespace whilst::multigrid
