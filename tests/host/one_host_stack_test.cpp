// compiled by nvcc where CUDA is on
// What all solvers share on the host, whatever they solve: tickets that outlive a solver, deadlines, descriptions.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <memory>
#include <optional>

#include "tests/host/batches.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/batch_linear_solver.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/least_squares_batch.hpp"
#include "whilst/minimizer.hpp"
#include "whilst/minimizer_batch.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::index_type;
using whilst::place;
using whilst::reason;

namespace {

/// Rosenbrock's valley, which takes several trials: the residuals 10 (x1 - x0^2) and 1 - x0.
struct valley {
  static constexpr int unknowns = 2;
  WHILST_HD index_type count() const { return 2; }
  WHILST_HD valley of_problem(index_type) const { return {}; }
  template <class S>
  WHILST_HD S operator()(index_type i, const S* x) const {
    const S across = 10.0 * (x[1] - x[0] * x[0]), along = 1.0 - x[0];
    return i == 0 ? across : along;
  }
};
struct valley_to_minimize {
  static constexpr int unknowns = 2;
  WHILST_HD valley_to_minimize of_problem(index_type) const { return {}; }
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    const S across = 10.0 * (x[1] - x[0] * x[0]), along = 1.0 - x[0];
    return across * across + along * along;
  }
};

template <class Batch>
void check_deadline(Batch& batch) {
  std::vector<double> x{-1.2, 1, -1.2, 1};
  batch.set_deadline(1e-12);  // over before the first evaluation has ended
  const auto late = batch.solve(x);
  for (const auto& one : late) {
    CHECK(one.reason == reason::deadline);
    CHECK(one.iterations <= 2);
  }
  batch.set_deadline(1e6);
  x = {-1.2, 1, -1.2, 1};
  CHECK(batch.solve(x).all_converged());
  for (const double value : x) CHECK(value == Approx(1).epsilon(1e-5));
  CHECK_THROWS_WITH(batch.set_deadline(0), contains("the deadline is 0.000000 seconds"));
  CHECK_THROWS_WITH(batch.set_deadline(std::nan("")), contains("the deadline is"));
  CHECK_THAT(batch.explain(), contains("the batch begins"));
}

}  // namespace

TEST_CASE("tickets refuse once their solver is gone, all but the outcome", "[enqueue][batch][sanitizer]") {
  const auto A = whilst::make_gallery<double>("poisson1d:8").matrix;
  for (const std::string& executor : executors()) {
    INFO(executor);
    const place where = executor == "host" ? place::host() : place::gpu(0);
    buffer<double> b(where, 8), x(where, 8);
    const std::vector<double> ones(8, 1);
    b.upload(ones.data());
    std::optional<whilst::linear_solver<double>> solver(std::in_place, A,
                                                        whilst::linear_solver_options{.executor = executor});
    const whilst::ticket ticket = solver->enqueue(nullptr, b.data(), x.data());
    solver.reset();
    CHECK_THROWS_WITH(ticket.wait(), contains("using a ticket: its solver was destroyed. Keep a solver"));
    CHECK_THROWS_WITH(ticket.done(), contains("its solver was destroyed"));
    CHECK(whilst::converged(ticket.outcome()->why));  // the solver's destructor waited for it
  }
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    const place where = executor == "host" ? place::host() : place::gpu(0);
    buffer<double> values(where, A.nonzeros()), b(where, 8), x(where, 8);
    values.upload(A.values().data());
    std::optional<whilst::batch_linear_solver<double>> solver(std::in_place, A, 1,
                                                              whilst::linear_solver_options{.executor = executor});
    const whilst::batch_ticket ticket = solver->enqueue(nullptr, values.data(), b.data(), x.data());
    CHECK_THAT(solver->explain() + solver->dot() + solver->json(), contains("cg"));
    CHECK_FALSE(solver->memory().items.empty());
    CHECK(solver->executor() == "batch");
    CHECK(ticket.wait().lanes() == (executor == "host" ? 1 : 32));  // on a GPU a block for one system
    solver.reset();
    CHECK_THROWS_WITH(ticket.wait(), contains("its solver was destroyed"));
    CHECK_THROWS_WITH(ticket.cancel(), contains("its solver was destroyed"));
    CHECK_THROWS_WITH(ticket.done(), contains("its solver was destroyed"));
  }
  // f = sum x_i^2 / 2
  const whilst::called_objective<double> f(
      place::host(), 3, [](whilst::stream_handle, index_type n, const double* at, double* value, double* gradient) {
        *value = 0;
        for (index_type i = 0; i < n; ++i) {
          gradient[i] = at[i];
          *value += at[i] * at[i] / 2;
        }
      });
  std::optional<whilst::minimizer<double>> minimizer(std::in_place, f, whilst::minimizer_options{.executor = "host"});
  std::vector<double> at{1, 2, 3};
  const whilst::ticket ticket = minimizer->enqueue(nullptr, at.data());
  minimizer.reset();
  CHECK_THROWS_WITH(ticket.wait(), contains("its solver was destroyed"));
}

TEST_CASE("the deadline of a batch changes between its launches", "[batch]") {
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    whilst::least_squares_batch<double, valley> fits([](place) { return valley{}; }, 2, {.executor = executor});
    check_deadline(fits);
    whilst::minimizer_batch<double, valley_to_minimize> minimizations([](place) { return valley_to_minimize{}; }, 2,
                                                                      {.executor = executor});
    check_deadline(minimizations);
  }
}

}  // namespace whilst_test
