#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "command.hpp"
#include "eigen.hpp"
#include "equations.hpp"
#include "minimize.hpp"

namespace whilst::command {

/// What was requested: the subcommand that CLI11 found, and its options.
struct arguments {
  CLI::App app;
  CLI::App *solve, *compare, *eigen, *minimize, *equations, *gallery, *info, *completion, *man;
  solve_options solving, comparing;
  eigen_options finding_pairs;
  minimize_options minimizing;
  equations_options solving_equations;
  gallery_options gallery_wanted;
  /// Empty: human-readable text.
  std::string info_json;
  bool info_methods = false;
  std::string shell;

  /// Declares every option; app.parse fills them in.
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;
};

}  // namespace whilst::command
