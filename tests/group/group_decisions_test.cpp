// What ranks decide by must be the same on all: a recording that would let them part is refused.
#include <array>
#include <functional>
#include <string>

#include "solvers/host/run_now.hpp"
#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/group_recorder.hpp"

namespace {

using whilst::index_type;
using whilst::loop_state;
using whilst::memory_range;

struct memory_of_rank {
  whilst::control outer{}, inner{};
  double own = 0, total = 0;  ///< this rank's, and the group's
  int own_flag = 0, flag = 0;
};

struct give_own {
  const double* own;
  WHILST_HD whilst::sums<double, 1> operator()(index_type) const { return {*own}; }
};
/// Halves this rank's number.
struct halve_own {
  double* own;
  WHILST_HD void operator()(index_type) const { *own /= 2; }
};
struct judge_total {
  memory_of_rank* m;
  WHILST_HD void operator()(const whilst::sums<double, 1>& sum, loop_state& loop) const {
    m->total = sum[0];
    m->flag = sum[0] > 3;
    loop.check(sum[0]);
  }
  auto writes() const { return std::array{memory_range::of(&m->flag, 1)}; }
};
/// The mistake: a verdict by this rank's number.
struct judge_own {
  const memory_of_rank* m;
  WHILST_HD void operator()(loop_state& loop) const { loop.check(m->own); }
};
/// The same text with the total, which it promises.
struct judge_kept_total {
  const memory_of_rank* m;
  static constexpr bool follows_from_totals = true;
  WHILST_HD void operator()(loop_state& loop) const { loop.check(m->total); }
};
struct keep_decision {
  memory_of_rank* m;
  WHILST_HD void operator()(const whilst::sums<double, 1>& sum) const {
    m->total = sum[0];
    m->flag = sum[0] > 3;
  }
  auto writes() const { return std::array{memory_range::of(&m->flag, 1)}; }
};
/// Without a word of it.
struct keep_silently {
  memory_of_rank* m;
  WHILST_HD void operator()(const whilst::sums<double, 1>& sum) const { m->flag = sum[0] > 3; }
};
/// A branch by this rank's number: as a finish, or as a map.
struct decide_alone {
  memory_of_rank* m;
  WHILST_HD void operator()() const { m->flag = m->own > 1; }
  WHILST_HD void operator()(index_type) const { m->flag = m->own > 1; }
  auto writes() const { return std::array{memory_range::of(&m->flag, 1)}; }
};
struct decide_alone_by_map : decide_alone {
  using decide_alone::operator();
  WHILST_HD void operator()(index_type) const { m->flag = m->own > 1; }
};
/// Stops the loop by its control.
struct stop_by_map {
  whilst::control* loop;
  WHILST_HD void operator()(index_type) const { loop->stop(whilst::reason::completed); }
  auto writes() const { return std::array{memory_range::of(loop, 1)}; }
};
struct add_one {
  double* to;
  WHILST_HD void operator()() const { *to += 1; }
};

/// What recording throws on one rank; empty if nothing.
std::string refusal(const std::function<void(whilst::group_recorder&, memory_of_rank&)>& body) {
  const whilst::place where = whilst::place::host();
  const whilst::exchange exchange(whilst::group(), where, 10);
  memory_of_rank m;
  whilst::program_recorder record(where);
  whilst::group_recorder run(record, exchange.of_steps());
  try {
    body(run, m);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return {};
}
/// The same in the body of a group's loop.
std::string refusal_in_loop(const std::function<void(whilst::group_recorder&, memory_of_rank&)>& body) {
  return refusal([&](whilst::group_recorder& run, memory_of_rank& m) {
    run.loop("search", &m.outer, [&](auto& inner) { body(inner, m); });
  });
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a verdict by data that were not added up is refused, with the step and the cure", "[group]") {
  const std::string told = refusal_in_loop([](auto& run, auto& m) {
    run.step("halve", 1, halve_own{&m.own});
    run.once("judge alone", judge_own{&m});
  });
  INFO(told);
  CHECK(has(told, "recording step 'judge alone' of a group"));
  CHECK(has(told, "gets no sums"));
  CHECK(has(told, "follows_from_totals"));
  // As the finish of a step that has indices, in `start`, and in a loop within.
  CHECK(has(refusal_in_loop([](auto& run, auto& m) { run.step("halve", 1, halve_own{&m.own}, judge_own{&m}); }),
            "recording step 'halve' of a group"));
  CHECK(has(refusal([](auto& run, auto& m) {
              run.loop(
                  "search", &m.outer, [&](auto& start) { start.once("judge the start", judge_own{&m}); },
                  [&](auto& inner) { inner.step("give", 1, give_own{&m.own}, judge_total{&m}); });
            }),
            "recording step 'judge the start' of a group"));
  CHECK(has(refusal_in_loop([](auto& run, auto& m) {
              run.loop("within", &m.inner, [&](auto& inner) { inner.once("judge alone", judge_own{&m}); });
            }),
            "recording step 'judge alone' of a group"));
  // By a map, as far as it says so.
  CHECK(has(refusal_in_loop([](auto& run, auto& m) { run.step("stop", 1, stop_by_map{&m.outer}); }),
            "recording loop 'search' of a group: step 'stop' writes what it decides by"));
  CHECK(has(refusal_in_loop(
                [](auto& run, auto& m) { static_cast<whilst::recorder&>(run).step("stop", 1, stop_by_map{&m.outer}); }),
            "step 'stop' writes what it decides by"));
}

TEST_CASE("a rank's own recorder gives no verdict on a loop of the group", "[group]") {
  const auto own = [](whilst::group_recorder& run) -> whilst::recorder& { return run; };
  const std::string told = refusal_in_loop([&](auto& run, auto& m) { own(run).once("judge alone", judge_own{&m}); });
  INFO(told);
  CHECK(has(told, "recording step 'judge alone'"));
  CHECK(has(told, "this rank records it by itself"));
  CHECK(has(told, "a loop of the rank's own"));
  // Nor by promises, nor from a branch; by sums of its own as little.
  for (const std::string& also :
       {refusal_in_loop([&](auto&run, auto&m) { own(run).once("judge alone", judge_kept_total{&m}); }),
        refusal_in_loop([&](auto&run, auto&m) {
          own(run).branch("own", &m.own_flag,
                          [&](auto& inner) { inner.step("give", 1, give_own{&m.own}, judge_total{&m}); });
        })})
    CHECK(has(also, "this rank records it by itself"));
  // A loop of its own is its own affair, also one around which the group goes on.
  CHECK(refusal_in_loop([&](auto& run, auto& m) {
          own(run).loop("own", &m.inner, [&](auto& inner) { inner.once("judge", judge_own{&m}); });
          run.step("give", 1, give_own{&m.own}, judge_total{&m});
        }).empty());
  CHECK(has(refusal_in_loop([&](auto& run, auto& m) {
              own(run).loop("own", &m.inner, [&](auto& inner) { inner.once("judge", judge_own{&m}); });
              own(run).once("judge the group's", judge_own{&m});
            }),
            "recording step 'judge the group's'"));
}

TEST_CASE("a step of the group in a body of the rank's own is refused", "[group]") {
  const std::string told = refusal_in_loop([](auto& run, auto& m) {
    static_cast<whilst::recorder&>(run).branch("own", &m.own_flag,
                                               [&](auto&) { run.step("give", 1, give_own{&m.own}, judge_total{&m}); });
  });
  INFO(told);
  CHECK(has(told, "recording 'give' of a group"));
  CHECK(has(told, "other ranks may not run theirs"));
  for (const std::string& also :
       {refusal([](auto&run, auto&m) {
          static_cast<whilst::recorder&>(run).branch("own", &m.own_flag, [&](auto&) {
            run.loop("search", &m.inner,
                     [&](auto& inner) { inner.step("give", 1, give_own{&m.own}, judge_total{&m}); });
          });
        }),
        refusal([](auto&run, auto&m) {
          static_cast<whilst::recorder&>(run).branch(
              "own", &m.own_flag, [&](whilst::recorder& inner) { whilst::group_recorder again(inner, run.ranks()); });
        })})
    CHECK(has(also, "other ranks may not run theirs"));
}

TEST_CASE("a branch of the group by a flag that its sums did not set is refused", "[group]") {
  const auto halve = [](auto& m) { return [&](auto& inner) { inner.step("halve", 1, halve_own{&m.own}); }; };
  const std::string told = refusal_in_loop([&](auto& run, auto& m) {
    run.step("give", 1, give_own{&m.own}, keep_decision{&m});
    run.branch("another", &m.own_flag, halve(m));
  });
  INFO(told);
  CHECK(has(told, "recording branch 'another' of a group"));
  CHECK(has(told, "auto writes() const"));
  CHECK(has(refusal_in_loop([&](auto& run, auto& m) {
              run.step("give", 1, give_own{&m.own}, keep_silently{&m});
              run.select("which", &m.flag, halve(m), halve(m));
            }),
            "recording select 'which' of a group: no step"));
  // Set by the sums, and then by a rank: before the branch or after it, by the group's recorder or the rank's own.
  const auto by_rank = [&](bool before, const std::function<void(whilst::group_recorder&, memory_of_rank&)>& writes) {
    return refusal_in_loop([&](auto& run, auto& m) {
      run.step("give", 1, give_own{&m.own}, keep_decision{&m});
      if (before) writes(run, m);
      run.branch("another", &m.flag, halve(m));
      if (!before) writes(run, m);
    });
  };
  for (const bool before : {true, false}) {
    const std::string expected = "recording branch 'another' of a group: step 'alone' writes what it decides by";
    CHECK(has(by_rank(before, [](auto& run, auto& m) { run.once("alone", decide_alone{&m}); }), expected));
    CHECK(has(by_rank(before, [](auto& run, auto& m) { run.step("alone", 1, decide_alone_by_map{{&m}}); }), expected));
    CHECK(has(by_rank(before,
                      [](auto& run, auto& m) { static_cast<whilst::recorder&>(run).once("alone", decide_alone{&m}); }),
              expected));
  }
  // What a branch needs: also where the finish takes the loop.
  for (const bool takes_loop : {false, true})
    CHECK(refusal_in_loop([&](auto& run, auto& m) {
            if (takes_loop) {
              run.step("give", 1, give_own{&m.own}, judge_total{&m});
            } else {
              run.step("give", 1, give_own{&m.own}, keep_decision{&m});
            }
            run.branch("another", &m.flag, halve(m), halve(m));
            run.select("which", &m.flag, halve(m));
          }).empty());
}

// Rank q begins with 2^q and halves it in each iteration: alone they would end in different ones. By the total all end
// where 2^ranks - 1 halvings are at most 1/8, and those above 3 take the branch.
TEST_CASE("ranks that decide by totals end together", "[group]") {
  constexpr int size = 3;
  CHECK(whilst_test::on_ranks(size, [&](const whilst::group& ranks) {
          for (const bool promises : {false, true}) {
            const whilst::place where = whilst::place::host();
            const whilst::exchange exchange(ranks, where, 10);
            memory_of_rank m;
            m.own = 1 << ranks.rank();
            m.outer.settings.limit = 100;
            m.outer.atol_norm = 0.125;
            double branched = 0;
            whilst::program_recorder record(where);
            whilst::group_recorder run(record, exchange.of_steps());
            run.loop("search", &m.outer, [&](auto& inner) {
              if (promises) {
                inner.step("give", 1, give_own{&m.own}, keep_decision{&m});
                inner.once("judge", judge_kept_total{&m});
              } else {
                inner.step("give", 1, give_own{&m.own}, judge_total{&m});
              }
              inner.step("halve", 1, halve_own{&m.own});
              inner.branch("large", &m.flag, [&](auto& large) { large.once("count", add_one{&branched}); });
            });
            whilst::run_now(std::move(record).finish(), where);
            // 7, 3.5, 1.75, ..., 7 / 64.
            if (m.outer.iteration != 6 || branched != 2 || m.outer.why != whilst::reason::converged_atol)
              throw std::runtime_error("iterations: " + std::to_string(m.outer.iteration) +
                                       ", branched: " + std::to_string(branched));
          }
        }) == whilst_test::nothing(size));
}
