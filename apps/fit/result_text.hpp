#pragma once

#include <cstdio>

#include "apps/common/json_file.hpp"
#include "fit.hpp"

namespace whilst::fitting {

/// The digits to which a number agrees with a certified one, from 0 to the 11 certified: minus the decimal logarithm of
/// the relative error.
double digits_agreeing(double found, double certified);

/// What is fitted to what, and the starting point.
void print_problem(std::FILE* out, const fit_result& result);
/// Parameters, errors, residuals, and how the fit ended.
void print_result(std::FILE* out, const fit_result& result);

/// The spread of the parameters over the noisy copies, beside the standard errors; or why there are no copies.
void print_copies(std::FILE* out, const fit_result& result);

/// The whole result for `--json`. NaN becomes null, since JSON has no NaN.
command::json result_json(const fit_result& result);

}  // namespace whilst::fitting
