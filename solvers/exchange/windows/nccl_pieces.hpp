#pragma once

#include <nccl.h>

namespace whilst::windows {

/// Where the current GPU reaches each rank's piece of a window of NCCL; pieces: in its memory.
void find_nccl_pieces(ncclWindow_t of, int ranks, void** pieces);
/// How many ranks of a communicator reach one another by load and store, by NCCL's function for that.
int ranks_in_reach(void* team_of_communicator, ncclComm_t of);

}  // namespace whilst::windows
