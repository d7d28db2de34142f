// compiled by nvcc where CUDA is on
// Fits by enqueue and what all solvers share: tickets, limits, cancels, monitors.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/least_squares/enqueued_fits.hpp"

namespace whilst_test {

using namespace enqueued_fits;

TEST_CASE("an enqueued fit finds the regression line and its errors", "[least_squares][enqueue][sanitizer]") {
  const line_data line(1);
  for (const std::string& executor : executors()) {
    INFO(executor);
    curve_fit<double, straight_line> fit({}, line.x, line.y, {.executor = executor});
    buffer<double> b = on_place(executor, {0, 0});
    const least_squares_ticket ticket = fit.enqueue(nullptr, b.data());
    // Under these it has completed when enqueue returns.
    if (executor == "host" || executor == "stream") CHECK(ticket.done());
    const least_squares_report report = ticket.wait();
    CHECK(ticket.done());
    line.check(report, values(b));
    CHECK(ticket.outcome()->why == report.reason());
    CHECK_FALSE(fit.progress().running);
    CHECK(fit.progress().iteration == report.iterations());
    CHECK(fit.progress().residual_norm == Approx(report.residual_norm()));
    REQUIRE_FALSE(report.history().empty());
    CHECK(report.history().back().residual_norm == Approx(report.residual_norm()));
    CHECK(report.executor() == executor);
    // A plain ticket tells the rest.
    const whilst::ticket plain = ticket;
    CHECK(plain.wait().iterations() == report.iterations());
    // The blocking door gives the same bits.
    std::vector<double> again{0, 0};
    const least_squares_report blocking = fit.solve(again);
    CHECK((again == values(b)));
    CHECK(blocking.iterations() == report.iterations());
    CHECK(blocking.covariance == report.covariance);
    CHECK_THAT(fit.memory().text(), contains("data of the curve"));
    CHECK_THAT(fit.dot() + fit.json(), contains("levenberg-marquardt"));
  }
}

TEST_CASE("each ticket of a fit keeps its own state, however many fits follow", "[least_squares][enqueue]") {
  constexpr int fits = 20;  // more than are prepared for
  for (const std::string& executor : executors()) {
    INFO(executor);
    const line_data first(0);
    curve_fit<double, straight_line> fit({}, first.x, first.y, {.executor = executor});
    std::vector<buffer<double>> b;
    std::vector<least_squares_ticket> tickets;
    for (int k = 0; k < fits; ++k) {
      const line_data line(k);
      fit.update_data(line.x, line.y);  // waits for the fit before
      b.push_back(on_place(executor, {0, 0}));
      tickets.push_back(fit.enqueue(nullptr, b.back().data()));
    }
    for (const int k : {19, 0, 7, 1, 19}) {
      INFO("fit " << k);
      const least_squares_report report = tickets[static_cast<std::size_t>(k)].wait();  // before b is read
      line_data(k).check(report, values(b[static_cast<std::size_t>(k)]));
    }
  }
}

TEST_CASE("limits and tolerances of a fit change without recording", "[least_squares][enqueue]") {
  const decay_data data;
  for (const std::string& executor : executors()) {
    INFO(executor);
    auto fit = data.fit({.executor = executor});
    std::vector<double> best = far;
    const least_squares_report whole = fit.solve(best);
    REQUIRE(whole.iterations() > 4);
    std::vector<buffer<double>> b;
    std::vector<least_squares_ticket> tickets;
    for (const index_type limit : {0, 1, 3}) {
      fit.set_max_iterations(limit);
      b.push_back(on_place(executor, far));
      tickets.push_back(fit.enqueue(nullptr, b.back().data()));
    }
    CHECK(tickets[0].wait().iterations() == 0);
    CHECK(tickets[1].wait().iterations() == 1);
    CHECK(tickets[2].wait().iterations() == 3);
    CHECK(tickets[2].wait().reason() == reason::iteration_limit);
    CHECK((values(b[0]) == far));
    fit.set_max_iterations(10'000);

    // Tolerances: as those of a fit that was made with them, and back.
    const whilst::least_squares_tolerances loose{.gradient = 0.1, .first_damping = 10};
    auto made_loose = data.fit({.tolerances = loose, .executor = executor});
    std::vector<double> expected = far, found = far;
    const least_squares_report early = made_loose.solve(expected);
    REQUIRE(expected != best);
    const std::string program = fit.explain();
    fit.set_tolerances(loose);
    CHECK(fit.solve(found).iterations() == early.iterations());
    CHECK(found == expected);
    fit.set_tolerances({});
    found = far;
    CHECK(fit.solve(found).iterations() == whole.iterations());
    CHECK(found == best);
    CHECK(fit.explain() == program);
    CHECK_THROWS_WITH(fit.set_tolerances({.step = -1}), contains("a tolerance is negative"));
    CHECK_THROWS_WITH(fit.set_max_iterations(-7), contains("max_iterations is -7"));
    CHECK_THROWS_WITH(fit.set_deadline(0), contains("the deadline is not above 0"));
  }
}

TEST_CASE("a deadline ends a fit", "[least_squares][enqueue]") {
  const decay_data data;
  for (const std::string& executor : executors()) {
    INFO(executor);
    auto fit = data.fit({.deadline = 1e-12, .executor = executor});  // over before the first trial
    std::vector<double> b = far;
    const least_squares_report report = fit.solve(b);
    CHECK(report.reason() == reason::deadline);
    CHECK(report.iterations() <= 2);
    fit.set_deadline(1e6);
    CHECK(fit.solve(b).converged());
  }
}

TEST_CASE("another thread cancels a fit, and no other fit", "[least_squares][enqueue][threads][sanitizer]") {
  const decay_data data;
  auto fit = data.fit({.executor = "host", .threads = 1});
  fit.cancel();  // nothing has been launched
  std::vector<double> b = far;
  {
    const at_first_evaluation cancel([&] { std::thread([&] { fit.cancel(); }).join(); });
    const least_squares_ticket ticket = fit.enqueue(nullptr, b.data());
    CHECK(ticket.wait().reason() == reason::cancelled);
    CHECK(ticket.wait().iterations() <= 1);
    ticket.cancel();  // too late
  }
  CHECK(fit.solve(b).converged());
}

TEST_CASE("a fit's progress is seen from another thread while it runs", "[least_squares][enqueue][threads]") {
  const decay_data data;
  auto fit = data.fit({.executor = "host", .threads = 1});
  progress seen;
  std::vector<double> b = far;
  fit.solve(b);
  b = far;
  {
    const at_first_evaluation look([&] { std::thread([&] { seen = fit.progress(); }).join(); });
    fit.solve(b);
  }
  CHECK(seen.running);
  CHECK(seen.iteration == 0);
  CHECK(seen.residual_norm == std::numeric_limits<double>::infinity());  // nothing of the fit before
}

TEST_CASE("a fit's monitor sees its iterations, cancels it, and may throw", "[least_squares][monitor]") {
  const decay_data data;
  for (const std::string& executor : executors()) {
    INFO(executor);
    auto fit = data.fit({.executor = executor});
    std::vector<double> plain = far, b = far;
    fit.solve(plain);
    std::vector<progress> seen;
    fit.set_monitor([&](const progress& now) { seen.push_back(now); });
    const least_squares_report report = fit.solve(b);
    CHECK(b == plain);
    for (std::size_t k = 0; k < seen.size(); ++k) {
      CHECK(seen[k].iteration > (k == 0 ? 0 : seen[k - 1].iteration));
      CHECK(seen[k].iteration <= report.iterations());
      // Norms are those of the best point so far.
      if (k > 0) CHECK(seen[k].residual_norm <= seen[k - 1].residual_norm * (1 + 1e-9));
    }
    if (executor != "host" && executor != "stream") continue;  // the host sees no trips
    // Executor stream tells once per trip; each trip is at most one iteration here.
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.back().residual_norm == Approx(report.residual_norm()));
    fit.set_monitor([&](const progress& now) {
      if (now.iteration == 2) fit.cancel();
    });
    b = far;
    const least_squares_report cancelled = fit.solve(b);
    CHECK(cancelled.reason() == reason::cancelled);
    CHECK(cancelled.iterations() <= 4);
    fit.set_monitor([](const progress&) { throw std::runtime_error("enough"); });
    b = far;
    CHECK_THROWS_WITH(fit.solve(b), contains("enough"));
    fit.set_monitor({});
    b = far;
    CHECK(fit.solve(b).converged());
    CHECK(b == plain);
  }
}

TEST_CASE("a fit refuses hostile pointers and goes on", "[least_squares][pointers]") {
  const line_data line(0);
  for (const std::string& executor : executors()) {
    INFO(executor);
    for (const bool looks : {true, false}) {
      curve_fit<double, straight_line> fit({}, line.x, line.y, {.executor = executor, .check_pointers = looks});
      CHECK_THROWS_WITH(fit.enqueue(nullptr, nullptr), contains("enqueueing a solve: x is null"));
      std::vector<double> b{0, 0};
      line.check(fit.solve(b), b);
    }
  }
}

TEST_CASE("an enqueued fit that starts out of bounds starts at the nearest point within", "[least_squares][enqueue]") {
  const line_data line(0);  // falls, by about 2
  for (const std::string& executor : executors()) {
    INFO(executor);
    const least_squares_options options{.lower = {-100, -1.5}, .upper = {100, 100}, .executor = executor};
    curve_fit<double, straight_line> fit({}, line.x, line.y, options);
    buffer<double> b = on_place(executor, {1e3, -1e3});
    const least_squares_report report = fit.enqueue(nullptr, b.data()).wait();
    CHECK(report.converged());
    CHECK(values(b)[1] == -1.5);
    REQUIRE(report.errors.size() == 2);
    CHECK(report.errors[1] == 0);  // held
    fit.set_max_iterations(0);
    b = on_place(executor, {1e3, -1e3});
    fit.enqueue(nullptr, b.data()).wait();
    CHECK(values(b) == std::vector<double>{100, -1.5});
    std::vector<double> outside{1e3, -1e3};
    CHECK_THROWS_WITH(fit.solve(outside), contains("starts at 1000"));
  }
}

TEST_CASE("tickets of fits survive a move, and refuse once the fit is gone", "[least_squares][enqueue][sanitizer]") {
  const line_data line(3);
  for (const std::string& executor : executors()) {
    INFO(executor);
    auto fit = std::make_unique<curve_fit<double, straight_line>>(straight_line{}, line.x, line.y,
                                                                  least_squares_options{.executor = executor});
    buffer<double> b = on_place(executor, {0, 0});
    const least_squares_ticket ticket = fit->enqueue(nullptr, b.data());
    curve_fit<double, straight_line> moved = std::move(*fit);
    std::vector<double> x{0, 0};
    CHECK_THROWS_WITH(fit->solve(x), contains("using a curve_fit: it was moved from"));
    CHECK_THROWS_WITH(fit->update_data(line.x, line.y), contains("using a curve_fit: it was moved from"));
    CHECK_THROWS_WITH(fit->cancel(), contains("it was moved from"));
    fit.reset();
    const least_squares_report report = ticket.wait();  // before b is read
    line.check(report, values(b));
    {
      const auto last = std::move(moved);
      line.check(ticket.wait(), values(b));
    }
    CHECK_THROWS_WITH(ticket.wait(), contains("using a ticket: its solver was destroyed"));
    CHECK_THROWS_WITH(ticket.cancel(), contains("its solver was destroyed"));
    CHECK_THROWS_WITH(ticket.done(), contains("its solver was destroyed"));
    CHECK_THROWS_WITH(ticket.progress(), contains("its solver was destroyed"));
    CHECK(whilst::converged(ticket.outcome()->why));  // still the ticket's
  }
}

}  // namespace whilst_test
