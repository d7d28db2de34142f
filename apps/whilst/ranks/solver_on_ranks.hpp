#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "apps/common/json_file.hpp"
#include "apps/whilst/command.hpp"
#include "apps/whilst/input.hpp"
#include "whilst/group/group.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"
#include "whilst/machine.hpp"

/// @file
/// What solve and compare share with --ranks: one system, its rows on the ranks of a group.

namespace whilst::command {

/// These options. Throws whilst::error that names the option, where they ask for what ranks do not have; what the
/// solver refuses by itself is left to it.
const solve_options& require_what_ranks_have(const solve_options& options);
/// Loads it for all ranks. Throws whilst::error where it cannot be read or has several right-hand sides.
template <class T>
linear_system<T> load_system_of_ranks(const solve_options& options);

/// A rank's part of a system, and a solver for it.
template <class T>
class solver_on_ranks {
 public:
  /// Collective. system: rank 0's whole one, else null. gpu: as run_ranks gives it.
  solver_on_ranks(const group& ranks, int gpu, const solve_options& options, const linear_system<T>* system);

  distributed_linear_solver<T>& solver() { return solver_; }
  const machine_description& machine() const { return machine_; }
  bool is_first() const { return ranks_.rank() == 0; }
  /// Processes, or else threads of one.
  bool by_processes() const { return by_processes_; }

  /// Solves from x = 0. Collective.
  report solve();
  /// The x of the last solve, in the order of the system, on every rank whole. Collective.
  std::vector<T> gathered_x() const;

  /// Two lines: how many ranks and how they reach one another; what each has.
  void print_ranks(std::FILE* out) const;
  /// The same for --json, and a rank that was lost.
  json ranks_json() const;

 private:
  /// What each rank has of the system.
  struct share {
    index_type rows, nonzeros, ghosts;
  };
  distributed_csr_matrix<T> split_matrix(const linear_system<T>* system) const;
  distributed_linear_solver<T> made_solver(int gpu, const solve_options& options, const linear_system<T>* system);
  std::string range_of(index_type share::*what) const;
  json shares_json(index_type share::*what) const;

  const group& ranks_;
  bool by_processes_;
  std::string partition_;
  machine_description machine_;  ///< asked for before a loop runs, which its trial of a graph would wait for
  row_split split_;
  std::vector<T> own_b_, own_x_;
  std::vector<share> shares_;
  distributed_linear_solver<T> solver_;
};

extern template linear_system<float> load_system_of_ranks<float>(const solve_options&);
extern template linear_system<double> load_system_of_ranks<double>(const solve_options&);
extern template class solver_on_ranks<float>;
extern template class solver_on_ranks<double>;

}  // namespace whilst::command
