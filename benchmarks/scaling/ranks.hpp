#pragma once

#include <functional>

#include "whilst/group/group.hpp"

namespace scaling {

/// Whether this process was started by MPI and the program can use it.
bool is_under_mpi();
/// Calls work(ranks, device) as each rank of a group: of the MPI processes, or of so many threads of this one. device:
/// the GPU of the rank, by its number among the ranks. Returns false if a rank failed, and has said why.
bool run_ranks(int threads, const std::function<void(const whilst::group& ranks, int device)>& work);

}  // namespace scaling
