#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solvers/nonlinear/descent/prepared_descent.hpp"
#include "solvers/nonlinear/minimize/distributed/called_on_rank.hpp"
#include "solvers/nonlinear/minimize/distributed/objective_of_group.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/transports.hpp"
#include "whilst/linear/distributed/halo_exchange.hpp"

namespace whilst {
namespace {

constexpr const char *making_distributed_minimizer = "making a distributed minimizer",
                     *minimizing_on_ranks = "minimizing a function on several ranks";

/// What must not differ between ranks, and how many unknowns one has.
struct minimizer_of_rank {
  std::array<char, 32> method, line_search, transport;
  double gradient, relative_gradient, step, function, lower_bound;
  index_type max_iterations, max_evaluations, history_capacity;
  int unroll, on_host, how, reads_others, bytes_of_number;
  index_type unknowns;

  bool agrees_with(minimizer_of_rank other) const {
    other.unknowns = unknowns;
    return *this == other;
  }
  bool operator==(const minimizer_of_rank&) const = default;
};

std::array<char, 32> name_of_options(std::string_view text) {
  std::array<char, 32> made{};
  std::copy_n(text.begin(), std::min(text.size(), made.size()), made.begin());
  return made;
}

void check_for_ranks(const minimizer_options& options, line_search_kind search) {
  const auto refuse = [](const std::string& what, const std::string& cure) {
    throw error(making_distributed_minimizer, what + " is not for several ranks", cure);
  };
  if (search == line_search_kind::parallel)
    refuse("line search 'parallel'", "Use strong-wolfe, approximate-wolfe or backtracking");
  if (options.preconditioner != "jacobi")
    refuse("preconditioner '" + options.preconditioner + "'", "Leave preconditioner at jacobi");
  check_transport(making_distributed_minimizer, options.transport);
  check_descent(making_distributed_minimizer, options.tolerances, options.lower_bound);
  descent_options(options).check(making_distributed_minimizer);
}

/// How many unknowns of an objective are a rank's own.
template <class T>
index_type own_unknowns(const objective<T>& function, const halo_plan* plan) {
  const index_type all = function.unknowns();
  if (!plan) return all;
  const index_type ghosts = static_cast<index_type>(plan->ghosts.size());
  if (plan->own == 0 && ghosts > 0)
    throw error(making_distributed_minimizer, "a rank without unknowns reads " + std::to_string(ghosts) + " ghosts",
                "Leave its ghosts and its terms to the ranks whose unknowns they are");
  if (all != plan->with_ghosts())
    throw error(making_distributed_minimizer,
                "the halo plan is for " + std::to_string(plan->own) + " unknowns and " + std::to_string(ghosts) +
                    " ghosts, the objective has " + std::to_string(all) + " in all",
                "Make the objective of the own unknowns and the ghosts after them");
  return plan->own;
}

}  // namespace

template <class T>
struct distributed_minimizer<T>::implementation {
  double lower_bound;
  std::unique_ptr<called_on_rank<T>> called;  ///< null for an objective of the caller's
  bool calls_in_solves = false;               ///< and not only while the loop is recorded
  std::optional<whilst::exchange> exchange;
  std::optional<halo> reads;
  std::optional<prepared_descent<T>> prepared;  ///< after what its steps refer to

  implementation(const group& ranks, const objective<T>& f, const halo_plan* plan, const minimizer_options& options,
                 double limit_seconds, std::unique_ptr<called_on_rank<T>>&& of_callback = nullptr)
      : lower_bound(options.lower_bound), called(std::move(of_callback)) {
    const auto began = prepared_program::clock::now();
    std::optional<descent_method<T, objective_of_group<T>>> method;
    line_search_kind search{};
    whilst::executor how{};
    index_type own = 0;
    const auto all = ranks.all_gather<minimizer_of_rank>(making_distributed_minimizer, [&] {
      method = find_by_name(making_distributed_minimizer, distributed_descent_methods<T>, options.method,
                            "method for several ranks");
      search = line_search_from_name(making_distributed_minimizer, options.line_search);
      check_for_ranks(options, search);
      (void)whilst::exchange::limit_of(limit_seconds);
      own = own_unknowns(f, plan);
      how = descent_options(options).executor_on(f.where(), making_distributed_minimizer, "the objective");
      const descent_tolerances& t = options.tolerances;
      return std::vector{minimizer_of_rank{.method = name_of_options(options.method),
                                           .line_search = name_of_options(options.line_search),
                                           .transport = name_of_options(options.transport),
                                           .gradient = t.gradient,
                                           .relative_gradient = t.relative_gradient,
                                           .step = t.step,
                                           .function = t.function,
                                           .lower_bound = options.lower_bound,
                                           .max_iterations = options.max_iterations,
                                           .max_evaluations = options.max_evaluations,
                                           .history_capacity = options.history_capacity,
                                           .unroll = options.unroll,
                                           .on_host = f.where().on_host(),
                                           .how = static_cast<int>(how),
                                           .reads_others = plan != nullptr,
                                           .bytes_of_number = sizeof(T),
                                           .unknowns = own}};
    });
    index_type unknowns = 0;
    for (const minimizer_of_rank& one : all.all) unknowns += one.unknowns;
    ranks.agree(making_distributed_minimizer, [&] {
      const auto other = std::find_if_not(all.all.begin(), all.all.end(), [&](const minimizer_of_rank& one) {
        return one.agrees_with(all.all.front());
      });
      if (other != all.all.end())
        throw error(making_distributed_minimizer,
                    "rank " + std::to_string(other - all.all.begin()) + " gives other options than rank 0",
                    "Give all ranks the same");
      if (unknowns < 1)
        throw error(making_distributed_minimizer, "there are no unknowns on any rank", "Give one a rank or more");
    });
    exchange.emplace(ranks, f.where(), limit_seconds, options.transport);
    if (plan) reads.emplace(*exchange, *plan);
    ranks.agree(making_distributed_minimizer, [&] {
      const objective_of_group<T> function{&f, reads ? &*reads : nullptr, exchange->of_steps(), own};
      descent_options loop(options);
      loop.programmatic_launch = loop.programmatic_launch && exchange->lets_steps_overlap();
      prepared.emplace(
          method->record({.function = &function, .history_capacity = options.history_capacity}), how, loop,
          usual_descent_settings(options.method, search, options.tolerances, lower_bound, sizeof(T) == 4, unknowns),
          options.method, own, began);
      calls_in_solves = called && prepared->recorded().running_on() != executor::graph;
      if (calls_in_solves) called->keep_failures([this] { prepared->desk().cancel_all(); });
    });
  }
  implementation(std::unique_ptr<called_on_rank<T>>&& own, const group& ranks, const minimizer_options& options,
                 double limit_seconds)
      : implementation(ranks, own->function(), own->halo(), options, limit_seconds, std::move(own)) {}

  /// What solve() returns, once its launch has ended; throws what this rank's callback threw.
  template <class Solve>
  auto with_callbacks(const Solve& solve) {
    if (!calls_in_solves) return solve();
    const turns::turn mine = prepared->enter(minimizing_on_ranks);
    try {
      auto ended = solve();
      called->throw_failure();
      return ended;
    } catch (...) {
      called->throw_failure();  // what threw first
      throw;
    }
  }
  template <class Solve>
  minimize_report reported(const Solve& solve) {
    if (const int lost = exchange->lost_rank(); lost >= 0)
      throw error(minimizing_on_ranks, "rank " + std::to_string(lost) + " did not come in an earlier solve",
                  "Call recover() on all ranks, or make a new group if its process has ended");
    auto [told, value, trial_values, refreshes] = with_callbacks(solve);
    return {std::move(told), value, trial_values, refreshes};
  }
};

template <class T>
distributed_minimizer<T>::distributed_minimizer(const group& ranks, const objective<T>& function, const halo_plan& halo,
                                                minimizer_options options, double peer_limit_seconds)
    : implementation_("distributed_minimizer",
                      std::make_unique<implementation>(ranks, function, &halo, options, peer_limit_seconds)) {}
template <class T>
distributed_minimizer<T>::distributed_minimizer(const group& ranks, const objective<T>& function,
                                                minimizer_options options, double peer_limit_seconds)
    : implementation_("distributed_minimizer",
                      std::make_unique<implementation>(ranks, function, nullptr, options, peer_limit_seconds)) {}
template <class T>
distributed_minimizer<T>::distributed_minimizer(const group& ranks, place where, index_type unknowns,
                                                std::vector<index_type> ghosts,
                                                typename called_objective<T>::callback function,
                                                minimizer_options options, double peer_limit_seconds)
    : implementation_("distributed_minimizer",
                      std::make_unique<implementation>(
                          std::make_unique<called_on_rank<T>>(making_distributed_minimizer, ranks, where, unknowns,
                                                              std::move(ghosts), std::move(function)),
                          ranks, options, peer_limit_seconds)) {}
template <class T>
distributed_minimizer<T>::~distributed_minimizer() = default;
template <class T>
distributed_minimizer<T>::distributed_minimizer(distributed_minimizer&&) noexcept = default;
template <class T>
distributed_minimizer<T>& distributed_minimizer<T>::operator=(distributed_minimizer&&) noexcept = default;
template <class T>
prepared_program& distributed_minimizer<T>::prepared() const {
  return *implementation_->prepared;
}

template <class T>
minimize_report distributed_minimizer<T>::solve(std::span<T> x) {
  const std::string who = "rank " + std::to_string(implementation_->exchange->ranks().rank()) + " has";
  return implementation_->reported([&] { return implementation_->prepared->solve(minimizing_on_ranks, who, x); });
}
template <class T>
minimize_report distributed_minimizer<T>::solve(stream_handle stream, T* x) {
  return implementation_->reported([&] { return implementation_->prepared->solve(minimizing_on_ranks, stream, x); });
}
template <class T>
ticket distributed_minimizer<T>::enqueue(stream_handle stream, T* x) {
  return implementation_->with_callbacks([&] {
    ticket enqueued(implementation_->prepared->enqueue(stream, nullptr, x));
    if (implementation_->calls_in_solves) (void)enqueued.wait();
    return enqueued;
  });
}
template <class T>
void distributed_minimizer<T>::set_tolerances(const descent_tolerances& tolerances) {
  check_descent(making_distributed_minimizer, tolerances, implementation_->lower_bound);
  implementation_->prepared->set_tolerances(tolerances);
}
template <class T>
const std::string& distributed_minimizer<T>::transport() const {
  return implementation_->exchange->transport();
}
template <class T>
const std::string& distributed_minimizer<T>::transports_passed_over() const {
  return implementation_->exchange->passed_over();
}
template <class T>
int distributed_minimizer<T>::lost_rank() const {
  return implementation_->exchange->lost_rank();
}
template <class T>
void distributed_minimizer<T>::recover() {
  implementation_->exchange->recover();
  if (implementation_->reads) implementation_->reads->recover();
}

template class distributed_minimizer<float>;
template class distributed_minimizer<double>;

}  // namespace whilst
