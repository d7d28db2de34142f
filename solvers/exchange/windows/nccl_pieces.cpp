// compiled by nvcc where CUDA is on
// What needs NCCL's device interface. Apart, so that nvcc compiles nothing else.

// WHILST_WITH_NCCL_WINDOWS: NCCL's headers were found, of version 2.28 or later.
#if WHILST_WITH_NCCL_WINDOWS && defined(__CUDACC__)
#include "solvers/exchange/windows/nccl_pieces.hpp"

#include <nccl_device.h>

#include "whilst/engine/memory/cuda.hpp"

namespace whilst::windows {
namespace {

__global__ void find_pieces(ncclWindow_t of, int ranks, void** pieces) {
  for (int q = 0; q < ranks; ++q) pieces[q] = ncclGetPeerPointer(of, 0, q);
}

}  // namespace

void find_nccl_pieces(ncclWindow_t of, int ranks, void** pieces) {
  find_pieces<<<1, 1>>>(of, ranks, pieces);
  WHILST_CUDA("finding the pieces of a window of NCCL", cudaGetLastError());
  WHILST_CUDA("finding the pieces of a window of NCCL", cudaDeviceSynchronize());
}

int ranks_in_reach(void* team_of_communicator, ncclComm_t of) {
  return reinterpret_cast<ncclTeam_t (*)(ncclComm_t)>(team_of_communicator)(of).nRanks;
}

}  // namespace whilst::windows
#endif
