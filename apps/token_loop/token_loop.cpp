#include "token_loop.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/json_file.hpp"
#include "apps/common/program.hpp"
#include "result_text.hpp"
#include "whilst/place_of_executor.hpp"

namespace whilst::token_loop {
namespace {

std::vector<way> ways_of(const std::string& executor, bool on_host) {
  if (on_host) return {way::token_a_launch, way::whole_launch};
  if (executor == "graph") return {way::serial_token_a_launch, way::token_a_launch, way::whole_launch};
  if (executor == "stream") return {way::plain_launches};
  return {way::plain_launches, way::serial_token_a_launch, way::token_a_launch, way::whole_launch};
}

/// reference: the first way's output; null for the first way itself.
measured_way measure(generator& model, way how, const token_loop_options& options, const generated* reference) {
  const auto run = [&] { return model.run(how, options.tokens, options.end_token); };
  measured_way result{how, run(), model.note(how)};
  result.same_bits = !reference || same(result.made, *reference);
  result.made.seconds = HUGE_VAL;  // that run was the warm-up
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    const generated again = run();
    result.same_bits = result.same_bits && same(again, result.made);
    result.made.seconds = std::min(result.made.seconds, again.seconds);
  }
  return result;
}

}  // namespace

bool token_loop_result::same_bits() const {
  return std::all_of(ways.begin(), ways.end(), [](const measured_way& one) { return one.same_bits; });
}
bool token_loop_result::finite() const {
  return std::none_of(ways.begin(), ways.end(),
                      [](const measured_way& one) { return one.made.why == reason::nan_or_infinity; });
}

int run_token_loop(const token_loop_options& options) {
  const command::json_destination json(options.json);
  std::FILE* const out = json.text();
  const place where = place_of_executor(options.executor);
  generator model(where, options.size, options.tokens);
  const std::vector<way> ways = ways_of(options.executor, where.on_host());
  if (options.explain) {
    for (const way how : ways) fmt::print(out, "way '{}': {}\n", name(how), model.program_of(how).explain());
    return command::succeeded;
  }

  token_loop_result result;
  result.executor = where.on_host() ? "host" : "gpu";
  result.steps = model.steps();
  result.read_seconds = model.read_seconds();
  print_problem(out, options, result);
  for (const way how : ways) {
    result.ways.push_back(measure(model, how, options, result.ways.empty() ? nullptr : &result.ways.front().made));
  }
  print_ways(out, options, result);
  if (json.wanted()) json.write(result_json(options, result));
  return result.same_bits() && result.finite() ? command::succeeded : command::not_converged;
}

}  // namespace whilst::token_loop
