// compiled by nvcc where CUDA is on

/// A walk through recorded programs, a stop a function. Each stop is complete in itself, but for what tools.hpp has:
/// copy what you need. To add one, write its function and a line in stops(), at the end.

#include "tour.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tools.hpp"

namespace whilst::graph_tour {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// ---------------------------------------------------------------------------------------------------------------------
// A step is a map, applied to every index of a range by as many threads as there are, and perhaps a finish, which gets
// the sums of what the map returned, once. Both are structs of pointers and numbers, copied when recorded.

struct scale {
  const double *factor, *x;
  double* y;
  WHILST_HD auto operator()(index_type i) const {
    y[i] = *factor * x[i];
    return sums{y[i]};
  }
};
struct keep_sum {
  double* sum;
  WHILST_HD void operator()(const sums<double, 1>& total) const { *sum = total[0]; }
};

void step_and_parameters(const visitor& v) {
  constexpr index_type n = 1000;
  const buffer<double> x = one_to(v.where, n), y(v.where, n), factor(v.where, 1), sum(v.where, 1);

  program_recorder record(v.where);
  record.step("y = factor x, and its sum", n, scale{factor.data(), x.data(), y.data()}, keep_sum{sum.data()});
  // Each launch writes this value to that address, before the steps.
  const parameter<double> set_factor = record.parameter(factor.data(), 2.0);
  program recorded = finish_and_run(record, v);

  check(values(sum)[0] == n * (n + 1), "the numbers to 1000, doubled, add up to 1000 * 1001");
  recorded.set(set_factor, 3.0);  // nothing is recorded anew
  run(recorded);
  check(values(sum)[0] == 1.5 * n * (n + 1), "with the parameter set to 3, to one and a half of that");
}

// ---------------------------------------------------------------------------------------------------------------------
// A loop has a control in the memory of its place: settings, and the state that finishes work on. A finish that takes
// the state gives the verdict. Under executor graph it is a WHILE node: the device decides, the host is not asked.

/// Heron's method: x = (x + a / x) / 2 tends to the square root of a. The sum is of squared relative changes.
struct improve_roots {
  const double* a;
  double* x;
  WHILST_HD auto operator()(index_type i) const {
    const double next = 0.5 * (x[i] + a[i] / x[i]), change = (next - x[i]) / next;
    x[i] = next;
    return sums{change * change};
  }
};
struct stop_when_small {
  WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
    loop.updating = 1;                // the step was an update, to be counted
    loop.check(std::sqrt(total[0]));  // stops at a tolerance, at the limit, and at what is not finite
  }
};
struct set_to {
  double value;
  double* x;
  WHILST_HD void operator()(index_type i) const { x[i] = value; }
};

/// Run is a recorder here; in a kernel it could be a team runner.
template <class Run>
void record_roots(Run& run, const buffer<double>& a, const buffer<double>& x, const buffer<control>& loop) {
  run.loop(
      "until the roots stay", loop.data(),
      [&](auto& start) {
        start.step("x = 1", x.size(), set_to{1, x.data()});
      },
      [&](auto& body) {
        body.step("x = (x + a / x) / 2", x.size(), improve_roots{a.data(), x.data()}, stop_when_small{});
      });
}
void check_roots(const std::vector<double>& x, double power, double tolerance, const std::string& what) {
  bool all_close = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(static_cast<double>(i + 1), power);
    all_close = all_close && std::abs(x[i] - exact) <= tolerance * exact;
  }
  check(all_close, what);
}

void loop_and_history(const visitor& v) {
  constexpr index_type n = 1000;
  const buffer<double> a = one_to(v.where, n), x(v.where, n);
  const buffer<control> loop(v.where, 1);
  const buffer<history_record> history(v.where, 64);

  program_recorder record(v.where);
  record_roots(record, a, x, loop);
  record.parameter(&loop.data()->settings,
                   control_settings{.limit = 100, .history = history.data(), .history_capacity = history.size()});
  record.parameter(&loop.data()->atol_norm, 1e-8);  // the method converges quadratically: the next change is 1e-16
  program recorded = finish_and_run(record, v);

  const control end = values(loop)[0];
  std::printf("  stopped after %d iterations: %s\n", static_cast<int>(end.iteration),
              std::string(sentence(end.why)).c_str());
  const std::vector<history_record> records = values(history);
  for (std::size_t k = 0; k < static_cast<std::size_t>(end.history_count); ++k)
    std::printf("    iteration %2d: change %.1e\n", static_cast<int>(records[k].iteration), records[k].residual_norm);
  check(end.why == reason::converged_atol && end.history_count == end.iteration, "each iteration left a record");
  check_roots(values(x), 1.0 / 2, 2 * epsilon, "x are the square roots of 1 to 1000");
}

// ---------------------------------------------------------------------------------------------------------------------
// Loops nest. An inner loop is armed anew in each iteration of the outer one.

struct copy {
  const double* from;
  double* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

void nested_loop(const visitor& v) {
  constexpr index_type n = 1000;
  const buffer<double> a = one_to(v.where, n), x(v.where, n);
  const buffer<control> outer(v.where, 1), inner(v.where, 1);

  program_recorder record(v.where);
  record.loop("three times", outer.data(), [&](auto& body) {
    record_roots(body, a, x, inner);
    body.step("a = x", n, copy{x.data(), a.data()}, count_iteration{});  // a finish that only counts
  });
  record.parameter(&outer.data()->settings, control_settings{.limit = 3});
  record.parameter(&inner.data()->settings, control_settings{.limit = 100});
  record.parameter(&inner.data()->atol_norm, 1e-8);
  program recorded = finish_and_run(record, v);
  check(values(outer)[0].iteration == 3, "the outer loop made its three iterations");
  check_roots(values(a), 1.0 / 8, 4 * epsilon, "square roots of square roots of square roots are eighth roots");
}

// ---------------------------------------------------------------------------------------------------------------------
// A branch runs its body if a flag in memory is not 0. Finishes write flags.

struct flag_every_third {
  int* flag;
  WHILST_HD void operator()(loop_state& loop) const { *flag = (loop.iteration + 1) % 3 == 0; }
};
struct add {
  const double* x;
  double* y;
  WHILST_HD void operator()(index_type i) const { y[i] += x[i]; }
};
struct add_one {
  double* x;
  WHILST_HD void operator()(index_type i) const { x[i] += 1; }
};

void branch(const visitor& v) {
  constexpr index_type n = 100;
  const buffer<double> x(v.where, n), y(v.where, n);  // zeros
  const buffer<int> flag(v.where, 1);
  const buffer<control> loop(v.where, 1);

  program_recorder record(v.where);
  record.loop("ten times", loop.data(), [&](auto& body) {
    body.step("x += 1", n, add_one{x.data()});
    body.once("is it a third one?", flag_every_third{flag.data()});  // a finish without a map
    body.branch("every third", flag.data(), [&](auto& third) { third.step("y += x", n, add{x.data(), y.data()}); });
    body.once("count", count_iteration{});
  });
  record.parameter(&loop.data()->settings, control_settings{.limit = 10});
  program recorded = finish_and_run(record, v);
  check(values(y) == std::vector<double>(n, 3 + 6 + 9), "the branch ran in iterations 3, 6 and 9 of 10");
}

// ---------------------------------------------------------------------------------------------------------------------
// A branch may have an else, a select has a body for each value of a number in memory, and bodies that have nothing to
// do with one another may run at once. Maps say what they write, so that a recorder can refuse two bodies that write
// the same.

struct set_choice {
  int* choice;
  WHILST_HD void operator()(loop_state& loop) const { *choice = static_cast<int>(loop.iteration % 4); }
};
struct add_here {
  double* x;
  index_type n;
  WHILST_HD void operator()(index_type i) const { x[i] += 1; }
  auto writes() const { return std::array{memory_range::of(x, n)}; }
};

void choices(const visitor& v) {
  constexpr index_type n = 100;
  const buffer<double> x(v.where, n), y(v.where, n), z(v.where, n);
  const buffer<int> choice(v.where, 1);
  const buffer<control> loop(v.where, 1);

  program_recorder record(v.where);
  record.loop("eight times", loop.data(), [&](auto& body) {
    body.once("which?", set_choice{choice.data()});
    body.select(
        "0 or 1, else nothing", choice.data(),  // there are no bodies 2 and 3
        [&](auto& zero) {
          zero.step("x += 1", n, add_here{x.data(), n});
        },
        [&](auto& one) {
          one.parallel(
              "both at once",
              [&](auto& left) {
                left.step("y += 1", n, add_here{y.data(), n});
              },
              [&](auto& right) {
                right.step("z += 1", n, add_here{z.data(), n});
              });
        });
    body.branch(
        "not 0", choice.data(),
        [&](auto& then) {
          then.step("z += 1", n, add_here{z.data(), n});
        },
        [&](auto& otherwise) {
          otherwise.step("x += 1", n, add_here{x.data(), n});
        });
    body.once("count", count_iteration{});
  });
  record.parameter(&loop.data()->settings, control_settings{.limit = 8});
  program recorded = finish_and_run(record, v);
  check(values(x) == std::vector<double>(n, 2 + 2), "choice 0 came twice, and the else with it");
  check(values(y) == std::vector<double>(n, 2) && values(z) == std::vector<double>(n, 2 + 6),
        "choice 1 came twice, with two bodies side by side");

  std::string refusal;
  program_recorder refused(v.where);
  try {
    refused.parallel(
        "the same",
        [&](auto& left) {
          left.step("here", n, add_here{x.data(), n});
        },
        [&](auto& right) {
          right.step("there", n, add_here{x.data(), n});
        });
  } catch (const error& said) {
    refusal = said.what();
  }
  std::printf("  refused: %s\n", refusal.c_str());
  check(refusal.find("'here'") != std::string::npos, "bodies side by side may not write the same memory");
}

// ---------------------------------------------------------------------------------------------------------------------
// What a step captured can be changed, too, in the instantiated graph as well; and a profile tells where the time goes.

struct add_amount {
  double amount;
  double* x;
  WHILST_HD void operator()(index_type i) const { x[i] += amount; }
  index_type bytes(index_type n) const { return 2 * n * index_type{sizeof(double)}; }  // reads and writes x
};

void update_and_profile(const visitor& v) {
  constexpr index_type n = 100'000;
  buffer<double> x(v.where, n);
  program_recorder record(v.where);
  // What only the program looks at it may as well own: one piece of memory, taken before any body is recorded.
  control* const loop = record.arena([](arena_layout& memory) {
    memory.item("the loop's control");
    return memory.take<control>(1);
  });
  double* const borrowed = record.uses("x", x);  // std::move(x) would make it the program's own
  step_handle<add_amount, no_finish> adding;
  record.loop("ten times", loop, [&](auto& body) { adding = body.step("x += amount", n, add_amount{1, borrowed}); });
  record.parameter(&loop->settings, control_settings{.limit = 10});
  program recorded = finish_and_run(record, v);
  check(values(x) == std::vector<double>(n, 10), "ten times one");
  recorded.update(adding, add_amount{0.5, x.data()});  // nothing is recorded anew
  run(recorded);
  check(values(x) == std::vector<double>(n, 10 + 5), "with the step's own number changed, ten times a half");
  std::printf("%s%s", recorded.profile(nullptr).text().c_str(), recorded.memory().text().c_str());
  check(values(x) == std::vector<double>(n, 10 + 5 + 5), "a profile is a run like another");
}

// ---------------------------------------------------------------------------------------------------------------------
// A loop can yield to the host for what only the host can do, and go on where it was.

constexpr int list_is_full = 1;
struct append {
  double* list;
  index_type* count;
  const index_type* capacity;
  WHILST_HD void operator()(loop_state& loop) const {
    if (*count == *capacity) {
      loop.yield(list_is_full);
      return;
    }
    list[(*count)++] = static_cast<double>(loop.iteration);
    count_iteration{}(loop);
  }
};

void yield_and_resume(const visitor& v) {
  const buffer<double> list(v.where, 100);
  const buffer<index_type> count(v.where, 1);
  const buffer<control> loop(v.where, 1);
  program_recorder record(v.where);
  // A parameter without an address has memory of the program's.
  const parameter<index_type> capacity = record.parameter<index_type>("capacity", 20);
  record.loop("append", loop.data(), [&](auto& body) {
    body.once("one more", append{list.data(), count.data(), capacity.get()});
  });
  record.parameter(&loop.data()->settings, control_settings{.limit = 50});
  program recorded = finish_and_run(record, v);
  const control yielded = values(loop)[0];
  std::printf("  after %d iterations: %s\n", static_cast<int>(yielded.iteration),
              std::string(sentence(yielded.why)).c_str());
  check(recorded.yielded() && yielded.yield_code == list_is_full, "the loop yielded, and says what for");
  recorded.set("capacity", index_type{100});
  recorded.resume(nullptr);
  recorded.wait();
  check(values(loop)[0].iteration == 50 && values(count)[0] == 50 && values(list)[49] == 49,
        "it went on from there, to its limit");
}

// ---------------------------------------------------------------------------------------------------------------------
// A loop can be looked at while it runs: its control is memory, and a buffer's download waits for no launch. Under
// executor graph enqueue() returns at once; under host and stream all is done when it returns.

void progress_and_deadline(const visitor& v) {
  const buffer<double> x(v.where, 100);
  const buffer<control> loop(v.where, 1);
  program_recorder record(v.where);
  record.loop("without end", loop.data(), [&](auto& body) { body.step("x += 1", x.size(), add_one{x.data()}); });
  record.parameter(&loop.data()->settings,
                   control_settings{.limit = index_type{1} << 50, .deadline_nanoseconds = 20'000'000});
  program recorded = std::move(record).finish();
  recorded.prepare({.how = v.how});
  recorded.enqueue(nullptr);
  index_type seen = 0;
  bool never_back = true;
  for (int look = 0; look < 3; ++look) {
    const control now = values(loop)[0];
    std::printf("  %s iteration %lld\n", now.running ? "running," : "not running,",
                static_cast<long long>(now.iteration));
    never_back = never_back && now.iteration >= seen;
    seen = now.iteration;
  }
  recorded.wait();
  const control end = values(loop)[0];
  check(end.why == reason::deadline, "a deadline of 20 ms ended a loop that has no end of its own");
  check(never_back && end.iteration >= seen && values(x)[0] == static_cast<double>(end.iteration),
        "x counts the iterations that the control has");
}

// ---------------------------------------------------------------------------------------------------------------------
// What was recorded can be read: explain() for persons, dot() for Graphviz.

void explain_and_dot(const visitor& v) {
  const buffer<double> a = one_to(v.where, 1000), x(v.where, 1000);
  const buffer<control> loop(v.where, 1);
  program_recorder record(v.where);
  record_roots(record, a, x, loop);
  program recorded = std::move(record).finish();
  recorded.prepare({.how = v.how});
  const std::string explained = recorded.explain(), drawn = recorded.dot();
  std::printf("%s%s", explained.c_str(), drawn.c_str());
  check(explained.find("loop 'until the roots stay'") != std::string::npos && drawn.rfind("digraph", 0) == 0,
        "both name what was recorded");
}

}  // namespace

const std::vector<stop>& stops() {
  static const std::vector<stop> all{
      {"step", "a step with a sum; a parameter, set anew without recording anew", step_and_parameters},
      {"loop", "a loop until a tolerance, and its history", loop_and_history},
      {"nested", "a loop within a loop", nested_loop},
      {"branch", "a branch that runs in some iterations", branch},
      {"choices", "an else, a choice among bodies, bodies side by side", choices},
      {"update", "other members for a recorded step; a profile", update_and_profile},
      {"resume", "a loop that yields to the host, and goes on", yield_and_resume},
      {"progress", "how far a running loop is, and a deadline", progress_and_deadline},
      {"explain", "a program as text and as a picture's source", explain_and_dot},
  };
  return all;
}

}  // namespace whilst::graph_tour
