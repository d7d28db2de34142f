#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/group/group.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"
#include "whilst/nonlinear/functions/called_objective.hpp"
#include "whilst/nonlinear/functions/objective.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst {

/// Minimizes a function whose unknowns the ranks of a group share: one loop on each rank's GPU, which exchange sums and
/// the entries that neighbours read while they run. By `graph`, no host takes part in an iteration. See
/// docs/several-gpus.md.
///
/// Each rank has an objective of its own, made as for a minimizer. Its unknowns are the rank's own ones and, after
/// them, the ghosts of the halo plan, in their order: entries that other ranks have, to be read. Its value is this
/// rank's part of f, which is the sum over all ranks: a term that several ranks evaluate counts on one of them. Its
/// gradient has the derivatives of all of f by the own unknowns; those by ghosts are not read. So a rank evaluates
/// every term in which an own unknown occurs.
///
/// All ranks make the minimizer, and call solve or enqueue as often as the others, in the same order; one GPU a rank.
/// They take the same decisions after the same evaluations: reports are alike but for times. Cancel, deadline,
/// peer_limit_seconds and recover as for distributed_linear_solver.
///
/// Methods "lbfgs", "conjugate-gradient-pr", "conjugate-gradient-hz" and "gradient-descent", each line search but
/// "parallel", executors "auto", "host", "stream" and "graph".
template <class T>
class distributed_minimizer final : public replayed_solver {
 public:
  /// Collective. The objective must outlive the minimizer. Throws whilst::error on all ranks if an objective does not
  /// have the unknowns of its plan, if there are none on any rank, or if options are out of range, not for groups, or
  /// differ between ranks where that would part them.
  distributed_minimizer(const group& ranks, const objective<T>& function, const halo_plan& halo,
                        minimizer_options options = {}, double peer_limit_seconds = 10);
  /// The same for objectives that read own unknowns alone.
  distributed_minimizer(const group& ranks, const objective<T>& function, minimizer_options options = {},
                        double peer_limit_seconds = 10);
  /// The same from a callback, which works on `where`. unknowns: this rank's; those of the ranks follow one another in
  /// the order of ranks. ghosts: the global numbers of what the callback reads of others, ascending, each once. Its x
  /// has the own unknowns and then the ghosts; of the gradient it writes the own entries. A rank without unknowns may
  /// give an empty one.
  ///
  /// Under executors "host" and "stream" the callback is called in each evaluation, and enqueue waits for the solve.
  /// Where it throws on one rank, the solve ends on all: that rank throws the exception, and the others' reports end
  /// with cancelled, or with nan_or_infinity if that was the first evaluation. The minimizer can be used again. (An
  /// objective that throws leaves the others waiting for peer_limit_seconds.)
  distributed_minimizer(const group& ranks, place where, index_type unknowns, std::vector<index_type> ghosts,
                        typename called_objective<T>::callback function, minimizer_options options = {},
                        double peer_limit_seconds = 10);
  ~distributed_minimizer() override;
  distributed_minimizer(distributed_minimizer&&) noexcept;
  distributed_minimizer& operator=(distributed_minimizer&&) noexcept;

  /// x: this rank's unknowns, in host memory, without ghosts; otherwise as minimizer::solve. value and ||g|| are those
  /// of all. By all ranks.
  minimize_report solve(std::span<T> x);
  /// The same with x in memory of the objective's place, after earlier work on `stream`.
  minimize_report solve(stream_handle stream, T* x);
  /// Enqueues a minimization on `stream` and returns without waiting; x is memory of the objective's place. By all
  /// ranks. It does not look whether a rank was lost before, which takes a copy from the GPU: ask lost_rank().
  ticket enqueue(stream_handle stream, T* x);

  /// For all later solves, on all ranks: tolerances that differ would part them.
  void set_tolerances(const descent_tolerances& tolerances);

  /// See distributed_linear_solver.
  const std::string& transport() const;
  const std::string& transports_passed_over() const;
  int lost_rank() const;
  void recover();

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class distributed_minimizer<float>;
extern template class distributed_minimizer<double>;

/// The objective of a rank without unknowns.
template <class T>
class empty_objective final : public objective<T> {
 public:
  explicit empty_objective(place where) : where_(where) {}
  place where() const override { return where_; }
  index_type unknowns() const override { return 0; }
  evaluated<T> evaluate(recorder&, const T*) const override { return {}; }

 private:
  place where_;
};

}  // namespace whilst
