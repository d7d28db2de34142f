#pragma once

#include <CLI/CLI.hpp>

#include "fit.hpp"

namespace whilst::fitting {

/// The command line: which options exist, and what was given.
struct arguments {
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;

  CLI::App app;
  fit_options fit;
  bool models = false;
};

}  // namespace whilst::fitting
