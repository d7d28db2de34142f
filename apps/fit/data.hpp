#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/problems/curves/strd_file.hpp"

namespace whilst::fitting {

/// Points to fit a curve to, as their file holds them.
struct data_set {
  std::string path;
  int variables = 0;                   ///< predictors of a point
  std::vector<std::string> names;      ///< of the columns: the predictors and then the response; empty if not named
  std::vector<double> predictors;      ///< points x variables, row-major
  std::vector<double> response;        ///< one a point
  std::optional<strd_file> certified;  ///< the whole file where it is one of the NIST StRD
};

/// Reads a file of the NIST StRD, known by its first words, or else columns of numbers: predictors and then the
/// response, between commas, semicolons, tabs or blanks, under a line of names or none. Empty lines and lines that
/// start with # are skipped. Throws whilst::error "FILE:LINE:COLUMN: found ..., expected ...".
data_set read_data(const std::string& path);

}  // namespace whilst::fitting
