#pragma once

#include <utility>
#include <vector>

#include "solvers/linear/geometric_multigrid/grid_hierarchy.hpp"
#include "solvers/linear/geometric_multigrid/grid_steps.hpp"
#include "solvers/linear/multigrid/cycles/cycle_products.hpp"
#include "solvers/linear/multigrid/cycles/deeper_cycle_steps.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::geometric_multigrid {

/// Cycles of multigrid with red-black Gauss-Seidel sweeps, red first before the coarse correction, black first after
/// it, so that a cycle is symmetric: U. Trottenberg, C. W. Oosterlee, A. Schueller, "Multigrid" (2001), sections 2.4
/// and 2.5. With P' as restriction, which is 2^d times full weighting in d dimensions, as links and cells grow.
///
/// A red point follows from its black neighbours, so only the black half of a vector is kept between steps, and P e
/// goes into it directly. With one sweep, a level reads or writes 5.75 vectors in four steps, in three dimensions.
template <class C>
class grid_cycle {
 public:
  grid_cycle(const grid_hierarchy<C>& of, bool twice, int sweeps) : of_(of), twice_(twice), sweeps_(sweeps) {}

  void take_memory(workspace& memory) {
    memory_.clear();
    for (std::size_t k = 0; k <= last(); ++k) {
      const grid_level<C>& level = of_.levels()[k];
      of_level& own = memory_.emplace_back();
      if (k > 0 || last() == 0) own.right = memory.take<C>(level.size());
      if (k > 0) own.answer = memory.take<C>(level.size());
      if (k == last()) continue;
      own.black = memory.take<C>(level.half_size());
      if (sweeps_ == 1) continue;
      own.other_black = memory.take<C>(level.half_size());
      own.red = memory.take<C>(level.half_size());
    }
  }
  /// Records z = *factor B r.
  template <class T>
  void record(recorder& run, const T* r, T* z, const double* factor) const {
    const multigrid::put_answer<T> put{z, nullptr, factor};
    if (last() > 0) return visit(run, 0, r, put);
    run.step("r in the cycle's numbers", of_.levels()[0].size(), multigrid::round_vector<C, T>{r, memory_[0].right});
    solve_coarsest(run, put);
  }

 private:
  struct of_level {
    C *right = nullptr, *answer = nullptr;
    C *black = nullptr, *other_black = nullptr, *red = nullptr;  ///< halves
  };
  std::size_t last() const { return of_.levels().size() - 1; }
  /// With each further level a W-cycle's steps would double.
  bool visits_twice(std::size_t k) const {
    constexpr std::size_t most_doubled = 4;
    return twice_ && k > 0 && k < last() && k <= most_doubled;
  }

  template <class Put>
  void solve_coarsest(recorder& run, const Put& put) const {
    const index_type n = of_.levels()[last()].size();
    run.step("the coarsest grid", n,
             multigrid::inverse_product<C, const C*, Put>{n, of_.inverse(), memory_[last()].right, put});
  }

  /// The answer of level k to its right-hand side.
  void solve(recorder& run, std::size_t k) const {
    const of_level& own = memory_[k];
    const multigrid::put_answer<C> put{own.answer}, add{own.answer, own.answer};
    if (k == last()) return solve_coarsest(run, put);
    visit(run, k, static_cast<const C*>(own.right), put);
    if (!visits_twice(k)) return;
    const grid_level<C>& grid = of_.levels()[k];
    step(run, "b -= A e", grid, grid.points[0], [&](const auto& of) {
      return residual_on_grid<C>{of, own.right, own.answer, own.right};
    });
    visit(run, k, static_cast<const C*>(own.right), add);
  }

  template <class B, class Put>
  void visit(recorder& run, std::size_t k, const B* b, const Put& put) const {
    const grid_level<C>& grid = of_.levels()[k];
    const of_level& own = memory_[k];
    const int half = grid.half_line();
    C *black = own.black, *before = nullptr;
    const auto relax = [&](const char* name, int colour, const C* others, C* relaxed) {
      step(run, name, grid, half, [&](const auto& of) { return relax_colour<C, B>{of, colour, b, others, relaxed}; });
    };
    step(run, "the first sweep", grid, half, [&](const auto& of) { return first_sweep<C, B>{of, b, black}; });
    for (int sweep = 1; sweep < sweeps_; ++sweep) {
      relax("red points", 0, black, own.red);
      before = std::exchange(black, black == own.black ? own.other_black : own.black);
      relax("black points", 1, own.red, black);
    }
    grid.coarsens_all ? restrict_to<true>(run, k, black, before) : restrict_to<false>(run, k, black, before);
    solve(run, k + 1);
    grid.coarsens_all ? correct_from<true>(run, k, black) : correct_from<false>(run, k, black);
    for (int sweep = 1; sweep < sweeps_; ++sweep) {
      relax("red points", 0, black, own.red);
      relax("black points", 1, own.red, black);
    }
    step(run, "the last sweep", grid, half, [&](const auto& of) { return finish_sweep<C, B, Put>{of, b, black, put}; });
  }

  template <bool all>
  void restrict_to(recorder& run, std::size_t k, const C* black, const C* before) const {
    const grid_level<C>& grid = of_.levels()[k];
    const int* const coarse = grid.coarse_points;
    run.step("P'(b - A u)", grid.coarse_size(),
             restrict_residual<C, all>{{grid, coarse[0], coarse[1]}, black, before, memory_[k + 1].right});
  }
  template <bool all>
  void correct_from(recorder& run, std::size_t k, C* black) const {
    const grid_level<C>& grid = of_.levels()[k];
    step(run, "black points with P e", grid, grid.half_line(), [&](const auto& of) {
      return correct_black<C, all>{of, memory_[k + 1].answer, black};
    });
  }
  /// Records what `made` makes of the grid, whose lines have so many places.
  template <class Made>
  static void step(recorder& run, const char* name, const grid_level<C>& grid, int places, const Made& made) {
    run.step(name, grid.lines() * places, made(grid_step<C>(grid, places, grid.points[1])));
  }

  const grid_hierarchy<C>& of_;
  bool twice_;
  int sweeps_;
  std::vector<of_level> memory_;
};

}  // namespace whilst::geometric_multigrid
