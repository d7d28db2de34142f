// Minimizers of several ranks through the C interface: threads of this process, on the host.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/c/c_handles.hpp"
#include "tests/c/c_ranks.hpp"
#include "tests/nonlinear/chain_of_ranks.hpp"

namespace whilst_test {
namespace {

constexpr std::int64_t n = 36;
/// Of the gradient: a few terms of up to 800 an entry.
template <class T>
constexpr double rounding = 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon());
/// In float, values tell points apart up to the root of epsilon, times the curvature of 1000.
template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 3e-2 : 1e-8;

/// What a callback works with.
struct called_chain {
  chain_of_rank own;
  int fails_in = 0;  ///< the call that fails; 0 for none
  bool gives_nan = false;
  int calls = 0;
};
template <class T>
int evaluate(void* user, void* stream, int64_t unknowns, const void* x, double* value, void* gradient) {
  auto& mine = *static_cast<called_chain*>(user);
  if (stream || unknowns != mine.own.own() + static_cast<std::int64_t>(mine.own.ghosts().size())) return 99;
  if (++mine.calls == mine.fails_in) return 7;
  mine.own.evaluate(static_cast<const T*>(x), value, static_cast<T*>(gradient));
  if (mine.gives_nan) *value = std::numeric_limits<double>::quiet_NaN();
  return 0;
}

template <class T>
std::string make(const whilst_group* group, called_chain& f, const std::string& options, c_solver& solver) {
  const auto ghosts = f.own.ghosts();
  return error_of(whilst_distributed_minimizer_create(group, number_of<T>(), WHILST_HOST, f.own.own(), ghosts.data(),
                                                      static_cast<std::int64_t>(ghosts.size()), evaluate<T>, &f,
                                                      options.c_str(), 10, &solver));
}

template <class T>
std::string minimize(const whilst_group* group, int rank, int ranks, const std::string& transport,
                     std::vector<T>& whole) {
  called_chain f{chain_of(n, rank, ranks)};
  c_solver solver;
  c_report report;
  if (const auto said = make<T>(group, f, "method=lbfgs,transport=" + transport, solver); !said.empty()) return said;
  if (const auto said = error_of(whilst_solver_set_tolerances(solver, 0, tolerance<T>)); !said.empty()) return said;
  std::vector<T> x(static_cast<std::size_t>(f.own.own()), T(0.5));
  if (const auto said = error_of(whilst_solve(solver, nullptr, 0, x.data(), f.own.own(), &report)); !said.empty())
    return said;
  if (whilst_report_converged(report) != 1) return whilst_report_text(report, WHILST_MESSAGE);
  if (!(whilst_report_number(report, WHILST_VALUE) <= tolerance<T>)) return "the value is too large";
  // The same bits by a ticket.
  c_ticket ticket;
  std::vector<T> again(x.size(), T(0.5));
  if (const auto said = error_of(whilst_enqueue(solver, nullptr, nullptr, again.data(), &ticket)); !said.empty())
    return said;
  if (const auto said = error_of(whilst_ticket_wait(ticket, nullptr)); !said.empty()) return said;
  if (again != x) return "the second minimization differs";
  std::copy(x.begin(), x.end(), whole.begin() + f.own.first);
  int lost = 0;
  if (const auto said = error_of(whilst_solver_lost_rank(solver, &lost)); !said.empty() || lost != -1) return "lost";
  const std::string taken = whilst_solver_text(solver, WHILST_SOLVER_TRANSPORT);
  return taken == (ranks == 1 ? "one rank" : transport == "auto" ? "threads" : "shared memory") ? "" : taken;
}

template <class T>
void check_minimizes() {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::string transport : {"auto", "shared memory"}) {
      CAPTURE(sizeof(T), ranks, transport);
      std::vector<T> x(n);
      for (const std::string& one : on_ranks(ranks, [&](int rank, const whilst_group*group) {
             return minimize<T>(group, rank, ranks, transport, x);
           }))
        CHECK(one == "");
      CHECK(gradient_norm_of_chain(x) <= tolerance<T> + rounding<T>);
      CHECK(distance_from_ones(x) <= 2 * (tolerance<T> + rounding<T>) / 0.399);
    }
  }
}

}  // namespace

TEST_CASE("C: ranks minimize a function whose unknowns they share", "[c][group][minimizer]") {
  check_minimizes<float>();
  check_minimizes<double>();
}

TEST_CASE("C: a callback that fails on one rank ends the minimization on all", "[c][group][minimizer]") {
  for (const int call : {1, 5}) {
    CAPTURE(call);
    std::vector<whilst_status> status(3);
    const auto said = on_ranks(3, [&](int rank, const whilst_group* group) -> std::string {
      called_chain f{chain_of(n, rank, 3), rank == 2 ? call : 0};
      c_solver solver;
      c_report report;
      if (const auto error = make<double>(group, f, "", solver); !error.empty()) return "making: " + error;
      std::vector<double> x(static_cast<std::size_t>(f.own.own()), 0.5);
      const auto at = static_cast<std::size_t>(rank);
      status[at] = whilst_solve(solver, nullptr, 0, x.data(), f.own.own(), &report);
      const std::string ended = status[at] == WHILST_OK ? whilst_report_reason_name(report) : error_of(status[at]);
      f.fails_in = 0;
      x.assign(x.size(), 0.5);
      const std::string later = error_of(whilst_solve(solver, nullptr, 0, x.data(), f.own.own(), nullptr));
      return later.empty() ? ended : "later: " + later;
    });
    CHECK(status == std::vector{WHILST_OK, WHILST_OK, WHILST_CALLBACK_FAILED});
    CHECK_THAT(said[2], contains("whilst_solve: the callback function returned 7"));
    for (const int rank : {0, 1})
      CHECK(said[static_cast<std::size_t>(rank)] == (call == 1 ? "nan_or_infinity" : "cancelled"));
  }
}

TEST_CASE("C: a value that is no number on one rank ends the minimization on all", "[c][group][minimizer]") {
  const auto said = on_ranks(2, [&](int rank, const whilst_group* group) -> std::string {
    called_chain f{chain_of(n, rank, 2), 0, rank == 1};
    c_solver solver;
    c_report report;
    if (const auto error = make<double>(group, f, "", solver); !error.empty()) return error;
    std::vector<double> x(static_cast<std::size_t>(f.own.own()), 0.5);
    if (const auto error = error_of(whilst_solve(solver, nullptr, 0, x.data(), f.own.own(), &report)); !error.empty())
      return error;
    if (x != std::vector<double>(x.size(), 0.5)) return "x has changed";
    return whilst_report_reason_name(report);
  });
  CHECK(said[0] == "nan_or_infinity");
  CHECK(said[1] == "nan_or_infinity");
}

TEST_CASE("C: what one rank gives wrongly for a minimizer is named on all", "[c][group][minimizer]") {
  struct given {
    whilst_number number = WHILST_DOUBLE;
    whilst_memory memory = WHILST_HOST;
    std::int64_t unknowns = 2;
    std::vector<std::int64_t> ghosts = {};
    std::int64_t count = 0;
    whilst_objective function = evaluate<double>;
    const char* options = "";
    double limit = 10;
  };
  const auto check = [](const given& wrong, const std::string& words) {
    CAPTURE(words);
    const auto said = on_ranks(2, [&](int rank, const whilst_group* group) {
      const given mine = rank == 1 ? wrong : given();
      called_chain f{{4, 2 * rank, 2 * rank + 2}};
      c_solver solver;
      const auto error = error_of(whilst_distributed_minimizer_create(group, mine.number, mine.memory, mine.unknowns,
                                                                      mine.ghosts.data(), mine.count, mine.function, &f,
                                                                      mine.options, mine.limit, &solver));
      return static_cast<whilst_solver*>(solver) ? "made" : error;
    });
    CHECK_THAT(said[0], contains(words));
    CHECK_THAT(said[1], contains(words));
  };
  check({.number = static_cast<whilst_number>(7)}, "number is 7");
  check({.number = WHILST_FLOAT}, "rank 1 gives other options than rank 0");
  check({.memory = static_cast<whilst_memory>(3)}, "memory is 3");
  check({.unknowns = -2}, "the rank has -2 unknowns");
  check({.count = -1}, "ghost_count is -1");
  check({.count = 1}, "ghosts is NULL");
  check({.ghosts = {9}, .count = 1}, "ghost 0 is 9");
  check({.ghosts = {3}, .count = 1}, "this rank's own");
  check({.function = nullptr}, "function is NULL");
  check({.options = "method=newton-cg"}, "no method for several ranks called 'newton-cg'");
  check({.options = "transport=pigeons"}, "no transport called 'pigeons'");
  check({.options = "colour=red"}, "no option called 'colour'");
  check({.limit = 0}, "not positive");

  // A wrong x is this rank's affair: the others wait for its next call.
  const auto said = on_ranks(2, [&](int rank, const whilst_group* group) {
    called_chain f{chain_of(n, rank, 2)};
    c_solver solver;
    if (const auto error = make<double>(group, f, "", solver); !error.empty()) return error;
    std::vector<double> x(static_cast<std::size_t>(f.own.own()), 0.5);
    std::string error;
    if (rank == 1) error = error_of(whilst_solve(solver, nullptr, 0, x.data(), f.own.own() - 1, nullptr));
    if (rank == 1) error += error_of(whilst_solve(solver, x.data(), 1, x.data(), f.own.own(), nullptr));
    const auto later = error_of(whilst_solve(solver, nullptr, 0, x.data(), f.own.own(), nullptr));
    return error + later;
  });
  CHECK(said[0] == "");
  CHECK_THAT(said[1], contains("x has 17 entries, and the solver needs 18") && contains("no right-hand side"));
}

}  // namespace whilst_test
