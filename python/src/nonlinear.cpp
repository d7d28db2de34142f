#include "python/src/nonlinear.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "python/src/callbacks.hpp"
#include "python/src/reports.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/functions/called_equations.hpp"
#include "whilst/nonlinear/functions/called_objective.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst::python {
namespace {

using point = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void copy_numbers(const nb::handle& from, index_type n, double* to) {
  const auto numbers = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(from, false);
  if (static_cast<index_type>(numbers.shape(0)) != n) throw std::logic_error("a callback's result was not checked");
  if (n) std::memcpy(to, numbers.data(), static_cast<std::size_t>(n) * sizeof(double));
}

/// The function takes x and returns the value and the gradient.
called_objective<double>::callback value_and_gradient(nb::object function) {
  return [call = shared_function(std::move(function))](stream_handle, index_type n, const double* x, double* value,
                                                       double* gradient) {
    const with_gil hold;
    const auto both = nb::cast<nb::tuple>(call(array_of(x, static_cast<std::size_t>(n))));
    *value = nb::cast<double>(both[0]);
    copy_numbers(both[1], n, gradient);
  };
}

/// The function takes x and v and returns the product of the Hessian at x with v.
called_objective<double>::product_callback hessian_product(const nb::object& function) {
  if (function.is_none()) return {};
  return [call = shared_function(function)](stream_handle, index_type n, const double* x, const double* v, double* Hv) {
    const with_gil hold;
    const auto size = static_cast<std::size_t>(n);
    const nb::object product = call(array_of(x, size), array_of(v, size));
    copy_numbers(product, n, Hv);
  };
}

nb::dict minimize(nb::object evaluate, const nb::object& product, const point& x, const std::string& options) {
  const auto n = static_cast<index_type>(x.shape(0));
  const called_objective<double> function(place::host(), n, value_and_gradient(std::move(evaluate)),
                                          hessian_product(product));
  minimizer<double> solver(function, options_from_string<minimizer_options>(options));
  const minimize_report done = [&] {
    const without_gil free_others;
    return solver.solve(std::span<double>(x.data(), x.shape(0)));
  }();
  return fields_of(done);
}

nb::dict root(nb::object evaluate, const point& x, const std::string& options) {
  const auto n = static_cast<index_type>(x.shape(0));
  const called_equations<double> system(place::host(), n, vector_function<double>(std::move(evaluate), n));
  nonlinear_solver<double> solver(system, options_from_string<nonlinear_solver_options>(options));
  const nonlinear_report done = [&] {
    const without_gil free_others;
    return solver.solve(std::span<double>(x.data(), x.shape(0)));
  }();
  return fields_of(done);
}

}  // namespace

void bind_nonlinear_solvers(nb::module_& module) {
  module.def("minimize", &minimize, nb::arg("evaluate"), nb::arg("product").none(), nb::arg("x").noconvert(),
             nb::arg("options"));
  module.def("root", &root, nb::arg("evaluate"), nb::arg("x").noconvert(), nb::arg("options"));
  module.def("default_minimizer_options", [] { return options_to_string(minimizer_options{}); });
  module.def("default_root_options", [] { return options_to_string(nonlinear_solver_options{}); });
}

}  // namespace whilst::python
