#pragma once

// Runs a method by every executor of this machine, recorded and within a kernel.

#include <memory>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/engine/steps/resident.hpp"

namespace whilst_test {

/// How a method gets to run: recorded, or whole in a kernel by one team.
enum class form { recorded, by_block, by_warp, by_thread };

inline const char* name(form f) {
  return f == form::recorded   ? "recorded"
         : f == form::by_block ? "in a kernel, by a block"
         : f == form::by_warp  ? "in a kernel, by a warp"
                               : "in a kernel, by a thread";
}

/// Hands out the one problem there is.
template <class Method>
struct only_problem {
  Method method;
  template <class Team>
  WHILST_HD Method operator()(index_type, const Team&) const {
    return method;
  }
};

template <class Method>
void record_as(form f, whilst::recorder& record, const Method& method, int threads = 64) {
  if (f == form::recorded) {
    method(record);
  } else if (f == form::by_block) {
    record.team("in a kernel", 1, whilst::problems_by_block<only_problem<Method>>{{method}, threads});
  } else {
    record.step("in a kernel", 1,
                whilst::problems_by_lanes<only_problem<Method>>{{method}, f == form::by_warp ? 32 : 1});
  }
}

/// Calls use(place, make_run) for every executor, form and unroll. make_run(method) gives a function that runs the
/// method once. `special` has what is not to be as usual.
template <class Use>
void for_each_run(const Use& use, const whilst::run_settings& special = {}) {
  for (const way& w : ways()) {
    for (const form f : {form::recorded, form::by_block, form::by_warp, form::by_thread}) {
      for (const int unroll : {1, 3, 16}) {
        if (f != form::recorded && unroll > 1) continue;
        INFO(w.name << ", " << name(f) << ", unroll " << unroll);
        use(w.where, [&](const auto& method) {
          whilst::program_recorder record(w.where);
          record_as(f, record, method);
          auto program = std::make_shared<whilst::program>(std::move(record).finish());
          whilst::run_settings settings = special;
          settings.how = w.how;
          settings.unroll = unroll;
          program->prepare(settings);
          return [program] { run(*program); };
        });
      }
    }
  }
}

}  // namespace whilst_test
