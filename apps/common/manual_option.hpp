#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace whilst::command {

/// An option as manuals and completions need it.
struct manual_option {
  /// "-V", "--version"; none of a positional.
  std::vector<std::string> names;
  /// "FILE", "cg|bicgstab"; empty for a flag.
  std::string value;
  /// Where the value is one of these.
  std::vector<std::string> choices;
  std::string description;

  bool is_positional() const { return names.empty(); }
  bool takes_file() const { return value.rfind("FILE", 0) == 0; }
};

/// The options of a command, positionals included, in the order in which they were declared.
std::vector<manual_option> options_of(const CLI::App& command);

}  // namespace whilst::command
