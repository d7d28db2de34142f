#pragma once

#include <CLI/CLI.hpp>

#include "fit.hpp"

namespace whilst::fitting {

/// The command line: what can be given, and what was.
struct arguments {
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;

  CLI::App app;
  fit_options fit;
  bool models = false;
};

}  // namespace whilst::fitting
