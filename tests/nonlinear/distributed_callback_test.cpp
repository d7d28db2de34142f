// Minimizers of several ranks from callbacks: what a callback that throws does to all, and transports. Ranks are
// threads on the host.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/nonlinear/chain_of_ranks.hpp"
#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"

namespace {

using whilst::distributed_minimizer;
using whilst::group;
using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::place;
using whilst::reason;
using whilst_test::contains;
using whilst_test::nothing;
using whilst_test::on_ranks;

constexpr index_type n = 40;
constexpr double tolerance = 1e-8;
/// Of the gradient: a few terms of up to 800 an entry.
constexpr double rounding = 1e4 * std::numeric_limits<double>::epsilon();

minimizer_options usual(const std::string& transport = "auto") {
  return {.tolerances = {.gradient = tolerance}, .executor = "host", .transport = transport};
}

struct rank_of_chain {
  whilst_test::chain_of_rank own;
  std::atomic<int> calls = 0, throws_in = 0;  ///< throws_in: the call that throws; 0 for none
  distributed_minimizer<double> solver;
  std::vector<double> x;

  explicit rank_of_chain(const group& ranks, const minimizer_options& options = usual(), double limit = 10)
      : own(whilst_test::chain_of(n, ranks.rank(), ranks.size())),
        solver(
            ranks, place::host(), own.own(), own.ghosts(),
            [this](whilst::stream_handle, index_type, const double* at, double* value, double* gradient) {
              if (++calls == throws_in) throw std::domain_error("no logarithm of -1");
              own.evaluate(at, value, gradient);
            },
            options, limit) {}
  minimize_report solve() {
    calls = 0;
    x.assign(static_cast<std::size_t>(own.own()), 0.5);
    return solver.solve(x);
  }
};

}  // namespace

namespace {

// docs/several-gpus.md shows these lines.

minimize_report minimize_by_callback(const group& ranks, const whilst_test::chain_of_rank& own,
                                     std::vector<double>& x) {
  const auto evaluate = [=](whilst::stream_handle, std::int64_t, const double* at, double* value, double* gradient) {
    own.evaluate(at, value, gradient);  // at: own unknowns, then ghosts
  };
  whilst::distributed_minimizer<double> solver(ranks, whilst::place::host(), own.own(), own.ghosts(), evaluate);
  return solver.solve(x);
}

}  // namespace

TEST_CASE("a callback needs no objective and no plan", "[group][minimizer]") {
  CHECK(on_ranks(2, [&](const group& ranks) {
          const auto own = whilst_test::chain_of(n, ranks.rank(), ranks.size());
          std::vector<double> x(static_cast<std::size_t>(own.own()), 0.5);
          if (!minimize_by_callback(ranks, own, x).converged()) throw std::runtime_error("no convergence");
          // The gradient is 1e-8 by default, and no eigenvalue of the Hessian is below 0.399.
          for (const double one : x)
            if (!(std::abs(one - 1) <= 1e-7)) throw std::runtime_error("x is " + std::to_string(one));
        }) == nothing(2));
}

TEST_CASE("ranks minimize by callbacks, by each transport of the host", "[group][minimizer]") {
  std::vector<double> of_one;
  for (const int size : {1, 2, 3, 4}) {
    for (const std::string transport : {"auto", "threads", "shared memory", "shared-memory"}) {
      CAPTURE(size, transport);
      std::vector<double> x(n);
      CHECK(on_ranks(size, [&](const group& ranks) {
              rank_of_chain chain(ranks, usual(transport));
              if (const minimize_report told = chain.solve(); told.reason() != reason::converged_gradient)
                throw std::runtime_error(told.message());
              std::copy(chain.x.begin(), chain.x.end(), x.begin() + chain.own.first);
              const std::string taken = size == 1 ? "one rank" : transport[0] == 's' ? "shared memory" : "threads";
              if (chain.solver.transport() != taken) throw std::runtime_error(chain.solver.transport());
              if (!chain.solver.transports_passed_over().empty()) throw std::runtime_error("passed over");
            }) == nothing(size));
      CHECK(whilst_test::gradient_norm_of_chain(x) <= tolerance + rounding);
      CHECK(whilst_test::distance_from_ones(x) <= 2 * (tolerance + rounding) / 0.399);
      if (size == 1 && of_one.empty()) of_one = x;
      double apart = 0;
      for (std::size_t i = 0; i < x.size(); ++i) apart = std::max(apart, std::abs(x[i] - of_one[i]));
      CHECK(apart <= 4 * (tolerance + rounding) / 0.399);  // each of the two is that close to ones
    }
  }
}

TEST_CASE("a callback that throws on one rank ends the minimization on all at once", "[group][minimizer]") {
  for (const int size : {1, 2, 3}) {
    for (const int who : {0, size - 1}) {
      for (const int call : {1, 2, 7}) {
        for (const bool by_ticket : {false, true}) {
          CAPTURE(size, who, call, by_ticket);
          // The limit is far away: nobody waits for it.
          const auto said = on_ranks(size, [&](const group& ranks) {
            rank_of_chain chain(ranks, usual(), 1e4);
            chain.throws_in = ranks.rank() == who ? call : 0;
            std::string message;
            try {
              reason why;
              if (by_ticket) {
                chain.x.assign(static_cast<std::size_t>(chain.own.own()), 0.5);
                why = chain.solver.enqueue(nullptr, chain.x.data()).wait().reason();
              } else {
                why = chain.solve().reason();
              }
              message = whilst::name(why);
            } catch (const std::domain_error& problem) {
              message = problem.what();
            }
            // All obey in the round after the one in which they learn of it.
            if (chain.calls > call + (ranks.rank() == who ? 0 : 1))
              message += ", called " + std::to_string(chain.calls);
            // The next minimization is as if nothing had been.
            chain.throws_in = 0;
            if (chain.solve().reason() != reason::converged_gradient) throw std::runtime_error("no convergence");
            throw std::runtime_error(message);
          });
          for (int rank = 0; rank < size; ++rank) {
            const std::string& one = said[static_cast<std::size_t>(rank)];
            CHECK(one == (rank == who ? "no logarithm of -1" : call == 1 ? "nan_or_infinity" : "cancelled"));
          }
        }
      }
    }
  }
}

TEST_CASE("a monitor that throws on one rank passes there, and cancels the others", "[group][minimizer]") {
  const auto said = on_ranks(2, [](const group& ranks) {
    rank_of_chain chain(ranks, usual(), 1e4);
    if (ranks.rank() == 1)
      chain.solver.set_monitor([](const whilst::progress& now) {
        if (now.iteration == 3) throw std::domain_error("enough");
      });
    const minimize_report told = chain.solve();
    throw std::runtime_error(std::string(whilst::name(told.reason())));
  });
  CHECK(said == std::vector<std::string>{"cancelled", "enough"});
}

TEST_CASE("a rank whose callback others would wait for in vain is lost after the limit", "[group][minimizer]") {
  CHECK(on_ranks(2, [](const group& ranks) {
          rank_of_chain chain(ranks, usual(), 0.5);
          if (ranks.rank() == 0 && chain.solve().reason() != reason::peer_lost) throw std::runtime_error("not lost");
          chain.solver.recover();
          if (chain.solve().reason() != reason::converged_gradient) throw std::runtime_error("no convergence");
        }) == nothing(2));
}

TEST_CASE("what a rank gives wrongly for a callback, all refuse", "[group][minimizer]") {
  struct given {
    index_type unknowns = 3;
    std::vector<index_type> ghosts{};
    bool has_function = true;
    minimizer_options options = usual();
  };
  const auto refused = [](const given& wrong) {
    return on_ranks(2, [&](const group& ranks) {
      const given mine = ranks.rank() == 1 ? wrong : given();
      whilst::called_objective<double>::callback nobody_calls;
      if (mine.has_function) nobody_calls = [](whilst::stream_handle, index_type, const double*, double*, double*) {};
      distributed_minimizer<double> solver(ranks, place::host(), mine.unknowns, mine.ghosts, nobody_calls,
                                           mine.options);
    });
  };
  const auto check = [&](const given& wrong, const std::string& words, bool names_rank = true) {
    CAPTURE(words);
    const auto said = refused(wrong);
    CHECK_THAT(said[1], contains(words));
    CHECK_THAT(said[0], contains(words));
    if (names_rank) CHECK_THAT(said[0], contains("rank 1"));
  };
  check({.unknowns = -1}, "the rank has -1 unknowns");
  check({.ghosts = {6}}, "ghost 0 is 6");
  check({.ghosts = {-1}}, "ghost 0 is -1");
  check({.ghosts = {4}}, "this rank's own");
  check({.ghosts = {1, 0}}, "Sort them");
  check({.ghosts = {1, 1}}, "Sort them");
  check({.unknowns = 0, .ghosts = {1}}, "a rank without unknowns reads 1 ghosts");
  check({.has_function = false}, "the callback is empty");
  check({.options = usual("pigeons")}, "there is no transport called 'pigeons'");
  check({.options = usual("threads")}, "gives other options than rank 0");
  const auto all = on_ranks(2, [](const group& ranks) { rank_of_chain chain(ranks, usual("peer memory")); });
  for (const std::string& one : all) CHECK_THAT(one, contains("transport peer memory is for ranks on GPUs"));
}
