#include "whilst/files/options_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <type_traits>
#include <vector>

#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

constexpr std::string_view reading = "reading options";

/// The options that all solvers share.
template <class Options, class Visit>
void each_common_field(Options& options, const Visit& visit) {
  visit("method", options.method);
  visit("max_iterations", options.max_iterations);
  visit("deadline", options.deadline);
  visit("executor", options.executor);
  visit("unroll", options.unroll);
  visit("programmatic_launch", options.programmatic_launch);
  visit("history_capacity", options.history_capacity);
  visit("threads", options.threads);
  visit("check_pointers", options.check_pointers);
}

template <class Visit>
void each_setting_of(const preconditioner_description& one, linear_solver_options& options, const Visit& visit) {
  for (const preconditioner_setting& setting : one.settings(options)) {
    const std::string key = std::string(one.prefix) + "_" + std::string(setting.name);
    std::visit([&](auto* value) { visit(key, *value); }, setting.value);
  }
}
/// Preconditioners may share settings.
template <class Visit>
void each_preconditioner_setting(linear_solver_options& options, const Visit& visit) {
  std::set<std::string> keys;
  for (const preconditioner_description* const one : preconditioner_table())
    each_setting_of(*one, options, [&](const std::string& key, auto& value) {
      if (keys.insert(key).second) visit(key, value);
    });
}

template <class Visit, class Options>
requires std::is_same_v<Options, linear_solver_options>
void each_field(Options& options, const Visit& visit) {
  each_common_field(options, visit);
  visit("preconditioner", options.preconditioner);
  each_preconditioner_setting(options, visit);
  visit("deflation", options.deflation);
  visit("null_space", options.null_space);
  visit("null_space_vectors", options.null_space_vectors);
  visit("format", options.format);
  visit("scaling", options.scaling);
  visit("permutation", options.permutation);
  visit("matrix_values", options.matrix_values);
  visit("rtol", options.rtol);
  visit("atol", options.atol);
  visit("dtol", options.dtol);
  visit("restart", options.restart);
  visit("shadow_dimension", options.shadow_dimension);
  visit("polynomial_degree", options.polynomial_degree);
  visit("least_eigenvalue", options.least_eigenvalue);
  visit("greatest_eigenvalue", options.greatest_eigenvalue);
  visit("lanczos_steps", options.lanczos_steps);
  visit("keep_best", options.keep_best);
  visit("callback_memory", options.callback_memory);
  visit("transport", options.transport);
  visit("device", options.device);
}

/// Settings of amg among options of another kind.
template <class Visit>
void each_amg_setting(amg_options& amg, const Visit& visit) {
  linear_solver_options of_amg;
  of_amg.amg = amg;
  each_setting_of(amg_description(), of_amg, visit);
  amg = of_amg.amg;
}

template <class Visit, class Options>
requires std::is_same_v<Options, eigenvalue_options>
void each_field(Options& options, const Visit& visit) {
  each_common_field(options, visit);
  visit("count", options.count);
  visit("which", options.which);
  visit("preconditioner", options.preconditioner);
  each_amg_setting(options.amg, visit);
  visit("block_columns", options.block_columns);
  visit("rtol", options.rtol);
  visit("device", options.device);
}

template <class Visit, class Options>
requires std::is_same_v<Options, minimizer_options>
void each_field(Options& options, const Visit& visit) {
  each_common_field(options, visit);
  visit("line_search", options.line_search);
  visit("gradient", options.tolerances.gradient);
  visit("relative_gradient", options.tolerances.relative_gradient);
  visit("step", options.tolerances.step);
  visit("function", options.tolerances.function);
  visit("max_evaluations", options.max_evaluations);
  visit("lower_bound", options.lower_bound);
  visit("hessian", options.hessian);
  visit("preconditioner", options.preconditioner);
  each_amg_setting(options.amg, visit);
  visit("typical_point", options.typical_point);
  visit("damping", options.damping);
  visit("first_damping", options.first_damping);
  visit("transport", options.transport);
}

template <class Visit, class Options>
requires std::is_same_v<Options, nonlinear_solver_options>
void each_field(Options& options, const Visit& visit) {
  each_common_field(options, visit);
  visit("atol", options.tolerances.atol);
  visit("rtol", options.tolerances.rtol);
  visit("step", options.tolerances.step);
  visit("max_evaluations", options.max_evaluations);
  visit("max_inner_iterations", options.max_inner_iterations);
  visit("depth", options.depth);
  visit("mixing", options.mixing);
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

void read(std::string_view, std::string_view text, std::string& into) { into = text; }
void read(std::string_view key, std::string_view text, bool& into) {
  if (text != "true" && text != "false")
    throw error(reading, std::string(key) + " is " + quoted(text), "Give true or false");
  into = text == "true";
}
template <class Number>
void read(std::string_view key, std::string_view text, Number& into) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    throw error(reading, std::string(key) + " is " + quoted(text),
                std::is_integral_v<Number> ? "Give a whole number, as 100" : "Give a number, as 1e-8 or inf");
  into = value;
}

/// Numbers with spaces between.
template <class Number>
void read(std::string_view key, std::string_view text, std::vector<Number>& into) {
  into.clear();
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (space > 0) read(key, text.substr(0, space), into.emplace_back());
    text.remove_prefix(std::min(space + 1, text.size()));
  }
}

std::string written(const std::string& value) { return value; }
std::string written(bool value) { return value ? "true" : "false"; }
template <class Number>
std::string written(Number value) {
  std::array<char, 64> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

template <class Number>
std::string written(const std::vector<Number>& value) {
  std::string text;
  for (const Number number : value) text.append(text.empty() ? "" : " ").append(written(number));
  return text;
}

/// Settings after a preconditioner's name have commas, as options do: they become options of their own.
template <class Options>
Options without_commas(const Options& options) {
  return options;
}
linear_solver_options without_commas(const linear_solver_options& options) {
  if (!is_preconditioner_in_parts(options) || options.preconditioner.find(',') == std::string::npos) return options;
  return chosen_preconditioner("writing options", options).options;
}

/// Of options whose preconditioner has settings of amg alone.
template <class Options>
requires requires(Options options) {
  options.amg;
} &&(!std::is_same_v<Options, linear_solver_options>)Options without_commas(const Options& options) {
  linear_solver_options named;
  named.preconditioner = options.preconditioner;
  named.amg = options.amg;
  const linear_solver_options apart = without_commas(named);
  Options changed = options;
  changed.preconditioner = apart.preconditioner;
  changed.amg = apart.amg;
  return changed;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(spaces);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

template <class Options>
void read_option(std::string_view key, std::string_view value, Options& options) {
  bool known = false;
  std::string all;
  each_field(options, [&](std::string_view name, auto& field) {
    all.append(all.empty() ? "" : ", ").append(name);
    if (name != key) return;
    known = true;
    read(key, value, field);
  });
  if (!known) throw error(reading, "there is no option called " + quoted(key), "Use " + all);
}

}  // namespace

template <class Options>
Options options_from_string(std::string_view text) {
  return options_from_string(text, Options());
}

template <class Options>
Options options_from_string(std::string_view text, Options options) {
  std::set<std::string_view> given;
  for (std::string_view rest = trimmed(text); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = trimmed(rest.substr(0, comma));
    const std::size_t sign = item.find('=');
    if (sign == item.npos) throw error(reading, quoted(item) + " is no option", "Write key=value, with commas between");
    const std::string_view key = trimmed(item.substr(0, sign));
    read_option(key, trimmed(item.substr(sign + 1)), options);
    if (!given.insert(key).second) throw error(reading, std::string(key) + " is given twice", "Give it once");
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
    if (trimmed(rest).empty()) throw error(reading, "there is nothing after the last comma", "Leave that comma out");
  }
  return options;
}

template <class Options>
std::string options_to_string(const Options& given) {
  Options options = without_commas(given);
  std::string text;
  each_field(options, [&](std::string_view name, const auto& field) {
    text.append(text.empty() ? "" : ",").append(name).append("=").append(written(field));
  });
  return text;
}

template linear_solver_options options_from_string(std::string_view);
template linear_solver_options options_from_string(std::string_view, linear_solver_options);
template eigenvalue_options options_from_string(std::string_view);
template eigenvalue_options options_from_string(std::string_view, eigenvalue_options);
template minimizer_options options_from_string(std::string_view);
template minimizer_options options_from_string(std::string_view, minimizer_options);
template nonlinear_solver_options options_from_string(std::string_view);
template nonlinear_solver_options options_from_string(std::string_view, nonlinear_solver_options);
template std::string options_to_string(const linear_solver_options&);
template std::string options_to_string(const eigenvalue_options&);
template std::string options_to_string(const minimizer_options&);
template std::string options_to_string(const nonlinear_solver_options&);

}  // namespace whilst
