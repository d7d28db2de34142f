// Histories of few records come with the outcome, longer ones by a copy: no report shows the difference.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst_test {

TEST_CASE("a history is told whole, whether it is short or long", "[linear][sanitizer]") {
  const auto A = whilst::make_gallery<double>("poisson1d:200").matrix;  // 100 iterations
  const std::vector<double> b(200, 1.0);
  constexpr int longest = 60;
  for (const std::string& executor : executors()) {
    whilst::linear_solver<double> solver(A, {.method = "cg", .executor = executor});
    const auto solved = [&](int iterations) {
      solver.set_max_iterations(iterations);
      std::vector<double> x(200);
      return solver.solve(b, x);
    };
    const std::vector<whilst::history_record> all = solved(longest).history();
    REQUIRE(all.size() == longest + 1);
    // In an order in which each follows a longer and a shorter one, in all of the solver's places for outcomes.
    constexpr int shown = static_cast<int>(whilst::records_shown);
    for (int repeat = 0; repeat < 3; ++repeat)
      for (const int iterations : {1, shown, 6, 7, longest, 8, shown - 1, 9, shown - 2, 2, 41, 1}) {
        CAPTURE(executor, repeat, iterations);
        const whilst::report told = solved(iterations);
        const std::vector<whilst::history_record>& history = told.history();
        REQUIRE(history.size() == static_cast<std::size_t>(iterations) + 1);
        bool is_alike = true;
        for (std::size_t k = 0; k < history.size(); ++k)
          is_alike = is_alike && history[k].iteration == static_cast<whilst::index_type>(k) &&
                     history[k].residual_norm == all[k].residual_norm;
        CHECK(is_alike);
      }
    // More tickets than a solver has places prepared.
    const whilst::place where = executor == "host" ? whilst::place::host() : whilst::place::gpu(0);
    const std::vector<double> zeros(200);
    const whilst::buffer<double> b_there(where, 200, b.data());
    std::vector<whilst::buffer<double>> x_there;
    std::vector<whilst::ticket> tickets;
    for (int k = 1; k <= 40; ++k) {
      solver.set_max_iterations(k);
      x_there.emplace_back(where, 200, zeros.data());
      tickets.push_back(solver.enqueue(nullptr, b_there.data(), x_there.back().data()));
    }
    for (std::size_t k = 0; k < tickets.size(); ++k) {
      const whilst::report told = tickets[k].wait();
      CAPTURE(executor, k);
      REQUIRE(told.history().size() == k + 2);
      CHECK(told.history().back().residual_norm == all[k + 1].residual_norm);
    }
  }
}

}  // namespace whilst_test
