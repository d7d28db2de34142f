#pragma once

#include <fmt/format.h>

#include <charconv>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "whilst/basics/index_type.hpp"

/// Options checked while parsing, with messages that say what is accepted.
namespace whilst::command {

/// Fills in the options. Returns the exit status if the program is then done, as after --help or --version. Throws
/// whilst::error that names the help to read.
std::optional<int> parse_command_line(CLI::App& app, int argument_count, char** argument_values);

/// Whether the whole text is a number that its type can hold, and which.
template <class Number>
bool parsed(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc() && rest == end;
}

/// --version, which includes the commit.
void add_version(CLI::App& app);

/// A number that `fits`; `wanted` describes what does, with an example. type: its name in the help.
template <class Number, class Fits>
CLI::Validator number(const char* type, Fits fits, std::string wanted) {
  return {[fits, wanted = std::move(wanted)](std::string& text) -> std::string {
            Number value{};
            if (parsed(text, value) && fits(value)) return {};
            return fmt::format("\"{}\" will not do; give {}", text, wanted);
          },
          type};
}

CLI::Validator whole_number(index_type least, index_type most, const char* example);
CLI::Validator one_of(std::vector<std::string> names);
/// All commands of a program, whether given or not.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// A path that must not be empty, which CLI11 would accept.
CLI::Validator not_empty();

/// Adds an option with a check, whose description replaces the type: the help says "cg|bicgstab" and not
/// "TEXT:cg|bicgstab".
template <class Value>
CLI::Option* add(CLI::App* to, const std::string& name, Value& value, const std::string& help, CLI::Validator check) {
  const std::string type = check.get_description();
  return to->add_option(name, value, help)->check(check.description(""))->type_name(type);
}

/// --threads of the host executor; 0 chooses.
void add_threads(CLI::App* to, int& threads);

}  // namespace whilst::command
