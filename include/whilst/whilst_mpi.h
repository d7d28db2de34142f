#ifndef WHILST_WHILST_MPI_H
#define WHILST_WHILST_MPI_H

/// \file
/// Groups of MPI processes for C. Needs mpi.h of MPI 3.0 or later; the library itself knows nothing of MPI.

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "whilst/whilst.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One broadcast from each rank that has something to say, in pieces that an int can count: a whilst_all_gather.
static inline int whilst_mpi_gather(void* user, const void* mine, const int64_t* sizes, int ranks, void* all) {
  const int64_t most = (int64_t)1 << 30;
  MPI_Comm own = *(MPI_Comm*)user;
  char* piece = (char*)all;
  int self = 0;
  int failed = MPI_Comm_rank(own, &self);
  for (int q = 0; q < ranks; piece += sizes[q], ++q) {
    if (q == self && sizes[q] > 0) memcpy(piece, mine, (size_t)sizes[q]);
    for (int64_t done = 0; !failed && done < sizes[q]; done += most) {
      const int64_t left = sizes[q] - done;
      failed = MPI_Bcast(piece + done, (int)(left < most ? left : most), MPI_BYTE, q, own);
    }
  }
  return failed;
}

/// Gives the communicator back: a whilst_release.
static inline void whilst_mpi_release(void* user) {
  int is_over = 0;
  if (MPI_Finalized(&is_over) == MPI_SUCCESS && !is_over) MPI_Comm_free((MPI_Comm*)user);
  free(user);
}

/// The group of a communicator's processes. Collective over the communicator, which is duplicated: destroy the group
/// and all that was made with it on all ranks before MPI_Finalize. Call MPI_Init before.
static inline whilst_status whilst_group_from_mpi(MPI_Comm communicator, whilst_group** group) {
  int rank = 0, size = 0;
  MPI_Comm* own = (MPI_Comm*)malloc(sizeof(MPI_Comm));
  if (!own) return WHILST_OUT_OF_MEMORY;
  MPI_Comm_dup(communicator, own);
  MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
  MPI_Comm_rank(*own, &rank);
  MPI_Comm_size(*own, &size);
  return whilst_group_create(rank, size, whilst_mpi_gather, own, whilst_mpi_release, group);
}

#ifdef __cplusplus
}
#endif

#endif
