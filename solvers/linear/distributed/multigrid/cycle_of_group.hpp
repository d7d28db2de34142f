#pragma once

#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"
#include "whilst/exchange/group_recorder.hpp"
#include "whilst/linear/distributed/record_exchange.hpp"

namespace whilst::multigrid {

/// The residual of all unknowns in order: own ones from memory, the others as they come.
template <class C>
struct gather_residual {
  halo_exchange halo;
  const C* own;
  const int* running;
  index_type first;
  C* all;
  WHILST_HD void operator()(index_type j) const {
    const index_type local = j - first;
    if (local >= 0 && local < halo.own) {
      all[j] = own[local];
    } else {
      const index_type g = local < 0 ? j : j - halo.own;
      all[j] = halo.template awaited<C>(g, halo.round_of(own).round, running);
    }
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(C) + sizeof(tagged_word)); }
};
/// What a rank names of an answer that it has whole.
template <class C>
struct take_named {
  const std::int32_t* named;
  const C* all;
  C* to;
  WHILST_HD void operator()(index_type j) const { to[j] = all[named[j]]; }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(2 * sizeof(C) + sizeof(std::int32_t)); }
};
template <class C, class Z>
struct take_own_scaled {
  const C* answer;
  const double* factor;
  Z* z;
  WHILST_HD void operator()(index_type i) const { z[i] = static_cast<Z>(*factor * static_cast<double>(answer[i])); }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(C) + sizeof(Z)); }
};

/// Records z = *factor B r for the B of all levels and the r in of.residual(): a V-cycle with one sweep before and one
/// after, as record_cycle. A level's residual and the answers to it cross the borders before the products that read
/// them; ghosts of the residual serve both on the way down and on the way up.
template <class C, class Z>
void record_cycle_of_group(group_recorder& run, const levels_of_group<C>& of, Z* z, const double* factor) {
  const auto& levels = of.levels();
  const gathered_level<C>* const gathered = of.gathered();
  const bool on_host = run.where().on_host();
  const auto product = [&](const char* name, const interleaved_rows<C>& A, const C* x, auto* y, const double* scale) {
    run.step(name, on_host ? A.pattern.rows : A.warps(),
             interleaved_product<C, const C*, put_scaled<std::remove_pointer_t<decltype(y)>>>{A, x, {y, scale}});
  };
  const auto residual = [&](std::size_t k) {
    return k < levels.size() ? levels[k].residual() : gathered->residual.data();
  };
  for (std::size_t k = 0; k < levels.size(); ++k) {
    record_exchange(run, *levels[k].cycle_halo, levels[k].residual());
    if (levels[k].has_coarser) product("down: W r", levels[k].down, levels[k].residual(), residual(k + 1), nullptr);
  }
  if (gathered) {
    const halo_exchange& halo = gathered->of_all->of_steps();
    const C* const own = gathered->residual.data();
    const local_numbers& numbers = gathered->numbers;
    if (!gathered->of_all->is_mutual()) run.agree();
    run.step("send what others read", halo.sends, send_entries<C>{halo, own});
    run.reads_halo({halo.state, own});
    run.step("gather a level", numbers.partition.rows(),
             gather_residual<C>{halo, own, run.running(), numbers.first(), gathered->vectors.residual(0)});
    C* const answer = gathered->answer.data();
    record_cycle(static_cast<recorder&>(run), *gathered->levels, gathered->vectors, answer,
                 static_cast<const double*>(nullptr));
    if (levels.empty()) {
      run.step("own entries", numbers.own(), take_own_scaled<C, Z>{answer + numbers.first(), factor, z});
    } else {
      run.step("entries with a name here", gathered->named.size(),
               take_named<C>{gathered->named.data(), answer, levels.back().answer()});
    }
  }
  for (std::size_t k = levels.size(); k-- > 0;) {
    if (k == 0) {
      product("up: S r + Q e", levels[0].up, levels[0].residual(), z, factor);
    } else {
      C* const e = levels[k - 1].answer();
      product("up: S r + Q e", levels[k].up, levels[k].residual(), e, nullptr);
      record_exchange(run, *levels[k].cycle_halo, e);
    }
  }
}

}  // namespace whilst::multigrid
