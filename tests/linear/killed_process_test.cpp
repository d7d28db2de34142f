// Processes of a group of which one is killed: in a process of its own for each rank, on the host.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "tests/catch.hpp"
#include "tests/group/processes_in_memory.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

namespace {

using whilst::distributed_linear_solver;
using whilst::index_type;
using whilst::reason;

constexpr int ranks_at_first = 3, killed = 1;
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
verdict outlive(int rank, const whilst_test::processes_in_memory& at_first,
                const whilst_test::processes_in_memory& anew) {
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix;
  whilst::linear_solver_options options{.method = "cg"};
  options.executor = "host";
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

}  // namespace

TEST_CASE("a process that is killed is lost to the others, who go on in a group made anew", "[group][linear]") {
  const whilst_test::processes_in_memory at_first, anew;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks_at_first; ++rank) {
    const pid_t made = fork();
    REQUIRE(made >= 0);
    if (made == 0) {
      alarm(100);  // whatever happens, it ends
      verdict found = an_exception;
      try {
        found = outlive(rank, at_first, anew);
      } catch (const std::exception& problem) {
        std::fprintf(stderr, "rank %d: %s\n", rank, problem.what());
      }
      _exit(found);
    }
    processes.push_back(made);
  }
  for (int rank = 0; rank < ranks_at_first; ++rank) {
    CAPTURE(rank);
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
