#pragma once

#include "solvers/descent.hpp"
#include "whilst/recorder.hpp"

namespace whilst {

/// Where f and its gradient are wanted. All of it is memory of the place.
template <class T>
struct evaluation {
  const T* at;         ///< the point
  T* gradient;         ///< receives g
  const T* direction;  ///< d: read only, for the sums
  descent_state* s;    ///< s->trial_value receives f
  judge_trial judge;   ///< the finish of the last step, on the sums of share_of_trial(g_i, d_i, x_i)
};

/// A symmetric matrix in compressed sparse row form, both triangles, on a place; borrowed from its objective.
template <class T>
struct hessian_view {
  index n = 0, nonzeros = 0;
  const std::int32_t *row_offsets = nullptr, *column_indices = nullptr;
  T* values = nullptr;
};

/// A function to be minimized, as methods record it: an interface, so that methods and problems are compiled apart.
/// partially_separable is the usual one; called_objective is for those who have kernels of their own.
template <class T>
class objective {
 public:
  virtual ~objective() = default;
  virtual place where() const = 0;
  virtual index unknowns() const = 0;
  /// Records the steps that make f and its gradient.
  virtual void evaluate(recorder& run, const evaluation<T>& wanted) const = 0;

  virtual bool has_hessian() const { return false; }
  /// The Hessian's pattern, and where make_hessian's steps put its values.
  virtual hessian_view<T> hessian() const { return {}; }
  /// Records the steps that make the Hessian at x, if *wanted is not 0 when they run. With `positive`, each term's
  /// Hessian is made positive semi-definite first.
  virtual void make_hessian([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x,
                            [[maybe_unused]] const int* wanted, [[maybe_unused]] bool positive) const {}
};

}  // namespace whilst
