// Processes of a group of which one is killed: in a process of its own for each rank, on the host and on a GPU each.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/group/processes_in_memory.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

namespace {

using whilst::distributed_linear_solver;
using whilst::index_type;
using whilst::reason;

constexpr int killed = 1;  // of the ranks at first
/// What a process ends with.
enum verdict { as_expected = 0, another_reason, another_rank, no_second_solve, an_exception };

whilst::report solve_part(distributed_linear_solver<double>& solver, index_type rows) {
  const std::vector<double> b(static_cast<std::size_t>(rows), 1.0);
  std::vector<double> x(b.size());
  return solver.solve(b, x);
}
std::vector<index_type> shares(index_type rows, int size) {
  std::vector<index_type> made;
  for (int q = 0; q <= size; ++q) made.push_back(rows * q / size);
  return made;
}

/// Solves until the killed rank is missed; then with the others in a group made anew.
verdict outlive(const std::string& executor, int rank, int ranks_at_first,
                const whilst_test::processes_in_memory& at_first, const whilst_test::processes_in_memory& anew) {
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix;
  whilst::linear_solver_options options = whilst_test::with_executor({.method = "cg"}, executor, rank);
  options.threads = 1;  // after a fork a pool of threads is not there
  {
    const whilst::group ranks = at_first.of(rank, ranks_at_first);
    const auto split = shares(A.rows(), ranks_at_first);
    const auto q = static_cast<std::size_t>(rank);
    constexpr double seconds = 2;  // enough for those who do come, on a machine that is busy
    distributed_linear_solver<double> solver(whilst_test::distributed<double>(ranks, A, split), options, seconds);
    if (solve_part(solver, split[q + 1] - split[q]).reason() != reason::converged_rtol) return another_reason;
    if (rank == killed)
      std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        kill(getpid(), SIGKILL);
      }).detach();
    while (true) {
      const whilst::report one = solve_part(solver, split[q + 1] - split[q]);
      if (one.reason() == reason::converged_rtol) continue;
      if (one.reason() != reason::peer_lost) return another_reason;
      if (solver.lost_rank() != killed) return another_rank;
      break;
    }
  }
  const int own = rank < killed ? rank : rank - 1, left = ranks_at_first - 1;
  const auto split = shares(A.rows(), left);
  distributed_linear_solver<double> solver(whilst_test::distributed<double>(anew.of(own, left), A, split), options);
  const auto q = static_cast<std::size_t>(own);
  return solve_part(solver, split[q + 1] - split[q]).reason() == reason::converged_rtol ? as_expected : no_second_solve;
}

/// Calls work() in a process of its own, which ends with what that returns. Nobody waits for it yet.
template <class Work>
pid_t in_process(const Work& work) {
  const pid_t made = fork();
  if (made != 0) return made;
  alarm(100);  // whatever happens, it ends
  int found = an_exception;
  try {
    found = work();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
  }
  _exit(found);
}
/// GPUs that a process forked now can use: none if this process has begun to use CUDA.
int gpus_after_fork() {
  int status = 0;
  const pid_t counts = in_process([] { return whilst::cuda::device_count(); });
  return counts > 0 && waitpid(counts, &status, 0) == counts && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

void outlive_on(const std::string& executor, int ranks_at_first) {
  const whilst_test::processes_in_memory at_first, anew;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks_at_first; ++rank) {
    processes.push_back(
        in_process([&] { return static_cast<int>(outlive(executor, rank, ranks_at_first, at_first, anew)); }));
    REQUIRE(processes.back() > 0);
  }
  for (int rank = 0; rank < ranks_at_first; ++rank) {
    CAPTURE(executor, rank);
    int status = 0;
    REQUIRE(waitpid(processes[static_cast<std::size_t>(rank)], &status, 0) > 0);
    if (rank == killed) {
      CHECK(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == SIGKILL);
    } else {
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == as_expected);
    }
  }
}

}  // namespace

TEST_CASE("a process that is killed is lost to the others, who go on in a group made anew", "[group][linear]") {
  outlive_on("host", 3);
  outlive_on("host", 2);  // the one that is left goes on alone
}

// A process that has used CUDA cannot fork others that do: this runs first, or in a process of its own.
TEST_CASE("a process that is killed is lost to the others on GPUs", "[group][linear][alone]") {
  const int gpus = gpus_after_fork();
  if (gpus < 2) {
    WARN("skipped: there are not several GPUs, or this process has used one before");
    return;
  }
  outlive_on("graph", std::min(gpus, 3));
}
