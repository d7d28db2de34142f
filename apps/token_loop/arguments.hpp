#pragma once

#include <CLI/CLI.hpp>

#include "token_loop.hpp"

namespace whilst::token_loop {

/// The command line: what can be given, and what was.
struct arguments {
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;

  /// What was given, with what follows from it for the rest. Throws whilst::error where options do not fit one another.
  token_loop_options options() const;

  CLI::App app;

 private:
  token_loop_options given_;
};

}  // namespace whilst::token_loop
