#pragma once

#include "solvers/linear/multigrid/hierarchy.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

/// On the finest level: the caller's r and, behind it, what the next coarser level answers. They lie apart; one address
/// is chosen without a branch, which would have reads wait for one another.
template <class C, class T>
struct finest_vector {
  const T *r, *e;
  index_type n;
  WHILST_HD C operator[](index_type i) const {
    const T* const from = i < n ? r : e - n;
    return static_cast<C>(from[i]);
  }
};

/// A product of the cycle: y = *factor A x; factor is null for 1. On a GPU of the rows of a warp, on the host of one
/// row.
template <class C, class X, class Y>
struct cycle_product {
  static constexpr bool fetches_constants = false;
  static constexpr int blocks_wanted = sizeof(C) == 4 ? 4 : 3;
  interleaved_rows<C> A;
  X x;
  Y* y;
  const double* factor;

  WHILST_HD int lanes_wanted() const { return A.columns ? interleaved_rows<C>::warp : 1; }
  template <class Team>
  WHILST_HD auto fetch([[maybe_unused]] index_type i, const Team&) const {
    if constexpr (on_device) {
      return A.fetch(i);
    } else {
      return row_of_host{};
    }
  }
  template <class Team, class Fetched>
  WHILST_HD void operator()([[maybe_unused]] index_type i, [[maybe_unused]] const Team& team,
                            [[maybe_unused]] const Fetched& fetched) const {
    if constexpr (on_device) {
      const C sum = A.times(fetched, x);
      if (A.leads() && fetched.row < A.pattern.rows) put(fetched.row, sum);
    } else {
      C sum = 0;
      A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { sum += A.csr_values[e] * x[j]; });
      put(i, sum);
    }
  }
  index_type bytes(index_type) const { return A.bytes() + A.pattern.rows * static_cast<index_type>(sizeof(Y)); }

 private:
  struct row_of_host {};
  WHILST_HD void put(index_type row, C sum) const {
    y[row] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
};

/// The coarsest level: y = A^-1 x by rows of the inverse.
template <class C, class X, class Y>
struct inverse_product {
  static constexpr bool fetches_constants = false;
  index_type n;
  const C* inverse;
  X x;
  Y* y;
  const double* factor;

  /// Entries of a lane, so many at once that few waits suffice for a long row.
  static constexpr int held = 16;
  struct entries {
    C value[held];
  };
  WHILST_HD static int lanes_wanted() { return 32; }
  template <class Team>
  WHILST_HD entries fetch(index_type i, const Team& team) const {
    return load(team.rank(), team, [&](index_type j) { return team.early(inverse + i * n + j); });
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, entries e) const {
    C sum[4] = {};  // chains of additions that overlap
    for (index_type from = team.rank(); from < n; from += held * team.size()) {
      if (from >= held * team.size()) e = load(from, team, [&](index_type j) { return inverse[i * n + j]; });
      const entries of_x = load(from, team, [&](index_type j) { return x[j]; });
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < held; ++k) sum[k % 4] += e.value[k] * of_x.value[k];
    }
    const C total = team.sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
    if (team.rank() == 0) y[i] = factor ? static_cast<Y>(*factor * static_cast<double>(total)) : static_cast<Y>(total);
  }
  index_type bytes(index_type) const { return n * (n + 1) * static_cast<index_type>(sizeof(C)); }

 private:
  template <class Team, class Read>
  WHILST_HD entries load(index_type from, const Team& team, const Read& read) const {
    entries e;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < held; ++k) {
      const index_type j = from + k * team.size();
      e.value[k] = j < n ? read(j) : C(0);
    }
    return e;
  }
};

/// The vectors of a cycle: of each level but the finest r and, behind it, what the next coarser level answers; of the
/// finest one, whose r is the caller's, only that.
template <class T, class C>
class cycle_vectors {
 public:
  void take_memory(const hierarchy<C>& of, workspace& memory) {
    coarser_.clear();
    answer_to_finest_ = memory.take<T>(of.levels().front().coarse_rows);
    for (const level<C>& here : of.levels()) {
      const bool is_finest = coarser_.empty();
      coarser_.push_back({is_finest ? nullptr : memory.take<C>(here.A.rows + here.coarse_rows), here.A.rows});
    }
  }
  T* answer_to_finest() const { return answer_to_finest_; }
  /// Of level k > 0.
  C* residual(std::size_t k) const { return coarser_[k].residual; }
  C* answer(std::size_t k) const { return coarser_[k].residual + coarser_[k].rows; }

 private:
  struct of_level {
    C* residual;
    index_type rows;
  };
  T* answer_to_finest_ = nullptr;
  std::vector<of_level> coarser_;
};

/// Records z = *factor B r for the whole hierarchy's B.
template <class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<T, C>& vectors, const T* r, T* z,
                  const double* factor) {
  const auto& levels = of.levels();
  const std::size_t last = levels.size() - 1;
  const bool on_host = run.where().on_host();
  const auto product = [&](const char* name, const interleaved_rows<C>& A, const auto& x, auto* y,
                           const double* factor) {
    using X = std::remove_cvref_t<decltype(x)>;
    run.step(name, on_host ? A.pattern.rows : A.warps(),
             cycle_product<C, X, std::remove_pointer_t<decltype(y)>>{A, x, y, factor});
  };
  const auto up = [&](std::size_t k, const auto& x, auto* y, const double* factor) {
    const index_type n = levels[k].A.rows;
    using X = std::remove_cvref_t<decltype(x)>;
    if (k == last && of.has_inverse()) {
      run.step("the coarsest level", n,
               inverse_product<C, X, std::remove_pointer_t<decltype(y)>>{n, of.inverse(), x, y, factor});
    } else {
      product("up: S r + Q e", levels[k].up, x, y, factor);
    }
  };
  const finest_vector<C, T> finest{r, vectors.answer_to_finest(), levels[0].A.rows};
  const auto coarser = [&](std::size_t k) { return static_cast<const C*>(vectors.residual(k)); };
  if (last > 0) product("down: Q'r", levels[0].down, finest, vectors.residual(1), nullptr);
  for (std::size_t k = 1; k < last; ++k)
    product("down: Q'r", levels[k].down, coarser(k), vectors.residual(k + 1), nullptr);
  for (std::size_t k = last; k > 1; --k) up(k, coarser(k), vectors.answer(k - 1), nullptr);
  if (last > 0) up(1, coarser(1), vectors.answer_to_finest(), nullptr);
  up(0, finest, z, factor);
}

}  // namespace whilst::multigrid
