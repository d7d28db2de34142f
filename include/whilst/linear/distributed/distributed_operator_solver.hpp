#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "whilst/linear/distributed/record_distributed.hpp"
#include "whilst/linear/operator_solver.hpp"

namespace whilst {

/// Solves A x = b on all ranks of a group, for rows of your own instead of a matrix: see distributed_linear_solver, and
/// operator_solver for what an operator is.
template <class T>
class distributed_operator_solver final : public replayed_solver {
 public:
  /// Made by make_distributed_operator_solver.
  distributed_operator_solver(std::unique_ptr<distributed_setup> setup, std::unique_ptr<prepared_solve<T>> solve)
      : setup_("distributed_operator_solver", std::move(setup)),
        solve_("distributed_operator_solver", std::move(solve)) {}

  /// Solves with this rank's entries of b and x, in host memory. Blocks until the group has the solution. By all ranks.
  report solve(std::span<const T> b, std::span<T> x) {
    setup_->require_all("solving a distributed linear system");
    return ticket(solve_->solve(b, x)).wait();
  }
  /// Enqueues a solve on `stream`; b and x are memory of the solver's place. By all ranks.
  ticket enqueue(stream_handle stream, const T* b, T* x) { return ticket(solve_->enqueue(stream, b, x)); }

  void set_tolerances(double rtol, double atol) { solve_->set_tolerances(rtol, atol); }
  int lost_rank() const { return setup_->exchange().lost_rank(); }
  const std::string& transport() const { return setup_->exchange().transport(); }
  const std::string& transports_passed_over() const { return setup_->exchange().passed_over(); }
  void recover() { setup_->recover(); }

 private:
  prepared_program& prepared() const override { return *solve_; }
  detail::held<distributed_setup> setup_;
  detail::held<prepared_solve<T>> solve_;
};

/// Makes one for the rows that this rank has: `local` has row(i, x, team) for its rows from 0, of an x that it reads by
/// x[j] alone: own entries from 0, then the ghosts of `halo`, in their order. x.own(j) is x[j] for an own entry, and
/// x.or_zero(j) is x[j], or zero where j is negative: stencils that read by these have no branch, and on a GPU all
/// their reads are under way at once. Method and M as for make_operator_solver. Collective. @code
///   struct slab {                                              // -u'' on the own part of a line
///     whilst::index_type n, below, above;                      // below, above: x's index there, -1 for none
///     WHILST_HD whilst::index_type rows() const { return n; }
///     WHILST_HD int lanes_wanted() const { return 1; }
///     template <class X, class Team>
///     WHILST_HD double row(whilst::index_type i, const X& x, const Team&) const;
///   };
/// @endcode
template <template <class, class, class> class Method, class T, class Rows,
          class Preconditioner = identity_preconditioner>
distributed_operator_solver<T> make_distributed_operator_solver(const group& ranks, const Rows& local,
                                                                const halo_plan& halo, const Preconditioner& M = {},
                                                                linear_solver_options options = {},
                                                                double peer_limit_seconds = 10) {
  using whole = decltype(detail::whole_preconditioner(M));
  const char* const doing = "making a solver for a distributed operator";
  const auto began = std::chrono::steady_clock::now();
  using method = Method<T, distributed_operator<T, Rows>, whole>;
  options.method = method::name;
  options.preconditioner = whole::is_identity                                ? "none"
                           : std::is_same_v<whole, jacobi_preconditioner<T>> ? "jacobi"
                                                                             : "user";
  linear_solver_options checked = options;
  if (checked.preconditioner == "user") checked.preconditioner = "none";  // which is checked where there is a name
  index_type rows_of_all = 0;
  for (const index_type rows : ranks.all_gather<index_type>(doing, [&] { return std::vector{local.rows()}; }).all)
    rows_of_all += rows;
  auto setup =
      std::make_unique<distributed_setup>(doing, ranks, checked, options.method, rows_of_all, peer_limit_seconds);
  setup->make_halo(halo, method_exchanges_two<method>);
  std::unique_ptr<prepared_solve<T>> solve;
  ranks.agree(doing, [&] {
    if (halo.own != local.rows())
      throw error(doing,
                  "the halo plan is for " + std::to_string(halo.own) + " rows, the operator has " +
                      std::to_string(local.rows()),
                  "Make the plan for this operator");
    solve_request<T> request;
    request.where = setup->choice().where;
    request.rows = request.columns = local.rows();
    request.settings = method_settings_of(options);
    solve = std::make_unique<prepared_solve<T>>(
        request, record_distributed<Method>(request, setup->operator_of<T>(local), detail::whole_preconditioner(M)),
        setup->choice().how, setup->to_run_by(options), began);
  });
  return {std::move(setup), std::move(solve)};
}

}  // namespace whilst
