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

/// On the way down: y = Q'r.
template <class Matrix, class X, class Y>
struct go_down {
  static constexpr bool fetches_constants = false;
  Matrix restriction;
  X r;
  Y* y;

  WHILST_HD int lanes_wanted() const { return restriction.lanes_wanted(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return restriction.fetch(i, team);
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, const typename Matrix::entries& e) const {
    const Y sum = restriction.row(e, i, r, team);
    if (team.rank() == 0) y[i] = sum;
  }
  index_type bytes(index_type n) const { return restriction.bytes() + n * static_cast<index_type>(sizeof(Y)); }
};

/// On the way up: y = *factor (S r + Q e); factor is null for 1.
template <class Matrix, class C, class X, class Y>
struct go_up {
  static constexpr bool fetches_constants = false;
  Matrix S, Q;
  X r;
  const C* e;  ///< null on a level that has no coarser one
  Y* y;
  const double* factor;

  struct entries {
    typename Matrix::entries of_S, of_Q;
  };
  WHILST_HD int lanes_wanted() const { return S.lanes_wanted(); }
  template <class Team>
  WHILST_HD entries fetch(index_type i, const Team& team) const {
    entries fetched{S.fetch(i, team), {}};
    if (e) fetched.of_Q = Q.fetch(i, team);
    return fetched;
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, const entries& fetched) const {
    C sum = S.row(fetched.of_S, i, r, team);
    if (e) sum += Q.row(fetched.of_Q, i, e, team);
    if (team.rank() == 0) y[i] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
  index_type bytes(index_type n) const {
    return S.bytes() + (e ? Q.bytes() : 0) + n * static_cast<index_type>(sizeof(Y));
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

/// Records z = *factor B r for the whole hierarchy's B. Matrix: cycle_matrix<C>, or csr_of_cycle<C>, as which it can be
/// read, too.
template <class Matrix, class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, const T* r, T* z,
                  const double* factor) {
  const auto& levels = of.levels();
  const std::size_t last = levels.size() - 1;
  const auto down = [&](const level<C>& here, const auto& r, C* y) {
    run.step("down: Q'r", here.coarse_rows,
             go_down<Matrix, std::remove_cvref_t<decltype(r)>, C>{here.restriction, r, y});
  };
  const auto up = [&](const level<C>& here, const auto& r, const C* e, auto* y, const double* factor) {
    using X = std::remove_cvref_t<decltype(r)>;
    run.step("up: S r + Q e", here.A.rows,
             go_up<Matrix, C, X, std::remove_pointer_t<decltype(y)>>{here.S, here.Q, r, e, y, factor});
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
