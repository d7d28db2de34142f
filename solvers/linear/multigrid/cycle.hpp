#pragma once

#include "solvers/linear/multigrid/hierarchy.hpp"
#include "solvers/linear/multigrid/interleaved_product.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

/// On the finest level, where the cycle has the caller's numbers: the caller's r and, behind it, what the next coarser
/// level answers. They lie apart; one address is chosen without a branch, which would have reads wait for one another.
template <class C>
struct finest_vector {
  const C *r, *e;
  index_type n;
  WHILST_HD C operator[](index_type i) const {
    const C* const from = i < n ? r : e - n;
    return from[i];
  }
};
/// Where the cycle has shorter numbers than the caller: r in these, since rows read each entry several times.
template <class C, class T>
struct round_vector {
  const T* r;
  C* rounded;
  WHILST_HD void operator()(index_type i) const { rounded[i] = static_cast<C>(r[i]); }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(C)); }
};

template <class C, class X, class Y>
using cycle_product = interleaved_product<C, X, Y>;

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

/// The vectors of a cycle: of each level r and, behind it, what the next coarser level answers; of the finest one only
/// that, if its r is the caller's.
template <class C>
class cycle_vectors {
 public:
  void take_memory(const hierarchy<C>& of, bool finest_is_callers, workspace& memory) {
    of_level_.clear();
    for (const level<C>& here : of.levels()) {
      const index_type own = of_level_.empty() && finest_is_callers ? 0 : here.unknowns();
      C* const taken = memory.take<C>(own + here.coarse_unknowns());
      of_level_.push_back({taken, taken ? taken + own : nullptr});
    }
  }
  C* residual(std::size_t k) const { return of_level_[k].residual; }
  C* answer(std::size_t k) const { return of_level_[k].answer; }

 private:
  struct pair {
    C *residual, *answer;
  };
  std::vector<pair> of_level_;
};

/// Records z = *factor B r for the whole hierarchy's B.
template <class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, const T* r, T* z,
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
    const index_type n = levels[k].unknowns();
    using X = std::remove_cvref_t<decltype(x)>;
    if (k == last && of.has_inverse()) {
      run.step("the coarsest level", n,
               inverse_product<C, X, std::remove_pointer_t<decltype(y)>>{n, of.inverse(), x, y, factor});
    } else {
      product("up: S r + Q e", levels[k].up, x, y, factor);
    }
  };
  const auto coarser = [&](std::size_t k) { return static_cast<const C*>(vectors.residual(k)); };
  const auto cycle_from = [&](const auto& finest) {
    if (last > 0) product("down: W r", levels[0].down, finest, vectors.residual(1), nullptr);
    for (std::size_t k = 1; k < last; ++k)
      product("down: W r", levels[k].down, coarser(k), vectors.residual(k + 1), nullptr);
    for (std::size_t k = last; k > 0; --k) up(k, coarser(k), vectors.answer(k - 1), nullptr);
    up(0, finest, z, factor);
  };
  const index_type n = levels[0].unknowns();
  if constexpr (std::is_same_v<T, C>) {
    cycle_from(finest_vector<C>{r, vectors.answer(0), n});
  } else {
    run.step("r in the cycle's numbers", n, round_vector<C, T>{r, vectors.residual(0)});
    cycle_from(coarser(0));
  }
}

}  // namespace whilst::multigrid
