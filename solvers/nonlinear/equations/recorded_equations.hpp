#pragma once

#include "whilst/nonlinear/descent/recorded_descent.hpp"
#include "whilst/nonlinear/equations/posed_equations.hpp"

namespace whilst {

/// What to record: descent_solve with F in the place of a gradient, its trial points judged by ||F||.
template <class T>
using equations_request = descent_request<T, posed_equations<T>>;

template <class T>
recorded_descent<T> record_newton_dense(const equations_request<T>& request);
template <class T>
recorded_descent<T> record_newton_krylov(const equations_request<T>& request);
template <class T>
recorded_descent<T> record_broyden(const equations_request<T>& request);
template <class T>
recorded_descent<T> record_anderson(const equations_request<T>& request);

/// The methods by name. A new one adds a line here, a declaration above, and a file that defines it.
template <class T>
inline constexpr descent_method<T, posed_equations<T>> equation_methods[] = {
    {"newton", record_newton_dense<T>, true, 1000},
    {"newton-krylov", record_newton_krylov<T>, true},
    {"broyden", record_broyden<T>},
    {"anderson", record_anderson<T>},
};

}  // namespace whilst
