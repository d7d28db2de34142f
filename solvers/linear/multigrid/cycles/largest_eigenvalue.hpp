#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/systems/node_matrix.hpp"
#include "solvers/linear/stationary/lanczos_matrix.hpp"
#include "whilst/basics/random_sign.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// The largest eigenvalue of M A on a level, for a symmetric A and a symmetric M of blocks of nodes, both definite, by
/// Lanczos steps: see lanczos_matrix. Both may be negative definite: then beta^2 is the negative of (z, u). V: the
/// numbers of A and M; all else is double.
struct lanczos_memory {
  struct scalars {
    lanczos_matrix made;
    lanczos_weights next;
    double largest;  ///< what the largest eigenvalue is taken for
  };
  double *z = nullptr, *before = nullptr, *u = nullptr, *Au = nullptr;
  scalars* s = nullptr;

  void take(index_type n, level_memory& memory) {
    for (double** const one : {&z, &before, &u, &Au}) *one = memory.take<double>(n).data();
    s = memory.take<scalars>(1).data();
  }
};
inline constexpr int lanczos_steps_of_level = 12;
/// Lanczos steps find an eigenvalue from below: it is taken for a tenth more.
inline constexpr double eigenvalue_allowance = 1.1;

template <int size, class V>
struct begin_lanczos {
  const V* M;
  int unknowns_a_node;
  double *z, *before, *u;

  WHILST_HD void operator()(index_type i) const {
    const block_size<size> b{unknowns_a_node};
    for (int r = 0; r < b; ++r) {
      double Mz = 0;
      for (int t = 0; t < b; ++t) Mz += static_cast<double>(M[(i * b + r) * b + t]) * random_entry(i * b + t);
      z[i * b + r] = random_entry(i * b + r);
      before[i * b + r] = 0;
      u[i * b + r] = Mz;
    }
  }
};
struct forget_lanczos {
  lanczos_memory::scalars* s;
  WHILST_HD void operator()() const { s->made.steps = 0; }
};
/// A u, (z, u) and (u, A u).
template <int size, class V>
struct lanczos_product {
  node_matrix<V> A;
  const double *z, *u;
  double* Au;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD auto operator()(index_type i, const Team& team) const {
    const block_size<size> b{A.down};
    double product[block_size<size>::most] = {};
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      for (int r = 0; r < b; ++r)
        for (int c = 0; c < b; ++c) product[r] += static_cast<double>(A.row(i, e, r)[c]) * u[index_type{j} * b + c];
    });
    for (int r = 0; r < b; ++r) product[r] = team.sum(product[r]);
    sums<double, 2> share{};
    if (team.rank() > 0) return share;
    for (int r = 0; r < b; ++r) {
      const index_type k = i * b + r;
      Au[k] = product[r];
      share.value[0] += z[k] * u[k];
      share.value[1] += u[k] * product[r];
    }
    return share;
  }
};
struct note_lanczos_step {
  lanczos_memory::scalars* s;
  int k;
  WHILST_HD void operator()(const sums<double, 2>& total) const {
    s->next = s->made.template add<double>(k, total[0], total[1]);
  }
};
/// The next z, which takes the place of the one before, and its u.
template <int size, class V>
struct next_lanczos_vector {
  const lanczos_memory::scalars* s;
  const V* M;
  int unknowns_a_node;
  const double *Au, *z;
  double *next, *u;

  WHILST_HD void operator()(index_type i) const {
    const block_size<size> b{unknowns_a_node};
    double made[block_size<size>::most];
    for (int r = 0; r < b; ++r) {
      const index_type k = i * b + r;
      made[r] = s->next.next(Au[k], z[k], next[k]);
      next[k] = made[r];
    }
    for (int r = 0; r < b; ++r) {
      double Mz = 0;
      for (int t = 0; t < b; ++t) Mz += static_cast<double>(M[(i * b + r) * b + t]) * made[t];
      u[i * b + r] = Mz;
    }
  }
};

/// What the largest eigenvalue is taken for: what the steps say, but no more than `most`, which also counts where they
/// say nothing.
struct choose_eigenvalue {
  lanczos_memory::scalars* s;
  double most;
  WHILST_HD void operator()() const {
    const double found = s->made.steps > 0 ? eigenvalue_allowance * s->made.eigenvalue(s->made.steps - 1) : 0;
    s->largest = found > 0 && found < most ? found : most;
  }
};
template <class V>
struct weight_smoother {
  const lanczos_memory::scalars* s;
  double weight;
  V* M;
  WHILST_HD void operator()(index_type k) const {
    M[k] = static_cast<V>(weight / s->largest * static_cast<double>(M[k]));
  }
};

/// Records M = weight / l M for the largest eigenvalue l of M A, which is no more than `most`.
template <int size, class V>
void record_weighted(recorder& run, const node_matrix<V>& A, V* M, double weight, double most,
                     const lanczos_memory& memory) {
  const index_type n = A.nodes.rows;
  const int b = A.down, lanes = A.nodes.lanes(4);
  double *z = memory.z, *before = memory.before;
  run.step("random numbers", n, begin_lanczos<size, V>{M, b, z, before, memory.u}, forget_lanczos{memory.s});
  for (int k = 0; k < lanczos_steps_of_level; ++k) {
    run.step("A u, (z,u), (u,Au)", n, lanczos_product<size, V>{A, z, memory.u, memory.Au, lanes},
             note_lanczos_step{memory.s, k});
    if (k + 1 == lanczos_steps_of_level) break;
    run.step("z, u = M z", n, next_lanczos_vector<size, V>{memory.s, M, b, memory.Au, z, before, memory.u});
    std::swap(z, before);
  }
  run.once("the largest eigenvalue of M A", choose_eigenvalue{memory.s, most});
  run.step("M, weighted", n * b * b, weight_smoother<V>{memory.s, weight, M});
}

}  // namespace whilst::multigrid
