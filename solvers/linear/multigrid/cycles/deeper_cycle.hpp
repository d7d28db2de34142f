#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "solvers/linear/multigrid/cycles/cycle_products.hpp"
#include "solvers/linear/multigrid/cycles/deeper_cycle_steps.hpp"
#include "solvers/linear/multigrid/cycles/gauss_seidel.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"

namespace whilst::multigrid {

/// The vectors of a cycle that cycle_plan::is_plain is not true of.
template <class C>
class deeper_cycle_vectors {
 public:
  struct of_level {
    C* right = nullptr;  ///< b, which a second visit replaces by what the first has left of it
    C* rest = nullptr;   ///< b - A x for the cycle's matrices, and, behind it, what the next coarser level answers
    C *x = nullptr, *next_x = nullptr;        ///< of sweeps that are steps of their own
    C *second = nullptr, *product = nullptr;  ///< of a K-cycle: the second direction, A times the first
    krylov_scalars* scalars = nullptr;
  };

  void take_memory(const hierarchy<C>& of, workspace& memory) {
    const cycle_plan& plan = of.plan();
    of_level_.clear();
    for (std::size_t k = 0; k < of.levels().size(); ++k) {
      const level<C>& level = of.levels()[k];
      const index_type n = level.unknowns(), coarse = level.coarse_unknowns();
      of_level& here = of_level_.emplace_back();
      here.rest = memory.take<C>(n + coarse);
      here.right = here.rest;
      if (!plan.outer_weights.empty()) {
        here.right = memory.take<C>(n);
        here.x = memory.take<C>(n);
        here.next_x = memory.take<C>(n);
      }
      if (plan.cycle != cycle_kind::K || !plan.visits_twice(k)) continue;
      here.second = memory.take<C>(n);
      here.product = memory.take<C>(n);
      here.scalars = memory.take<krylov_scalars>(1);
    }
  }
  of_level operator[](std::size_t k) const { return k < of_level_.size() ? of_level_[k] : of_level(); }

 private:
  std::vector<of_level> of_level_;
};

/// Records a cycle of any plan for B r, level by level.
///
/// Sweeps beyond the first surround the cycle with one sweep before and one after the coarse correction, which
/// hierarchy describes, and which takes what they have left of b: with x by the sweeps before and t = b - A x, the next
/// coarser level receives W t, answers e, and x becomes x + S t + Q e, which the sweeps after improve. That is what a
/// cycle with all sweeps, a restriction and a prolongation does. So all plans have matrices of the same kind, and a
/// sweep takes one step, or two of blocks, or one for each colour.
template <class C, class Run>
class deeper_cycle {
 public:
  deeper_cycle(Run& run, const hierarchy<C>& of, const deeper_cycle_vectors<C>& vectors)
      : run_(run), of_(of), vectors_(vectors), last_(of.levels().size() - 1) {}

  /// b is vectors[k].right; put(i, value) takes entry i of B b.
  template <class Put>
  void visit(std::size_t k, cycle_kind kind, const Put& put) {
    const level<C>& here = of_.levels()[k];
    const auto v = vectors_[k];
    if (is_inverted(k)) {
      const index_type n = here.unknowns();
      run_.step("the coarsest level", n, inverse_product<C, const C*, Put>{n, of_.inverse(), v.right, put});
      return;
    }
    const std::vector<double>& weights = of_.plan().outer_weights;
    const bool by_colours = of_.plan().goes_by_colours();
    C *x = v.x, *next_x = v.next_x;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      if (by_colours) {
        forward_by_colours(here, v, /*from_zero=*/j == 0);
      } else if (j == 0) {
        smooth(here, weights[j], v.right, nullptr, put_answer<C>{x});
      } else {
        sweep(here, v, weights[j], x, put_answer<C>{next_x});
        std::swap(x, next_x);
      }
    }
    if (!weights.empty()) product("t = b - A x", here.whole, x, put_residual<C>{v.right, v.rest});
    if (k < last_) {
      product("down: W t", here.down, v.rest, put_answer<C>{vectors_[k + 1].right});
      solve(k + 1, kind, v.rest ? v.rest + here.unknowns() : nullptr);  // null while steps are counted
    }
    if (weights.empty()) {
      product("up: S t + Q e", here.up, v.rest, put);
      return;
    }
    product("up: x + S t + Q e", here.up, v.rest, put_answer<C>{x, x});
    if (by_colours) {
      for (std::size_t j = weights.size(); j-- > 1;) backward_by_colours(here, v, put_nothing{});
      return backward_by_colours(here, v, put);
    }
    for (std::size_t j = weights.size(); j-- > 1; std::swap(x, next_x))
      sweep(here, v, weights[j], x, put_answer<C>{next_x});
    sweep(here, v, weights[0], x, put);
  }

 private:
  bool is_inverted(std::size_t k) const { return k == last_ && of_.has_inverse(); }

  /// e = what level k answers to vectors[k].right.
  void solve(std::size_t k, cycle_kind kind, C* e) {
    const put_answer<C> first{e}, added{e, e};
    const bool once = kind == cycle_kind::V && of_.plan().cycle != kind;  // of an F-cycle
    if (once || !of_.plan().visits_twice(k) || is_inverted(k)) return visit(k, cycle_kind::V, first);
    if (kind == cycle_kind::K) return solve_by_krylov(k, e);
    const auto v = vectors_[k];
    visit(k, kind, first);
    product("b -= A e", of_.levels()[k].whole, e, put_residual<C>{v.right, v.right});
    visit(k, kind == cycle_kind::F ? cycle_kind::V : kind, added);
  }

  /// Two steps, from 0: of flexible conjugate gradients, where M is nearly symmetric and definite as A is, or of a
  /// method that lowers the residual. Y. Notay, P. S. Vassilevski, "Recursive Krylov-based multigrid cycles", Numer.
  /// Linear Algebra Appl. 15 (2008) 473-487. With c = B b, b' = b - alpha A c, d = B b' and what they are multiplied
  /// by, u = c or A c and w = d or A d:
  ///
  ///   rho = (u, A c)   alpha = (u, b) / rho   gamma = (w, A c)   delta = (w, A d) - gamma^2 / rho   eta = (w, b')
  ///   e = (alpha - gamma eta / (rho delta)) c + eta / delta d
  void solve_by_krylov(std::size_t k, C* e) {
    const level<C>& here = of_.levels()[k];
    const auto v = vectors_[k];
    const index_type n = here.unknowns();
    const bool by_directions = of_.is_for_symmetric();
    visit(k, cycle_kind::K, put_answer<C>{e});
    product("A c and products with it", here.whole, e,
            first_direction<C>{by_directions ? e : nullptr, v.right, v.product}, choose_first_step{v.scalars});
    run_.step("b -= alpha A c", n, recede<C>{v.scalars, v.product, v.right});
    visit(k, cycle_kind::K, put_answer<C>{v.second});
    product("products with A d", here.whole, v.second,
            second_direction<C>{by_directions ? v.second : nullptr, v.right, v.product},
            choose_both_steps{v.scalars, 16 * static_cast<double>(std::numeric_limits<C>::epsilon())});
    run_.step("e from c and d", n, combine_directions<C>{v.scalars, v.second, e});
  }

  template <class Put, class... Finish>
  void product(const char* name, const interleaved_rows<C>& A, const C* x, const Put& put, const Finish&... finish) {
    run_.step(name, run_.where().on_host() ? A.pattern.rows : A.warps(),
              interleaved_product<C, const C*, Put>{A, x, put}, finish...);
  }
  /// put(x + weight M t); null for an x of 0.
  template <class Put>
  void smooth(const level<C>& here, double weight, const C* t, const C* x, const Put& put) {
    const auto w = static_cast<C>(weight);
    const index_type n = here.unknowns();
    if (here.in_double.M) {
      run_.step("x + w M t", n, smooth_by_blocks<C, double, Put>{here.block, here.in_double.M, w, t, x, put});
    } else {
      run_.step("x + w M t", n, smooth_by_blocks<C, C, Put>{1, here.M, w, t, x, put});
    }
  }
  /// put(x + weight M (b - A x)); put writes another vector than x.
  template <class Put>
  void sweep(const level<C>& here, const typename deeper_cycle_vectors<C>::of_level& v, double weight, const C* x,
             const Put& put) {
    if (here.in_double.M) {
      product("t = b - A x", here.whole, x, put_residual<C>{v.right, v.rest});
      smooth(here, weight, v.rest, x, put);
    } else {
      product("x + w M (b - A x)", here.whole, x, put_sweep<C, Put>{v.right, x, here.M, static_cast<C>(weight), put});
    }
  }

  void forward_by_colours(const level<C>& here, const typename deeper_cycle_vectors<C>::of_level& v, bool from_zero) {
    for (int c = 0; c < here.colours.count(); ++c)
      relax("a colour, forward", here, v, c, from_zero ? here.colours.colour : nullptr, put_nothing{});
  }
  /// put takes what becomes of x in the end.
  template <class Put>
  void backward_by_colours(const level<C>& here, const typename deeper_cycle_vectors<C>::of_level& v, const Put& put) {
    for (int c = here.colours.count(); c-- > 0;) relax("a colour, backward", here, v, c, nullptr, put);
  }
  template <class Put>
  void relax(const char* name, const level<C>& here, const typename deeper_cycle_vectors<C>::of_level& v, int c,
             const std::int32_t* colour_from_zero, const Put& put) {
    const index_type rows = here.colours.rows_of(c);
    const std::int32_t* const first = here.colours.first_row_of(c);
    const int lanes = here.colours.lanes_of(c, here.A.lanes(here.inverse_blocks ? 1 : 4));
    if (!here.inverse_blocks) {
      run_.step(name, rows, relax_colour<C, Put>{here.matrix(), first, colour_from_zero, c, v.right, v.x, put, lanes});
      return;
    }
    const node_matrix<C> A{here.A, here.whole_values, here.block, here.block};
    with_block_size(here.block, [&](auto size) {
      run_.step(
          name, rows,
          relax_nodes<C, size, Put>{A, here.inverse_blocks, first, colour_from_zero, c, v.right, v.x, put, lanes});
    });
  }

  Run& run_;
  const hierarchy<C>& of_;
  const deeper_cycle_vectors<C>& vectors_;
  std::size_t last_;
};

/// Records z = *factor B r for the whole hierarchy's B, and an r that is in vectors[0].right already.
template <class T, class C>
void record_deeper_cycle(recorder& run, const hierarchy<C>& of, const deeper_cycle_vectors<C>& vectors, T* z,
                         const double* factor) {
  deeper_cycle<C, recorder>(run, of, vectors).visit(0, of.plan().cycle, put_answer<T>{z, nullptr, factor});
}
template <class T, class C>
void record_deeper_cycle(recorder& run, const hierarchy<C>& of, const deeper_cycle_vectors<C>& vectors, const T* r,
                         T* z, const double* factor) {
  run.step("r in the cycle's numbers", of.levels().front().unknowns(), round_vector<C, T>{r, vectors[0].right});
  record_deeper_cycle(run, of, vectors, z, factor);
}
/// How many steps that takes.
class step_counter {
 public:
  explicit step_counter(place where) : where_(where) {}
  place where() const { return where_; }
  template <class... Parts>
  void step(const char*, index_type, const Parts&...) {
    ++steps;
  }
  int steps = 0;

 private:
  place where_;
};
template <class C>
int steps_of_deeper_cycle(const hierarchy<C>& of, place where) {
  step_counter counter(where);
  const deeper_cycle_vectors<C> none;
  deeper_cycle<C, step_counter>(counter, of, none).visit(0, of.plan().cycle, put_answer<C>{});
  return 1 + counter.steps;  // r in the cycle's numbers
}

}  // namespace whilst::multigrid
