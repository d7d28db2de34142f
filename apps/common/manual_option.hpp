#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace whilst::command {

/// An option as manuals and completions need it.
struct manual_option {
  /// "-V", "--version"; empty for a positional.
  std::vector<std::string> names;
  /// "FILE", "cg|bicgstab"; empty for a flag.
  std::string value;
  /// The allowed values, if it takes one of a few.
  std::vector<std::string> choices;
  std::string description;

  bool is_positional() const { return names.empty(); }
  bool takes_file() const { return value.rfind("FILE", 0) == 0; }
};

/// A command's options, positionals included, in declaration order.
std::vector<manual_option> options_of(const CLI::App& command);

}  // namespace whilst::command
