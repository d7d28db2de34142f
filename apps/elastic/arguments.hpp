#pragma once

#include <CLI/CLI.hpp>

#include "elastic.hpp"

namespace whilst::elastic {

/// The command line: what can be given, and what was.
struct arguments {
  arguments();
  arguments(const arguments&) = delete;
  arguments& operator=(const arguments&) = delete;

  /// What was given, with what follows from it for the rest.
  elastic_options options() const;

  CLI::App app;

 private:
  elastic_options given_;
  bool no_obstacles_ = false;
  std::string hessian_ = "projected";
};

}  // namespace whilst::elastic
