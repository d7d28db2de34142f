#pragma once

#include "solvers/linear/multigrid/cycles/cycle_products.hpp"
#include "solvers/linear/multigrid/cycles/deeper_cycle_steps.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"

namespace whilst::multigrid {

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

/// Records z = *factor B r for the whole hierarchy's B: a V-cycle with one sweep before and one after, in which one
/// level may be visited twice: see cycle_plan::revisited. Finest: of r, and of what the next coarser level answers
/// behind it.
template <class Finest, class T, class C>
void record_cycle_from(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, const Finest& finest,
                       T* z, const double* factor) {
  const auto& levels = of.levels();
  const std::size_t last = levels.size() - 1;
  const bool on_host = run.where().on_host();
  const auto product = [&](const char* name, const interleaved_rows<C>& A, const auto& x, const auto& put) {
    using X = std::remove_cvref_t<decltype(x)>;
    using Put = std::remove_cvref_t<decltype(put)>;
    run.step(name, on_host ? A.pattern.rows : A.warps(), interleaved_product<C, X, Put>{A, x, put});
  };
  const auto up = [&](std::size_t k, const auto& x, const auto& put) {
    const index_type n = levels[k].unknowns();
    using X = std::remove_cvref_t<decltype(x)>;
    using Put = std::remove_cvref_t<decltype(put)>;
    if (k == last && of.has_inverse()) {
      run.step("the coarsest level", n, inverse_product<C, X, Put>{n, of.inverse(), x, put});
    } else {
      product("up: S r + Q e", levels[k].up, x, put);
    }
  };
  const auto coarser = [&](std::size_t k) { return static_cast<const C*>(vectors.residual(k)); };
  const auto down = [&](std::size_t k, const auto& x) {
    product("down: W r", levels[k].down, x, put_scaled<C>{vectors.residual(k + 1), nullptr});
  };
  const auto up_to_coarser = [&](std::size_t k) { up(k, coarser(k), put_scaled<C>{vectors.answer(k - 1), nullptr}); };
  const auto down_from = [&](std::size_t first) {
    for (std::size_t k = first; k < last; ++k) down(k, coarser(k));
  };
  if (last > 0) down(0, finest);
  down_from(1);
  for (std::size_t k = last; k > 0; --k) {
    up_to_coarser(k);
    if (k != of.plan().revisited) continue;
    C *const r = vectors.residual(k), *const e = vectors.answer(k - 1);
    product("r -= A e", levels[k].whole, static_cast<const C*>(e), put_residual<C>{r, r});
    down_from(k);
    for (std::size_t j = last; j > k; --j) up_to_coarser(j);
    up(k, coarser(k), put_answer<C>{e, e});
  }
  up(0, finest, put_scaled<T>{z, factor});
}
/// For an r that is in vectors.residual(0) already.
template <class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, T* z, const double* factor) {
  record_cycle_from(run, of, vectors, static_cast<const C*>(vectors.residual(0)), z, factor);
}
template <class T, class C>
void record_cycle(recorder& run, const hierarchy<C>& of, const cycle_vectors<C>& vectors, const T* r, T* z,
                  const double* factor) {
  const index_type n = of.levels().front().unknowns();
  if constexpr (std::is_same_v<T, C>) {
    record_cycle_from(run, of, vectors, finest_vector<C>{r, vectors.answer(0), n}, z, factor);
  } else {
    run.step("r in the cycle's numbers", n, round_vector<C, T>{r, vectors.residual(0)});
    record_cycle(run, of, vectors, z, factor);
  }
}

}  // namespace whilst::multigrid
