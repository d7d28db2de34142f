#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// One data set of the nonlinear regression suite of the NIST Statistical Reference Datasets, as its file gives it:
/// https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml. The model itself, by `name`, is in
/// kernels/problems/curves/curve_models.hpp.
struct strd_file {
  std::string name;         ///< as after "Dataset Name:", e.g. Misra1a
  std::string description;  ///< the paragraph after "Description:", on one line
  std::string model_text;   ///< the formula as the file words it, line for line

  int parameters = 0;
  std::vector<double> start_1, start_2;     ///< starting points: far from the solution, and nearer
  std::vector<double> certified;            ///< the least-squares parameters to 11 digits
  std::vector<double> certified_deviation;  ///< their standard deviations
  double residual_sum_of_squares = 0;       ///< at the least-squares parameters
  double residual_deviation = 0;            ///< the square root of that sum over the degrees of freedom
  int degrees_of_freedom = 0;               ///< observations minus parameters
  index_type observations = 0;              ///< length of `response`
  int variables = 0;                        ///< predictors per observation
  std::vector<std::string> variable_names;  ///< response first; the file's names, or else y, x, x1, ...
  std::vector<double> response;             ///< as in the file: Nelson's model is for its logarithm
  std::vector<double> predictors;           ///< observations x variables, row-major
  std::string corrected;  ///< which of the values above was a known misprint in the file; empty for most
};

/// Reads such a file, with either kind of line ending. Throws whilst::error "FILE:LINE:COLUMN: found ..., expected ..."
/// on a missing section, a malformed or non-finite number, or counts that disagree.
///
/// Corrects two misprints: the degrees of freedom of Rat43, 9 for 15 observations and 4 parameters, and, in some
/// circulating copies of Roszman1, the first certified parameter 1.20196866396E-0 for 2.0196866396E-01. The certified
/// sums of squares and deviations confirm both.
strd_file read_strd(const std::string& path);

}  // namespace whilst
