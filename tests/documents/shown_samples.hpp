#pragma once

// The programs whose text and output the documents show. shown_output_test.cpp runs them and compares.

#include <string>

#include "whilst/engine/program.hpp"

namespace whilst::shown {

/// What one program of two loops in one another tells.
struct decay_texts {
  std::string parameters;  ///< a line a launch
  std::string nest;        ///< explain()
  std::string memory;      ///< memory()
};
decay_texts run_decay(place where, executor how);

/// The message of a strict check of a program that keeps a counter on the host. starts_over: each run sets it back.
std::string check_frozen(place where, executor how, bool starts_over);

/// Misuse that is refused on the host, a line each.
std::string collect_refusals();

/// Calls that a CUDA graph cannot hold, a line each. Only where there is a GPU; empty in a build without CUDA.
std::string collect_diagnoses();

/// explain() of the solver that the architecture page takes for an example.
std::string explain_conjugate_gradient();

/// What explain() ends with where the preconditioner is amg.
std::string explain_levels();

}  // namespace whilst::shown
