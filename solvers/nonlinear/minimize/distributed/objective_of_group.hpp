#pragma once

#include "whilst/exchange/group_recorder.hpp"
#include "whilst/linear/distributed/record_exchange.hpp"
#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

/// A rank's part of a function of all ranks, as record_descent wants it: see distributed_minimizer. Each evaluation
/// brings in ghosts first. Sums follow every one, so that none is far ahead.
template <class T>
struct objective_of_group {
  const objective<T>* local;
  const halo* reads;  ///< null: none reads ghosts
  group_exchange ranks;
  index_type own;

  place where() const { return local->where(); }
  index_type unknowns() const { return own; }
  index_type ghosts() const { return reads ? reads->of_steps().ghosts : 0; }
  void prepare() const {
    if (own > 0) local->prepare();
  }
  group_recorder runner(recorder& target) const { return {target, ranks}; }
  evaluated<T> evaluate(group_recorder& run, T* x) const {
    if (reads) record_exchange_between_sums(run, *reads, x);
    return own > 0 ? local->evaluate(run, x) : evaluated<T>{};
  }
};

template <class T>
using descent_of_group = descent_request<T, objective_of_group<T>>;

template <class T>
recorded_descent<T> record_distributed_limited_memory_bfgs(const descent_of_group<T>& request);
template <class T>
recorded_descent<T> record_distributed_conjugate_gradient_pr(const descent_of_group<T>& request);
template <class T>
recorded_descent<T> record_distributed_conjugate_gradient_hz(const descent_of_group<T>& request);
template <class T>
recorded_descent<T> record_distributed_gradient_descent(const descent_of_group<T>& request);

/// The methods by name, as descent_methods.
template <class T>
inline constexpr descent_method<T, objective_of_group<T>> distributed_descent_methods[] = {
    {"lbfgs", record_distributed_limited_memory_bfgs<T>},
    {"conjugate-gradient-pr", record_distributed_conjugate_gradient_pr<T>},
    {"conjugate-gradient-hz", record_distributed_conjugate_gradient_hz<T>},
    {"gradient-descent", record_distributed_gradient_descent<T>},
};

}  // namespace whilst
