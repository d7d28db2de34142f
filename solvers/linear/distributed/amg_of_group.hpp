#pragma once

#include "solvers/linear/distributed/chebyshev_of_group.hpp"
#include "solvers/linear/distributed/coarse_space.hpp"

namespace whilst {
namespace amg_of_groups {

/// c = P'r: a block an aggregate.
template <class T>
struct restrict_residual {
  static constexpr bool whole_block = true;
  const std::int32_t *first_members, *members;
  const T* r;
  T* c;
  static constexpr int threads_wanted() { return 128; }
  template <class Team>
  WHILST_HD void operator()(index_type a, const Team& team) const {
    double sum = 0;
    for (std::int32_t k = first_members[a] + static_cast<std::int32_t>(team.rank()); k < first_members[a + 1];
         k += static_cast<std::int32_t>(team.size()))
      sum += static_cast<double>(r[members[k]]);
    sum = team.sum(sum);
    if (team.rank() == 0) c[a] = static_cast<T>(sum);
  }
};
/// z += M_q r + P d.
template <class T>
struct add_both {
  const double* factor;  ///< of A, which E leaves out
  const std::int32_t* aggregate_of;
  const T *of_rank, *d;
  T* z;
  WHILST_HD void operator()(index_type i) const {
    z[i] += of_rank[i] + static_cast<T>(static_cast<double>(d[aggregate_of[i]]) / *factor);
  }
};
template <class T>
struct add_vector {
  const T* change;
  T* z;
  WHILST_HD void operator()(index_type i) const { z[i] += change[i]; }
  index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
};
/// Of A z: what is left of r.
template <class T>
struct take_rest {
  const double* factor;
  const T* r;
  T* rest;
  WHILST_HD T read(index_type i) const { return r[i]; }
  WHILST_HD void operator()(index_type i, T ri, T Az) const { rest[i] = ri - static_cast<T>(*factor) * Az; }
  index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
};

}  // namespace amg_of_groups

/// Preconditioner "amg" on several ranks: with M_q of each rank's own hierarchy, the coarse space's Q = P E^-1 P', and
/// the Chebyshev polynomial C of the whole matrix,
///
///   z = C r,   z += (M_q + Q) (r - A z),   z += C (r - A z)
///
/// M_q knows no other rank, so its error is largest on both sides of the borders between ranks, and oscillates there: C
/// takes that out. Q takes out what is smooth over several ranks. Symmetric, and definite where M_q is.
template <class T, class Operator>
struct amg_of_group {
  static constexpr bool pointwise = false, is_identity = false, runs_in_kernel = false;

  chebyshev_of_group<T, Operator> C;
  composed_preconditioner<T> of_rank;
  coarse_steps<T> Q;
  T *rest = nullptr, *change = nullptr, *c = nullptr, *d = nullptr;

  bool changes_nothing() const { return false; }
  bool made_from_operator() const { return true; }
  amg_of_group with_memory(index_type n, workspace& memory) const {
    amg_of_group made = *this;
    made.C = C.with_memory(n, memory);
    made.of_rank = of_rank.with_memory(n, memory);
    made.rest = made.C.vectors[2];  // free once C is prepared
    made.change = made.C.vectors[3];
    made.c = memory.take<T>(Q.aggregates);
    made.d = memory.take<T>(Q.aggregates);
    return made;
  }
  template <class Run>
  void prepare(Run& run, const scaled_operator<T, Operator>& sA) const {
    C.prepare(run, sA);
    of_rank.prepare(run, sA);
  }
  template <class Run>
  void note_solve(Run& run, const control* loop, const double* first_norm) const {
    of_rank.note_solve(run, loop, first_norm);
  }
  template <class Run>
  void record(Run& run, index_type n, const T* r, T* z) const {
    C.record(run, n, r, z);
    record_rest(run, r, z);
    of_rank.record(run, n, rest, change);
    recorder& own = run;
    own.team("c = P'r", Q.aggregates, amg_of_groups::restrict_residual<T>{Q.first_members, Q.members, rest, c});
    product(run, "d = E^-1 c", Q.inverse, static_cast<const T*>(c), d, product_alone());
    run.step("z += M r + P d", n, amg_of_groups::add_both<T>{C.factor, Q.aggregate_of, change, d, z});
    record_rest(run, r, z);
    C.record(run, n, rest, change);
    run.step("z += C r", n, amg_of_groups::add_vector<T>{change, z});
  }
  WHILST_HD float* rounded_residual() const { return nullptr; }
  template <class Run>
  void record_after_rounding(Run& run, const T* r, T* z) const {
    record(run, C.A.rows(), r, z);
  }

 private:
  template <class Run>
  void record_rest(Run& run, const T* r, const T* z) const {
    make_from_product(run, "r - A z", C.A, z, C.vectors[1], amg_of_groups::take_rest<T>{C.factor, r, rest});
  }
};

/// values: of the matrix; the request has those of the rank's own M.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_distributed_with_amg(const solve_request<T>& request, const distributed_setup& setup,
                                              const chebyshev_settings& smoother, constant_slot<const T> values,
                                              const coarse_steps<T>& coarse) {
  auto A = setup.operator_of<T>(csr_of<std::int32_t>(request));
  auto of_M = A;
  of_M.local.values = values;
  const composed_preconditioner<T> of_rank{request.preconditioner_parts};
  M_with_values(of_rank, request.values_of_M);
  return record_distributed<Method>(request, A, amg_of_group<T, decltype(A)>{{of_M, smoother}, of_rank, coarse});
}

}  // namespace whilst
