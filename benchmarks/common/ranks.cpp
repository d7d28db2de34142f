#include "benchmarks/common/ranks.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/group/thread_group.hpp"
#if WHILST_WITH_MPI
#include "whilst/group/mpi_group.hpp"
#endif

namespace whilst {
namespace {

constexpr const char* finishing = "finishing the work of a group";

/// What became of a rank.
struct ending {
  int status = 0;
  std::exception_ptr failure;
};

ending end_of(const group& ranks, const std::function<int(const group&, int)>& work) {
  ending made;
  try {
    const int devices = cuda::device_count();
    made.status = work(ranks, devices > 0 ? ranks.rank() % devices : -1);
    ranks.barrier(finishing);
  } catch (const std::exception& problem) {
    made.failure = std::current_exception();
    ranks.fail(problem.what());
  }
  return made;
}

#if WHILST_WITH_MPI
int run_processes(const std::function<int(const group&, int)>& work) {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  ending made;
  int rank = 0;
  {
    const group ranks = mpi_group(MPI_COMM_WORLD);
    rank = ranks.rank();
    made = end_of(ranks, work);
  }
  MPI_Finalize();
  if (rank != 0) return 0;
  if (made.failure) std::rethrow_exception(made.failure);
  return made.status;
}
#endif

int run_threads(int count, const std::function<int(const group&, int)>& work) {
  std::vector<ending> endings(static_cast<std::size_t>(count));
  std::vector<std::thread> running;
  for (group& one : make_thread_groups(count))
    running.emplace_back([&, own = std::move(one)]() mutable {
      const group ranks = std::move(own);
      endings[static_cast<std::size_t>(ranks.rank())] = end_of(ranks, work);
    });
  for (std::thread& one : running) one.join();
  for (const ending& one : endings)
    if (one.failure) std::rethrow_exception(one.failure);
  return endings.front().status;
}

constexpr const char* no_kind = "that is no kind of ranks";

/// Of "mpi" a 0, of "threads:1,2" the numbers; none if that is neither.
std::vector<int> numbers_from(const std::string& text) {
  if (text == "mpi") {
    if (!is_built_with_mpi())
      throw error("--ranks mpi", "this program was built without MPI",
                  "Install MPI (Debian and Ubuntu: libopenmpi-dev openmpi-bin) and build again, or use threads:P");
    return {0};
  }
  const std::string before = "threads:";
  if (text.rfind(before, 0) != 0) return {};
  std::vector<int> numbers;
  const char *begin = text.data() + before.size(), *const end = text.data() + text.size();
  for (;; ++begin) {
    int threads = 0;
    const auto [stopped, problem] = std::from_chars(begin, end, threads);
    if (problem != std::errc() || threads < 1 || threads > 64) return {};
    numbers.push_back(threads);
    if (stopped == end) return numbers;
    if (*stopped != ',') return {};
    begin = stopped;
  }
}

}  // namespace

bool is_built_with_mpi() {
#if WHILST_WITH_MPI
  return true;
#else
  return false;
#endif
}

bool is_under_mpi() {
  constexpr const char* told[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  return std::any_of(std::begin(told), std::end(told), [](const char* name) { return std::getenv(name) != nullptr; });
}

int ranks_from(const std::string& text) {
  const std::vector<int> numbers = numbers_from(text);
  if (numbers.size() == 1) return numbers.front();
  throw error("--ranks " + text, no_kind, "Give mpi, or threads:P with P from 1 to 64, as threads:4");
}

std::vector<int> numbers_of_ranks_from(const std::string& text) {
  std::vector<int> numbers = numbers_from(text);
  if (!numbers.empty()) return numbers;
  throw error("--ranks " + text, no_kind, "Give mpi, or threads: and numbers from 1 to 64, as threads:1,2,4");
}

int run_ranks(int threads, const std::function<int(const group&, int)>& work) {
  if (threads > 0) return run_threads(threads, work);
#if WHILST_WITH_MPI
  return run_processes(work);
#else
  throw error("running MPI processes", "this program was built without MPI", "Use threads");
#endif
}

}  // namespace whilst
