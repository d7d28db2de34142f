// solve(stream, b, x) on memory of the solver's place: what solves from host memory do, "auto" and columns included.

#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::columns_linear_solver;
using whilst::columns_report;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::reason;
using whilst::report;

namespace {

place place_of(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

/// A solver's solve with copies of b and x on its place, and x back.
template <class Solver>
auto solved_on_place(Solver& solver, const std::string& executor, const std::vector<double>& b,
                     std::vector<double>& x) {
  const place where = place_of(executor);
  const buffer<double> given(where, static_cast<index_type>(b.size()), b.data());
  const buffer<double> unknown(where, static_cast<index_type>(x.size()), x.data());
  auto told = solver.solve(nullptr, given.data(), unknown.data());
  unknown.download(x.data());
  std::vector<double> unchanged(b.size());
  given.download(unchanged.data());
  CHECK(unchanged == b);
  return told;
}

/// Solves twice, as "auto" begins the second with what it has found, by two solvers.
void same_as_from_host_memory(const csr_matrix<double>& A, const linear_solver_options& options,
                              const std::string& ladder, double most_residual) {
  INFO(options.executor << ", " << options.method << " with " << options.preconditioner);
  linear_solver<double> one(A, options), other(A, options);
  const std::vector<double> b = random_vector<double>(A.rows(), 3);
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<double> x(static_cast<std::size_t>(A.columns()), 0.0), y(x);
    const report from_host = one.solve(b, x), on_place = solved_on_place(other, options.executor, b, y);
    INFO(on_place.message() << ", " << on_place.choice());
    CHECK(on_place.converged() == from_host.converged());
    CHECK(on_place.reason() == from_host.reason());
    CHECK(on_place.iterations() == from_host.iterations());
    CHECK(on_place.residual_norm() == from_host.residual_norm());
    CHECK(on_place.choice() == from_host.choice());
    CHECK(on_place.history().size() == from_host.history().size());
    if (turn == 0) CHECK_THAT(on_place.choice(), contains(ladder));
    CHECK(y == x);
    CHECK(true_residual(A, b, y) <= most_residual);
  }
}

}  // namespace

TEST_CASE("a solve on the place takes the ladder of auto", "[linear][auto][auto_M]") {
  for (const std::string& executor : executors_with_steps()) {
    linear_solver_options options{.method = "auto", .preconditioner = "auto", .rtol = 1e-8, .executor = executor};
    const double within = 1.001 * options.rtol;
    // amg comes first where nodes are said to be known, which an indefinite matrix is not for.
    options.amg.unknowns_a_node = 2;
    same_as_from_host_memory(whilst::make_gallery<double>("helmholtz2d:100").matrix, options, "; then ", within);
    // A diagonal of one sign, and eigenvalues of both: cg breaks down, minres goes on.
    triplets<double> t(3);
    t.row({{0, 1}, {1, 4}});
    t.row({{0, 4}, {1, 1}});
    t.row({{2, 1}});
    same_as_from_host_memory(t.matrix(), {.method = "auto", .executor = executor}, "; then minres", within);
    // Named ones have no ladder.
    same_as_from_host_memory(whilst::make_gallery<double>("poisson2d:12").matrix,
                             {.preconditioner = "jacobi", .executor = executor}, "", within);
  }
}

TEST_CASE("auto keeps the best x on the place", "[linear][auto_M]") {
  // Indefinite: the residual rises at first, and a method that may return such an x has its x0 put back.
  const csr_matrix<double> A = whilst::make_gallery<double>("helmholtz2d:30").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 3);
  int put_back = 0;
  for (const std::string& executor : executors_with_steps())
    for (const char* method : {"cg", "bicgstab", "gmres"})
      for (const index_type limit : {1, 2, 3, 5, 20}) {
        const linear_solver_options options{.method = method,
                                            .preconditioner = "auto",
                                            .max_iterations = limit,
                                            .keep_best = false,
                                            .executor = executor};
        linear_solver<double> one(A, options), other(A, options);
        const std::vector<double> x0 = random_vector<double>(A.rows(), 5);
        std::vector<double> x = x0, y = x0;
        const report from_host = one.solve(b, x), on_place = solved_on_place(other, executor, b, y);
        INFO(executor << ", " << method << ", " << limit << ": " << on_place.message() << ", " << on_place.choice());
        CHECK(on_place.reason() == from_host.reason());
        CHECK(y == x);
        put_back += x == x0;
      }
  CHECK(put_back > 0);
}

TEST_CASE("columns on the place, at once and one after another", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  const std::vector<double> b = random_vector<double>(3 * A.rows(), 7);
  for (const std::string& executor : executors_with_steps())
    for (const std::string M : {"none", "ic", "ilu"}) {
      INFO(executor << ", " << M);
      const linear_solver_options options{.preconditioner = M, .rtol = 1e-10, .executor = executor};
      columns_linear_solver<double> solver(A, 3, options);
      std::vector<double> x(b.size(), 0), y(x);
      const columns_report from_host = solver.solve(b, x), on_place = solved_on_place(solver, executor, b, y);
      CHECK(on_place.all_converged());
      CHECK(on_place.note() == from_host.note());
      CHECK(solver.is_at_once() == (M != "ilu"));
      for (index_type k = 0; k < 3; ++k) CHECK(on_place[k].iterations == from_host[k].iterations);
      CHECK(y == x);
    }
}

TEST_CASE("what a solve on the place refuses", "[linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:3").matrix;
  std::vector<double> b(9, 1.0), x(9, 0.0);
  linear_solver<double> automatic(A, {.method = "auto", .preconditioner = "auto", .executor = "host"}),
      named(A, {.executor = "host"});
  CHECK_THROWS_WITH(automatic.solve(nullptr, b.data(), b.data() + 4), contains("b and x share memory"));
  for (linear_solver<double>* solver : {&automatic, &named}) {
    CHECK_THROWS_WITH(solver->solve(nullptr, nullptr, x.data()), contains("b is null"));
    CHECK_THROWS_WITH(solver->solve(nullptr, b.data(), nullptr), contains("x is null"));
  }
  columns_linear_solver<double> in_turn(A, 1, {.method = "minres", .executor = "host"});
  CHECK_THROWS_WITH(in_turn.solve(nullptr, nullptr, x.data()), contains("B is null") || contains("b is null"));
}

}  // namespace whilst_test
