#include "solve_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/common/interrupts.hpp"
#include "apps/common/progress.hpp"
#include "benchmarks/common/ranks.hpp"
#include "header.hpp"
#include "input.hpp"
#include "results.hpp"
#include "solve_results.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"
#include "whilst/machine.hpp"

namespace whilst::command {
namespace {

/// What each rank has of the system.
struct share {
  index_type rows, nonzeros, ghosts;
};

void require_what_ranks_have(const solve_options& options) {
  const auto refuse = [](bool is_asked, const char* option) {
    if (is_asked) throw error(std::string(option) + " with --ranks", "it is not for several ranks", "Leave it out");
  };
  refuse(!options.null_space_file.empty(), "--null-space-vectors");
  refuse(!options.deflation_file.empty(), "--deflation");
  refuse(options.solver.device >= 0, "--device");  // rank q takes the q-th
}

/// Ranks of one process, or of several bound to the same cores, share the threads of the machine.
linear_solver_options options_of_rank(linear_solver_options options, const machine_description& machine, int ranks,
                                      int gpu) {
  options.device = options.executor == "host" ? -1 : gpu;
  if (options.threads == 0) options.threads = std::max(1, machine.threads / ranks);
  return options;
}

/// On one GPU, kernels of several processes take turns, and each waits for the others.
void require_gpus_of_their_own(const group& ranks, const std::string& gpu) {
  const auto all = ranks.all_gather<char>("looking for a GPU a rank", std::span<const char>(gpu));
  std::set<std::string> different;
  for (int q = 0; q < ranks.size(); ++q) different.insert(std::string(all.of(q).begin(), all.of(q).end()));
  if (different.size() == static_cast<std::size_t>(ranks.size())) return;
  throw error(
      "solving on several ranks",
      fmt::format("{} processes have {} GPU{}", ranks.size(), different.size(), different.size() > 1 ? "s" : ""),
      "Start one process a GPU, or give --executor host");
}

std::string range_of(const std::vector<share>& shares, index_type share::*what) {
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end(),
                                                 [=](const share& a, const share& b) { return a.*what < b.*what; });
  return (*least).*what == (*most).*what ? fmt::format("{}", (*most).*what)
                                         : fmt::format("{} to {}", (*least).*what, (*most).*what);
}

json shares_json(const std::vector<share>& shares, index_type share::*what) {
  json all = json::array();
  for (const share& one : shares) all.push_back(one.*what);
  return all;
}

/// One solve on all ranks. Only rank 0 has the whole system and the files.
template <class T>
class ranks_solve {
 public:
  ranks_solve(const group& ranks, int gpu, const solve_options& options)
      : ranks_(ranks),
        options_(options),
        by_processes_(ranks_from(options.ranks) == 0),
        machine_(describe_machine(gpu)) {
    if (is_first()) {
      require_what_ranks_have(options);
      files_.emplace(options);
      system_ = load_system<T>(options);
      if (system_->columns > 1)
        throw error("--rhs with --ranks", fmt::format("it has {} columns", system_->columns), "Give one");
    }
    const auto A = distributed_csr_matrix<T>::from_rank_0(ranks, system_ ? &system_->A : nullptr);
    const auto b = ranks.template all_gather<T>("splitting the right-hand side", whole_b());
    const row_partition& rows = A.partition();
    own_b_.assign(b.all.begin() + rows.first(ranks.rank()), b.all.begin() + rows.first(ranks.rank() + 1));
    const share mine{A.local().rows(), A.local().nonzeros(), static_cast<index_type>(A.halo().ghosts.size())};
    shares_ = ranks.template all_gather<share>("comparing shares", std::span(&mine, 1)).all;
    solver_ =
        std::make_unique<distributed_linear_solver<T>>(A, options_of_rank(options.solver, machine_, ranks.size(), gpu));
    if (by_processes_ && solver_->executor() != "host") require_gpus_of_their_own(ranks, machine_.device_uuid);
    if (is_first()) print_head();
  }

  int run() {
    std::vector<T> own_x(own_b_.size(), T(0));
    const report result = solve(own_x);
    const auto x = ranks_.template all_gather<T>("gathering the solution", std::span<const T>(own_x));
    if (is_first())
      tell_results(*system_, options_, *files_, result, x.all, options_.explain ? solver_->explain() : "", more());
    return result.converged() ? succeeded : not_converged;
  }

 private:
  bool is_first() const { return ranks_.rank() == 0; }
  std::span<const T> whole_b() const { return system_ ? std::span<const T>(system_->b) : std::span<const T>(); }

  void print_head() const {
    std::FILE* const out = files_->report.text();
    print_header(out, *system_, options_, machine_, solver_->executor());
    fmt::print(out, "ranks        {} {}{}, transport: {}\n", ranks_.size(), by_processes_ ? "process" : "thread",
               ranks_.size() == 1 ? ""
               : by_processes_    ? "es"
                                  : "s",
               solver_->transport());
    if (const std::string& others = solver_->transports_passed_over(); !others.empty())
      fmt::print(out, "             not {}\n", others);
    fmt::print(out, "             rows {}, nonzeros {}, ghosts {} a rank\n", range_of(shares_, &share::rows),
               range_of(shares_, &share::nonzeros), range_of(shares_, &share::ghosts));
    fmt::print(out, "executor     {}{}\n", solver_->executor(),
               solver_->executor() == options_.solver.executor ? "" : " (asked for: " + options_.solver.executor + ")");
    std::fflush(out);
  }

  /// Rank 0 shows progress. All processes heed interrupts, which mpirun sends to each; threads have one for all.
  report solve(std::vector<T>& x) {
    report result;
    const auto work = [&] { result = solver_->solve(own_b_, x); };
    if (is_first()) {
      const double rhs_norm = norm_of(system_->b);
      run_with_progress(
          *solver_, work, [&](const progress& now) { return progress_line(now, rhs_norm); }, options_.monitor);
    } else if (by_processes_) {
      const interrupt_watch interrupts;
      cancel_on_interrupt(interrupts, *solver_, work);
    } else {
      work();
    }
    return result;
  }

  json more() const {
    json made;
    made["ranks"] = ranks_.size();
    made["ranks_are"] = by_processes_ ? "processes" : "threads";
    made["transport"] = solver_->transport();
    if (const std::string& others = solver_->transports_passed_over(); !others.empty())
      made["transports_passed_over"] = others;
    made["rows_of_ranks"] = shares_json(shares_, &share::rows);
    made["nonzeros_of_ranks"] = shares_json(shares_, &share::nonzeros);
    made["ghosts_of_ranks"] = shares_json(shares_, &share::ghosts);
    if (solver_->lost_rank() >= 0) made["lost_rank"] = solver_->lost_rank();
    return made;
  }

  const group& ranks_;
  const solve_options& options_;
  bool by_processes_;
  machine_description machine_;  ///< asked for before a loop runs, which its trial of a graph would wait for
  std::optional<result_files> files_;
  std::optional<linear_system<T>> system_;
  std::vector<T> own_b_;
  std::vector<share> shares_;
  std::unique_ptr<distributed_linear_solver<T>> solver_;
};

}  // namespace

int run_solve_on_ranks(const solve_options& options) {
  return run_ranks(ranks_from(options.ranks), [&](const group& ranks, int gpu) {
    return options.precision == "float" ? ranks_solve<float>(ranks, gpu, options).run()
                                        : ranks_solve<double>(ranks, gpu, options).run();
  });
}

}  // namespace whilst::command
