#pragma once

#include "whilst/nonlinear/descent/recorded_descent.hpp"
#include "whilst/nonlinear/minimize/bfgs.hpp"
#include "whilst/nonlinear/minimize/newton.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_gradient_descent(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_conjugate_gradient_pr(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_conjugate_gradient_hz(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_bfgs(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_limited_memory_bfgs(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_newton(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_newton_cg(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_trust_region(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_inexact_levenberg_marquardt(const descent_request<T>& request);
template <class T>
recorded_descent<T> record_dogleg(const descent_request<T>& request);

/// The methods by name. A new one adds a line here, a declaration above, and a file that defines it.
template <class T>
inline constexpr descent_method<T> descent_methods[] = {
    {"lbfgs", record_limited_memory_bfgs<T>},
    {"bfgs", record_bfgs<T>, false, bfgs<T>::most_unknowns},
    {"newton", record_newton<T>, true, newton<T>::most_unknowns},
    {"newton-cg", record_newton_cg<T>, true, any_number_of_unknowns, true},
    {"trust-region", record_trust_region<T>, true, any_number_of_unknowns, true, false},
    {"levenberg-marquardt", record_inexact_levenberg_marquardt<T>, true, any_number_of_unknowns, true, false},
    {"dogleg", record_dogleg<T>, true, any_number_of_unknowns, true, false},
    {"conjugate-gradient-pr", record_conjugate_gradient_pr<T>},
    {"conjugate-gradient-hz", record_conjugate_gradient_hz<T>},
    {"gradient-descent", record_gradient_descent<T>},
};

}  // namespace whilst
