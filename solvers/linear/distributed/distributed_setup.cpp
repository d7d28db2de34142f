#include "whilst/linear/distributed/distributed_setup.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

/// What must not differ between ranks.
struct decisions {
  double rtol, atol, dtol;
  index_type max_iterations, history_capacity;
  std::array<char, 32> method, preconditioner, transport;
  int unroll, on_host, how, restart;
  bool keep_best;
  bool operator==(const decisions&) const = default;
};
std::array<char, 32> padded(std::string_view text) {
  std::array<char, 32> made{};
  std::copy_n(text.begin(), std::min(text.size(), made.size()), made.begin());
  return made;
}

/// Throws whilst::error on what only a linear_solver has.
void check_for_groups(std::string_view doing, const linear_solver_options& options) {
  check_options(doing, options);
  const auto refuse = [&](bool is_asked, const std::string& what) {
    if (is_asked) throw error(doing, what + " is not for several ranks", "Leave it out");
  };
  refuse(options.format != "auto" && options.format != "csr", "format " + options.format);
  refuse(options.executor == "resident", "executor resident");
  refuse(options.null_space != "none", "a null space");
  refuse(!options.deflation.empty(), "deflation");
  refuse(options.scaling != "none", "scaling " + options.scaling);
  refuse(options.permutation != "none", "permutation " + options.permutation);
  refuse(options.matrix_values != "exact", "matrix_values " + options.matrix_values);
}

}  // namespace

distributed_setup::distributed_setup(std::string_view doing, const group& ranks, const linear_solver_options& options,
                                     std::string_view method, index_type rows_of_all, double peer_limit_seconds)
    : rows_of_all_(rows_of_all) {
  const auto all = ranks.all_gather<decisions>(doing, [&] {
    check_for_groups(doing, options);
    (void)exchange::limit_of(peer_limit_seconds);
    choice_ = choose_executor(wish_of(options), rows_of_all / ranks.size(), false, {});
    return std::vector{decisions{options.rtol, options.atol, options.dtol, options.max_iterations,
                                 options.history_capacity, padded(method), padded(options.preconditioner),
                                 padded(options.transport), options.unroll, choice_.where.on_host(),
                                 static_cast<int>(choice_.how), options.restart, options.keep_best}};
  });
  ranks.agree(doing, [&] {
    if (std::any_of(all.all.begin(), all.all.end(), [&](const decisions& one) { return one != all.all.front(); }))
      throw error(doing, "ranks give different options", "Give all ranks the same");
  });
  exchange_.emplace(ranks, choice_.where, peer_limit_seconds, options.transport);
}

void distributed_setup::require_all(std::string_view doing) const {
  if (const int lost = exchange_->lost_rank(); lost >= 0)
    throw error(doing, "rank " + std::to_string(lost) + " did not come in an earlier solve",
                "Call recover() on all ranks, or make a new group if its process has ended");
}

void distributed_setup::recover() {
  exchange_->recover();
  for (std::optional<halo>* const one : {&halo_, &halo_of_two_, &halo_of_transpose_})
    if (*one) (*one)->recover();
}

}  // namespace whilst
