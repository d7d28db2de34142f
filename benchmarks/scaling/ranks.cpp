#include "benchmarks/scaling/ranks.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/group/thread_group.hpp"
#if WHILST_WITH_MPI
#include "whilst/mpi.hpp"
#endif

namespace scaling {
namespace {

bool call(const whilst::group& ranks, const std::function<void(const whilst::group&, int)>& work) {
  const int devices = whilst::cuda::device_count();
  try {
    work(ranks, devices > 0 ? ranks.rank() % devices : -1);
    return true;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "rank %d: %s\n", ranks.rank(), problem.what());
    return false;
  }
}

}  // namespace

bool is_under_mpi() {
#if WHILST_WITH_MPI
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE") || std::getenv("PMIX_RANK");
#else
  return false;
#endif
}

bool run_ranks(int threads, const std::function<void(const whilst::group&, int)>& work) {
#if WHILST_WITH_MPI
  if (is_under_mpi()) {
    MPI_Init(nullptr, nullptr);
    const bool done = call(whilst::mpi_group(MPI_COMM_WORLD), work);
    if (!done) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return done;
  }
#endif
  std::atomic<bool> all{true};
  std::vector<std::thread> running;
  for (whilst::group& one : whilst::make_thread_groups(threads))
    running.emplace_back([&, own = std::move(one)]() mutable {
      const whilst::group ranks = std::move(own);
      if (!call(ranks, work)) all = false;
    });
  for (std::thread& one : running) one.join();
  return all;
}

}  // namespace scaling
