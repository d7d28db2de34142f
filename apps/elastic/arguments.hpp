#pragma once

#include <CLI/CLI.hpp>

#include "elastic.hpp"

namespace whilst::elastic {

/// The command line: which options exist, and what was given.
struct arguments {
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;

  /// The given options, with what follows from them for the rest.
  elastic_options options() const;

  CLI::App app;

 private:
  elastic_options given_;
  bool no_obstacles_ = false;
  std::string hessian_ = "projected";
};

}  // namespace whilst::elastic
