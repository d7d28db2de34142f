#pragma once

#include <optional>
#include <string_view>

#include "whilst/exchange/exchange.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/distributed/distributed_operator.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// What every kind of solver for a group needs besides what it records: the executor that all ranks take, and the
/// memory by which they exchange sums and halos. Must outlive the program.
class distributed_setup {
 public:
  /// Collective. Throws whilst::error on all ranks where options are out of range, are not for groups, or differ
  /// between ranks and would part them. method: as options name it. doing: opens messages.
  distributed_setup(std::string_view doing, const group& ranks, const linear_solver_options& options,
                    std::string_view method, index_type rows_of_all, double peer_limit_seconds);
  /// Collective, after the constructor. exchanges_two: the method multiplies two vectors at once.
  void make_halo(const halo_plan& plan, bool exchanges_two) {
    halo_.emplace(*exchange_, plan);
    if (exchanges_two) halo_of_two_.emplace(*exchange_, plan, 2);
  }
  /// The same for products with the transpose.
  void make_halo_of_transpose(const halo_plan& plan, index_type columns_of_all) {
    halo_of_transpose_.emplace(*exchange_, plan);
    columns_of_all_ = columns_of_all;
  }

  const executor_choice& choice() const { return choice_; }
  const group& ranks() const { return exchange_->ranks(); }
  const whilst::exchange& exchange() const { return *exchange_; }

  /// The operator for a recorder.
  template <class T, class Rows>
  distributed_operator<T, Rows> operator_of(const Rows& local) const {
    return {local, halo_->of_steps(), halo_->is_mutual(), rows_of_all_,
            halo_of_two_ ? halo_of_two_->of_steps() : halo_exchange{}};
  }
  /// The same of the transpose.
  template <class T, class Rows>
  distributed_operator<T, Rows> operator_of_transpose(const Rows& local) const {
    return {local, halo_of_transpose_->of_steps(), halo_of_transpose_->is_mutual(), columns_of_all_, {}};
  }
  /// The options by which this rank's program runs.
  linear_solver_options to_run_by(linear_solver_options options) const {
    options.programmatic_launch = options.programmatic_launch && exchange_->lets_steps_overlap();
    return options;
  }
  /// Throws whilst::error if a rank was lost.
  void require_all(std::string_view doing) const;
  /// See exchange::recover.
  void recover();

 private:
  index_type rows_of_all_, columns_of_all_ = 0;
  executor_choice choice_{place::host(), executor::host};
  std::optional<whilst::exchange> exchange_;
  std::optional<halo> halo_, halo_of_two_, halo_of_transpose_;
};

}  // namespace whilst
