#include "apps/whilst/ranks/solver_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apps/whilst/ranks/partition.hpp"

namespace whilst::command {
namespace {

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

}  // namespace

const solve_options& require_what_ranks_have(const solve_options& options) {
  const auto refuse = [](bool is_asked, const char* option) {
    if (is_asked) throw error(std::string(option) + " with --ranks", "it is not for several ranks", "Leave it out");
  };
  refuse(!options.null_space_file.empty(), "--null-space-vectors");
  refuse(!options.deflation_file.empty(), "--deflation");
  refuse(options.solver.device >= 0, "--device");  // rank q takes the q-th
  refuse(!options.beside.empty(), "--beside");
  return options;
}

template <class T>
linear_system<T> load_system_of_ranks(const solve_options& options) {
  linear_system<T> system = load_system<T>(options);
  if (system.columns > 1)
    throw error("--rhs with --ranks", fmt::format("it has {} columns", system.columns), "Give one");
  return system;
}

template <class T>
solver_on_ranks<T>::solver_on_ranks(const group& ranks, int gpu, const solve_options& options,
                                    const linear_system<T>* system)
    : ranks_(ranks),
      by_processes_(options.ranks == "mpi"),
      partition_(options.partition),
      machine_(describe_machine(gpu)),
      solver_(made_solver(gpu, options, system)) {
  if (by_processes_ && solver_.executor() != "host") require_gpus_of_their_own(ranks, machine_.device_uuid);
}

template <class T>
distributed_csr_matrix<T> solver_on_ranks<T>::split_matrix(const linear_system<T>* system) const {
  const csr_matrix<T>* const whole = system ? &system->A : nullptr;
  if (partition_ == "rows") return distributed_csr_matrix<T>::from_rank_0(ranks_, whole);
  std::vector<int> rank_of_row;
  ranks_.agree("dividing the rows", [&] {
    if (whole) rank_of_row = parts_by(partition_, *whole, ranks_.size());
  });
  return distributed_csr_matrix<T>::from_rank_0(ranks_, whole, rank_of_row);
}

template <class T>
distributed_linear_solver<T> solver_on_ranks<T>::made_solver(int gpu, const solve_options& options,
                                                             const linear_system<T>* system) {
  const auto A = split_matrix(system);
  split_ = A.split();
  own_b_ = split_.scatter(system ? std::span<const T>(system->b) : std::span<const T>());
  const share mine{A.local().rows(), A.local().nonzeros(), static_cast<index_type>(A.halo().ghosts.size())};
  shares_ = ranks_.template all_gather<share>("comparing shares", std::span(&mine, 1)).all;
  return distributed_linear_solver<T>(A, options_of_rank(options.solver, machine_, ranks_.size(), gpu),
                                      options.peer_limit_seconds);
}

template <class T>
report solver_on_ranks<T>::solve() {
  own_x_.assign(own_b_.size(), T(0));
  return solver_.solve(own_b_, own_x_);
}

template <class T>
std::vector<T> solver_on_ranks<T>::gathered_x() const {
  return split_.gather(own_x_);
}

template <class T>
void solver_on_ranks<T>::print_ranks(std::FILE* out) const {
  fmt::print(out, "ranks        {} {}{}, transport: {}\n", ranks_.size(), by_processes_ ? "process" : "thread",
             ranks_.size() == 1 ? ""
             : by_processes_    ? "es"
                                : "s",
             solver_.transport());
  if (const std::string& others = solver_.transports_passed_over(); !others.empty())
    fmt::print(out, "             not {}\n", others);
  fmt::print(out, "             rows {}, nonzeros {}, ghosts {} a rank{}\n", range_of(&share::rows),
             range_of(&share::nonzeros), range_of(&share::ghosts),
             partition_ == "rows" ? "" : ", partition " + partition_);
}

template <class T>
json solver_on_ranks<T>::ranks_json() const {
  json made;
  made["ranks"] = ranks_.size();
  made["ranks_are"] = by_processes_ ? "processes" : "threads";
  made["transport"] = solver_.transport();
  if (const std::string& others = solver_.transports_passed_over(); !others.empty())
    made["transports_passed_over"] = others;
  made["partition"] = partition_;
  made["rows_of_ranks"] = shares_json(&share::rows);
  made["nonzeros_of_ranks"] = shares_json(&share::nonzeros);
  made["ghosts_of_ranks"] = shares_json(&share::ghosts);
  if (solver_.lost_rank() >= 0) made["lost_rank"] = solver_.lost_rank();
  return made;
}

template <class T>
std::string solver_on_ranks<T>::range_of(index_type share::*what) const {
  const auto [least, most] = std::minmax_element(shares_.begin(), shares_.end(),
                                                 [=](const share& a, const share& b) { return a.*what < b.*what; });
  return (*least).*what == (*most).*what ? fmt::format("{}", (*most).*what)
                                         : fmt::format("{} to {}", (*least).*what, (*most).*what);
}

template <class T>
json solver_on_ranks<T>::shares_json(index_type share::*what) const {
  json all = json::array();
  for (const share& one : shares_) all.push_back(one.*what);
  return all;
}

template linear_system<float> load_system_of_ranks<float>(const solve_options&);
template linear_system<double> load_system_of_ranks<double>(const solve_options&);
template class solver_on_ranks<float>;
template class solver_on_ranks<double>;

}  // namespace whilst::command
