#pragma once

#include <string>
#include <vector>

#include "generator.hpp"

namespace whilst::token_loop {

/// The command line, as given; names and ranges are checked.
struct token_loop_options {
  model_size size;
  index_type tokens = 0;      ///< at most
  index_type end_token = -1;  ///< negative: none
  std::string executor = "auto";
  int repetitions = 3;
  bool explain = false;
  /// Where the report goes: a file, "-" for standard output, empty for nowhere.
  std::string json;
};

/// A way, and the fastest of its runs.
struct measured_way {
  way how;
  generated made;
  std::string note;
  bool same_bits = true;  ///< as the first way's, in every run

  double seconds_a_token() const { return made.seconds / static_cast<double>(made.outputs.size()); }
};

/// All ways and the figures to measure them against.
struct token_loop_result {
  std::string executor;     ///< "host", or "gpu"
  index_type steps = 0;     ///< per token
  double read_seconds = 0;  ///< to read everything a token must read
  std::vector<measured_way> ways;

  bool same_bits() const;
  bool finite() const;
};

/// Generates, prints and writes. Returns a command::exit_status and throws whilst::error.
int run_token_loop(const token_loop_options& options);

}  // namespace whilst::token_loop
