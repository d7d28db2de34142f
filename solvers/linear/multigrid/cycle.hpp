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
/// It, and behind it a vector of the cycle.
template <class C, class T>
struct rounded_then {
  const T* x;
  index_type n;
  const C* then;
  WHILST_HD C operator[](index_type i) const { return i < n ? static_cast<C>(x[i]) : then[i - n]; }
};

/// A product of the cycle: y = A x, or *factor A x.
template <class C, class X, class Y>
struct cycle_product {
  static constexpr bool fetches_constants = false;
  using matrix = csr_operator<C, std::int32_t, fixed_slot<const C>>;
  matrix A;
  X x;
  Y* y;
  const double* factor;

  WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
  template <class Team>
  WHILST_HD typename matrix::entries fetch(index_type i, const Team& team) const {
    return A.fetch(i, team);
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, const typename matrix::entries& e) const {
    const C sum = A.row(e, i, x, team);
    if (team.rank() == 0) y[i] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
  index_type bytes(index_type n) const { return A.bytes() + n * static_cast<index_type>(sizeof(Y)); }
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

/// The vectors of a cycle: of each level r and, behind it, what the next coarser level answers; of the finest one only
/// that.
template <class C>
class cycle_vectors {
 public:
  void take_memory(const hierarchy<C>& of, workspace& memory) {
    of_level_.clear();
    for (std::size_t k = 0; k < of.levels().size(); ++k) {
      const level<C>& here = of.levels()[k];
      of_level_.push_back(memory.take<C>((k ? here.rows() : 0) + here.coarse_rows()));
    }
  }
  C* residual(std::size_t k) const { return of_level_[k]; }
  C* correction(std::size_t k, index_type rows) const { return of_level_[k] + (k ? rows : 0); }

 private:
  std::vector<C*> of_level_;
};

/// Records z = *factor B r for the whole hierarchy's B.
template <class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, const T* r, T* z,
                  const double* factor) {
  const auto& levels = of.levels();
  const std::size_t last = levels.size() - 1;
  const auto matrix = [](index_type rows, const std::int32_t* offsets, const std::int32_t* indices,
                         const buffer<C>& values) {
    const double average = rows ? static_cast<double>(values.size()) / static_cast<double>(rows) : 0;
    return csr_operator<C, std::int32_t, fixed_slot<const C>>{
        rows, offsets, indices, {values.data()}, lanes_for_row(average), values.size()};
  };
  const auto product = [&run](const char* name, const auto& A, const auto& x, auto* y, const double* factor) {
    using Y = std::remove_pointer_t<decltype(y)>;
    run.step(name, A.n, cycle_product<C, std::remove_cvref_t<decltype(x)>, Y>{A, x, y, factor});
  };
  for (std::size_t k = 0; k < last; ++k) {
    const pattern_view& QT = levels[k].QT.pattern.view();
    const auto A = matrix(QT.rows, QT.offsets, QT.indices, levels[k].QT_values);
    if (k == 0) {
      product("down: Q'r", A, rounded_vector<C, T>{r}, vectors.residual(1), nullptr);
    } else {
      product("down: Q'r", A, static_cast<const C*>(vectors.residual(k)), vectors.residual(k + 1), nullptr);
    }
  }
  for (std::size_t k = levels.size(); k-- > 0;) {
    const level<C>& here = levels[k];
    const index_type n = here.rows();
    if (k == last && of.has_inverse()) {
      if (k == 0) {
        run.step("the coarsest level", n, inverse_product<C, rounded_vector<C, T>, T>{n, of.inverse(), {r}, z, factor});
      } else {
        C* const answer = vectors.correction(k - 1, levels[k - 1].rows());
        run.step("the coarsest level", n,
                 inverse_product<C, const C*, C>{n, of.inverse(), vectors.residual(k), answer, nullptr});
      }
      continue;
    }
    const auto A = matrix(n, here.up_offsets.data(), here.up_indices.data(), here.up_values);
    if (k == 0) {
      product("up: S r + Q e", A, rounded_then<C, T>{r, n, vectors.correction(0, n)}, z, factor);
    } else {
      product("up: S r + Q e", A, static_cast<const C*>(vectors.residual(k)),
              vectors.correction(k - 1, levels[k - 1].rows()), nullptr);
    }
  }
}

}  // namespace whilst::multigrid
