#include "result_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace whilst::token_loop {
namespace {

using command::counted;
using command::duration;
using command::json;

constexpr std::size_t tokens_shown = 12;

double gigabytes_a_second(const token_loop_options& options, double seconds_a_token) {
  return 1e-9 * options.size.bytes_a_token() / seconds_a_token;
}

const char* description(way how, bool on_host) {
  switch (how) {
    case way::plain_launches:
      return "plain launches";
    case way::serial_token_a_launch:
      return "one graph a token";
    case way::token_a_launch:
      return on_host ? "one program a token" : "the same, overlapping";
    case way::whole_launch:
      return on_host ? "one program in all" : "one launch in all";
  }
  return "";
}

std::string first_tokens(const std::vector<output>& outputs) {
  std::string text;
  for (std::size_t k = 0; k < std::min(outputs.size(), tokens_shown); ++k) text += fmt::format(" {}", outputs[k].token);
  return text + (outputs.size() > tokens_shown ? " ..." : "");
}

}  // namespace

void print_problem(std::FILE* out, const token_loop_options& options, const token_loop_result& result) {
  const model_size& size = options.size;
  fmt::print(out, "machine      {}\n", command::machine_line(describe_machine(), result.executor));
  fmt::print(out, "model        {}, each with two {} x {} matrices, float; {} a token\n", counted(size.layers, "layer"),
             size.dimension, size.dimension, counted(result.steps, "step"));
  fmt::print(out, "floor        {} a token: {} to read, which a step that does nothing else does at {:.4g} GB/s\n",
             duration(result.read_seconds), command::memory(size.bytes_a_token()),
             gigabytes_a_second(options, result.read_seconds));
  fmt::print(out, "stop         {}, or after {}\n\n",
             options.end_token < 0 ? "no end token" : fmt::format("when token {} is chosen", options.end_token),
             counted(options.tokens, "token"));
  std::fflush(out);
}

void print_ways(std::FILE* out, const token_loop_options& options, const token_loop_result& result) {
  const double seconds_of_last = result.ways.back().seconds_a_token();
  fmt::print(out, "{:<22}{:>8}{:>12}{:>16}{:>10}{:>10}  {}\n", "way", "tokens", "a token", "times the last", "GB/s",
             "of read", "bits");
  for (const measured_way& one : result.ways) {
    const double seconds = one.seconds_a_token();
    fmt::print(out, "{:<22}{:>8}{:>12}{:>16.2f}{:>10.4g}{:>9.1f}%  {}\n",
               description(one.how, result.executor == "host"), one.made.outputs.size(), duration(seconds),
               seconds / seconds_of_last, gigabytes_a_second(options, seconds), 100 * result.read_seconds / seconds,
               one.same_bits ? "the same" : "DIFFERENT");
    if (!one.note.empty()) fmt::print(out, "  {}\n", one.note);
  }
  const generated& made = result.ways.front().made;
  fmt::print(out, "\ntokens      {}\n", first_tokens(made.outputs));
  fmt::print(out, "result       {}: {}\n", name(made.why), sentence(made.why));
}

json result_json(const token_loop_options& options, const token_loop_result& result) {
  json report;
  report["program"] = "token_loop";
  report["version"] = version;
  const measured_at measured = measured_now();
  report["commit"] = measured.commit;
  report["date"] = measured.date;
  report["machine"] = command::machine_json(describe_machine());
  report["executor"] = result.executor;
  report["dimension"] = options.size.dimension;
  report["layers"] = options.size.layers;
  report["most_tokens"] = options.tokens;
  report["end_token"] = options.end_token;
  report["repetitions"] = options.repetitions;
  report["steps_a_token"] = result.steps;
  report["bytes_a_token"] = options.size.bytes_a_token();
  report["read_seconds"] = result.read_seconds;
  report["same_bits"] = result.same_bits();
  json ways = json::array();
  for (const measured_way& one : result.ways) {
    json entry;
    entry["way"] = name(one.how);
    entry["tokens"] = one.made.outputs.size();
    entry["reason"] = std::string(name(one.made.why));
    entry["seconds_a_token"] = one.seconds_a_token();
    entry["gigabytes_a_second"] = gigabytes_a_second(options, one.seconds_a_token());
    entry["same_bits"] = one.same_bits;
    entry["note"] = one.note;
    ways.push_back(entry);
  }
  report["ways"] = ways;
  json tokens = json::array(), values = json::array();
  for (const output& made : result.ways.front().made.outputs) {
    tokens.push_back(made.token);
    values.push_back(made.value);
  }
  report["tokens"] = tokens;
  report["values"] = values;
  return report;
}

}  // namespace whilst::token_loop
