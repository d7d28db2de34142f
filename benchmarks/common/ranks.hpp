#pragma once

#include <functional>
#include <string>
#include <vector>

#include "whilst/group/group.hpp"

namespace whilst {

/// Whether this program was built to be a rank under mpirun.
bool is_built_with_mpi();
/// Whether mpirun, or another program that starts MPI processes, started this one.
bool is_under_mpi();

/// What --ranks says: "mpi", the processes that mpirun started, gives 0; "threads:4" gives 4, at most 64. Throws
/// whilst::error that begins with --ranks, also for mpi if the program was built without.
int ranks_from(const std::string& text);
/// The same for several numbers of threads, as "threads:1,2,4"; for "mpi" one 0.
std::vector<int> numbers_of_ranks_from(const std::string& text);

/// Does the work as each rank of a group: of so many threads of this process, or, with 0, of the MPI processes, of
/// which this is one. gpu: the GPU for the rank, by its number among the ranks; -1 if there is none. Work must not
/// return on one rank while others still wait for it.
///
/// Returns what work returned on rank 0. Of MPI processes only rank 0 does so; the others return 0, so that the status
/// of mpirun is that of rank 0. If work throws on a rank, all ranks learn of it at their next collective call, and rank
/// 0 throws it from here.
int run_ranks(int threads, const std::function<int(const group& ranks, int gpu)>& work);

}  // namespace whilst
