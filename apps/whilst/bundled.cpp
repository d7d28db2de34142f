#include "bundled.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <string_view>

#include "apps/common/command_line.hpp"
#include "apps/common/text.hpp"
#include "whilst/error.hpp"
#include "whilst/machine.hpp"

namespace whilst::command {

name_and_size parse_problem(const std::string& command, const std::string& what, const std::string& given,
                            const std::string& example) {
  if (given.empty()) throw error(command, "there is no " + what, "Name one; " + command + " --list has the names");
  const std::size_t colon = given.find(':');
  index_type n = 0;
  if (colon != std::string::npos && (!parsed(std::string_view(given).substr(colon + 1), n) || n < 1))
    throw error(command + " " + given, "the size is not a whole number above 0", "Give NAME or NAME:N, as " + example);
  return {given.substr(0, colon), n};
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  for (const std::string& known : names) {
    if (name == known) return true;
  }
  return false;
}

void require_method(const std::string& command, const std::string& option, const std::string& method,
                    const std::vector<std::string>& methods) {
  if (is_one_of(method, methods)) return;
  throw error(command, option + " is of no effect with --method " + method,
              fmt::format("Leave it out, or use --method {}", fmt::join(methods, ", ")));
}

bundled_files::bundled_files(const bundled_options& options)
    : output("--output", options.output),
      history("--history", options.history),
      plot("--plot", options.plot),
      report(options.json, {&output, &history, &plot}, options.quiet) {
  require_different_files({}, {&output, &history, &plot, &report.file()});
}

void print_line(const std::string& line) {
  fmt::print("{}\n", std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
}

void print_start(std::FILE* out, const bundled_options& options, const std::string& executor) {
  fmt::print(out, "start        {}the standard one\n",
             options.start_factor == 1 ? "" : fmt::format("{:g} x ", options.start_factor));
  fmt::print(out, "machine      {}\n", machine_line(describe_machine(options.device), executor));
}

void print_solver(std::FILE* out, const std::string& method, const std::vector<convergence_test>& tests,
                  index_type max_iterations, double deadline) {
  std::string until;
  for (const auto& [tolerance, test, of] : tests) {
    if (tolerance > 0) until += fmt::format("{}{} {:g}{}", until.empty() ? "" : " or ", test, tolerance, of);
  }
  fmt::print(out, "solver       {}, until {}, at most {} iterations", method,
             until.empty() ? "rounding stops it" : until, max_iterations);
  if (std::isfinite(deadline)) fmt::print(out, " and {}", duration(deadline));
  fmt::print(out, "\n");
}

void print_executor(std::FILE* out, const std::string& executor, const std::string& asked_for) {
  fmt::print(out, "executor     {}{}\n", executor, executor == asked_for ? "" : " (asked for: " + asked_for + ")");
}

std::vector<double> start_of(std::vector<double> standard, const bundled_options& options) {
  for (double& entry : standard) entry *= options.start_factor;
  return standard;
}

void print_history(std::FILE* out, const std::vector<descent_record>& records, const history_words& words) {
  const auto value = [&](const auto& text) { return words.has_values ? fmt::format("{:>16}  ", text) : ""; };
  fmt::print(out, "\n{:>12}  {}{:>13}  {:>13}  {:>11}\n", "iteration", value("f"), words.norm, "||step||",
             "evaluations");
  for (const descent_record& record : records)
    fmt::print(out, "{:>12}  {}{:>13.6e}  {:>13.6e}  {:>11}\n", record.iteration,
               value(fmt::format("{:.9e}", record.value)), record.gradient_norm, record.step_length,
               record.evaluations);
  fmt::print(out, "\n");
}

std::string records_csv(const std::vector<descent_record>& records, const history_words& words) {
  std::string text =
      fmt::format("iteration,{}{},step_length,evaluations\n", words.has_values ? "value," : "", words.norm_column);
  for (const descent_record& record : records)
    fmt::format_to(std::back_inserter(text), "{},{}{},{},{}\n", record.iteration,
                   words.has_values ? fmt::format("{},", record.value) : "", record.gradient_norm, record.step_length,
                   record.evaluations);
  return text;
}

json records_json(const std::vector<descent_record>& records, const history_words& words) {
  const std::string norms = std::string(words.norm_column) + "s";
  json history;
  history["iterations"] = json::array();
  if (words.has_values) history["values"] = json::array();
  for (const std::string& column : {norms, std::string("step_lengths"), std::string("evaluations")})
    history[column] = json::array();
  for (const descent_record& record : records) {
    history["iterations"].push_back(record.iteration);
    if (words.has_values) history["values"].push_back(record.value);
    history[norms].push_back(record.gradient_norm);
    history["step_lengths"].push_back(record.step_length);
    history["evaluations"].push_back(record.evaluations);
  }
  return history;
}

}  // namespace whilst::command
