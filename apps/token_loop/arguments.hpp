#pragma once

#include <CLI/CLI.hpp>

#include "token_loop.hpp"

namespace whilst::token_loop {

/// The command line: which options exist, and what was given.
struct arguments {
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;

  /// The given options, with what follows from them for the rest. Throws whilst::error if options conflict.
  token_loop_options options() const;

  CLI::App app;

 private:
  token_loop_options given_;
};

}  // namespace whilst::token_loop
