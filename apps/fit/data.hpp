#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/problems/curves/strd_file.hpp"

namespace whilst::fitting {

/// Points to fit a curve to, as in their file.
struct data_set {
  std::string path;
  int variables = 0;                   ///< predictors per point
  std::vector<std::string> names;      ///< of the columns: the predictors, then the response; empty if not named
  std::vector<double> predictors;      ///< points x variables, row-major
  std::vector<double> response;        ///< one per point
  std::optional<strd_file> certified;  ///< the whole file if it is a NIST StRD file
};

/// Reads a NIST StRD file, recognised by its first words, or otherwise columns of numbers: predictors, then the
/// response, separated by commas, semicolons, tabs or blanks, optionally under a line of names. Skips empty lines and
/// lines that start with #. Throws whilst::error "FILE:LINE:COLUMN: found ..., expected ...".
data_set read_data(const std::string& path);

}  // namespace whilst::fitting
