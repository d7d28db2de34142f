/// solve_file A.mtx: solves A x = b for a Matrix Market file, with ones on the right-hand side.

#include <cstdio>
#include <exception>
#include <vector>

#include <whilst/whilst.hpp>

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fprintf(stderr, "usage: solve_file A.mtx\n");
    return 1;
  }
  try {
    const auto A = whilst::read_matrix<double>(arguments[1]);
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    std::vector<double> x(b.size());  // the start, then the solution

    whilst::linear_solver<double> solver(A, {.method = "cg", .preconditioner = "jacobi", .rtol = 1e-8});
    const whilst::report report = solver.solve(b, x);
    std::puts(report.message().c_str());
    return report.converged() ? 0 : 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "solve_file: %s\n", problem.what());
    return 1;
  }
}
