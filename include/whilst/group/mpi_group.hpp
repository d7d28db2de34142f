#pragma once

/// @file
/// Groups of MPI processes. Needs mpi.h of MPI 3.0 or later; link MPI::MPI_CXX, or compile with mpicxx.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <mpi.h>

#include "whilst/basics/error.hpp"
#include "whilst/group/group.hpp"

namespace whilst {

namespace detail {

inline void check_mpi(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw error(doing, "MPI reported: " + std::string(text, static_cast<std::size_t>(length)));
}

/// A communicator of our own, so that no message meets the caller's.
class mpi_communicator {
 public:
  explicit mpi_communicator(MPI_Comm of) {
    int is_there = 0;
    MPI_Initialized(&is_there);
    if (!is_there) throw error("making a group of MPI processes", "MPI is not initialized", "Call MPI_Init before");
    check_mpi(MPI_Comm_dup(of, &own_), "duplicating an MPI communicator");
    MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
  }
  mpi_communicator(const mpi_communicator&) = delete;
  mpi_communicator& operator=(const mpi_communicator&) = delete;
  ~mpi_communicator() {
    int is_over = 0;
    if (MPI_Finalized(&is_over) == MPI_SUCCESS && !is_over) MPI_Comm_free(&own_);
  }
  int rank() const {
    int rank = 0;
    check_mpi(MPI_Comm_rank(own_, &rank), "asking MPI for the rank");
    return rank;
  }
  int size() const {
    int size = 0;
    check_mpi(MPI_Comm_size(own_, &size), "asking MPI for the number of ranks");
    return size;
  }
  /// One broadcast from each rank that has something to say, in pieces that an int can count.
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> sizes, std::span<std::byte> all) const {
    constexpr std::size_t most = std::size_t{1} << 30;
    const auto self = static_cast<std::size_t>(rank());
    for (std::size_t q = 0; q < sizes.size(); ++q) {
      const std::span<std::byte> piece = all.first(sizes[q]);
      all = all.subspan(sizes[q]);
      if (q == self) std::copy(mine.begin(), mine.end(), piece.begin());
      for (std::size_t done = 0; done < piece.size(); done += most)
        check_mpi(MPI_Bcast(piece.data() + done, static_cast<int>(std::min(most, piece.size() - done)), MPI_BYTE,
                            static_cast<int>(q), own_),
                  "gathering bytes by MPI");
    }
  }

 private:
  MPI_Comm own_ = MPI_COMM_NULL;
};

}  // namespace detail

/// The group of an MPI communicator's processes. Collective over the communicator, which is duplicated: destroy the
/// last copy of the group on all ranks, before MPI_Finalize. Throws whilst::error if MPI is not initialized. Without
/// MPI_THREAD_MULTIPLE no other thread may call MPI while a collective call runs. A process that has ended is MPI's to
/// find; most implementations then end all others.
inline group mpi_group(MPI_Comm communicator) {
  const auto own = std::make_shared<const detail::mpi_communicator>(communicator);
  return {own->rank(), own->size(),
          [own](std::span<const std::byte> mine, std::span<const std::size_t> sizes, std::span<std::byte> all) {
            own->gather(mine, sizes, all);
          }};
}

}  // namespace whilst
