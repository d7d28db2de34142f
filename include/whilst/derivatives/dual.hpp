#pragma once

#include "whilst/derivatives/dual_functions.hpp"
#include "whilst/derivatives/dual_number.hpp"

/// \file
/// Forward-mode automatic differentiation: numbers that carry their derivatives in K directions along.
///
/// A function written once for a scalar type S, such as
///
///     template <class S>
///     WHILST_HD S model(const S* b, double x) { using std::exp; return b[0] * (1.0 - exp(-b[1] * x)); }
///
/// gives its value with S = double or float, its gradient too with S = dual<double, K>, and its Hessian as well with
/// S = second_order_dual<double, K>. Exact up to rounding: no step, no differences. Cost and memory grow with K for
/// each operation, with K * (K + 1) / 2 for the second order.
///
/// The functions of `<cmath>` that duals have are found by argument-dependent lookup; `using std::exp;` lets the same
/// text work for plain numbers. Values are computed by the same operations as plain ones, and comparisons look at
/// values alone, so a function takes the same branches with each S.
///
/// At a point where a derivative is infinite (sqrt and log at 0, asin at 1, 1 / 0), it is infinite in the directions
/// that the argument depends on, and 0 in the others, whose factor is an exact 0. Where a derivative does not exist,
/// the function documents its choice.
///
/// Sources: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 and 13 (the vector
/// forward mode, second derivatives); J. Fike and J. Alonso, The Development of Hyper-Dual Numbers for Exact
/// Second-Derivative Calculations, AIAA 2011-886 (the second order as an arithmetic of numbers).
