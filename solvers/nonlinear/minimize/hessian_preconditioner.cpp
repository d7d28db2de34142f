// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/hessian_preconditioner.hpp"

#include <cmath>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

/// The sum of the sizes of a Hessian's entries.
template <class T>
struct hessian_sizes {
  const T* values;
  WHILST_HD sums<double, 1> operator()(index_type k) const { return sums{fabs(static_cast<double>(values[k]))}; }
};
struct keep_hessian_size {
  double* sum;
  WHILST_HD void operator()(const sums<double, 1>& total) const { *sum = total[0]; }
};

/// Leaves the Hessian at x in the function's memory. Returns the sum of its entries' sizes.
template <class T>
double size_of_hessian_at(const objective<T>& f, std::span<const double> x) {
  const hessian_view<T> H = f.hessian();
  buffer<T> at(f.where(), f.unknowns());
  if (!x.empty()) at.upload(std::vector<T>(x.begin(), x.end()).data());
  const int one = 1;
  const buffer<int> wanted(f.where(), 1, &one);
  const buffer<double> sum(f.where(), 1);
  program_recorder run(f.where());
  f.make_hessian(run, at.data(), wanted.data(), /*positive=*/true);
  run.step("how large H is", H.nonzeros, hessian_sizes<T>{H.values}, keep_hessian_size{sum.data()});
  run_now(std::move(run).finish(), f.where());
  double found = 0;
  sum.download(&found);
  return found;
}

}  // namespace

template <class T>
hessian_preconditioner<T> make_hessian_preconditioner(std::string_view doing, const objective<T>& f,
                                                      const std::string& text, const amg_options& amg,
                                                      std::span<const double> x) {
  linear_solver_options named;
  named.preconditioner = text;
  named.amg = amg;
  const std::string_view name = name_of_preconditioner(named);
  if (text == "jacobi") return {};
  if (name != "amg")
    throw error(doing, "there is no preconditioner called '" + std::string(name) + "' for a Hessian",
                "Use jacobi or amg");
  preconditioner_choice chosen = chosen_preconditioner(doing, named);
  amg_options& settings = chosen.options.amg;
  if (settings.cycle == "F" || settings.cycle == "K")
    throw error(doing,
                "with cycle " + settings.cycle + ", amg is not " +
                    (settings.cycle == "F" ? "symmetric" : "the same in each iteration") +
                    ", and the conjugate gradients within newton-cg need it to be",
                "Use cycle V or W");
  if (settings.refresh == "auto") settings.refresh = "lagged";
  if (!f.has_hessian())
    throw error(doing, "preconditioner amg is made from the Hessian as a matrix, and the function has none",
                "Use jacobi, or give a function that has it, as a partially_separable");
  if (!x.empty() && static_cast<index_type>(x.size()) != f.unknowns())
    throw error(doing,
                "amg is to be made from the Hessian at a point of " + std::to_string(x.size()) +
                    " numbers, and the function has " + std::to_string(f.unknowns()) + " unknowns",
                "Give a number for each, or none for 0");
  f.prepare();
  const double size = size_of_hessian_at(f, x);
  if (!(size > 0 && size < HUGE_VAL))
    throw error(doing,
                std::string("the Hessian that amg is to be made from is ") + (size == 0 ? "zero" : "not finite") +
                    (x.empty() ? " at x = 0" : " at the given point"),
                "Give a point like those to come, or use preconditioner jacobi");
  const hessian_view<T> H = f.hessian();
  solve_request<T> request;
  request.where = f.where();
  request.rows = request.columns = H.n;
  request.nonzeros = H.nonzeros;
  request.row_offsets = H.row_offsets;
  request.column_indices = H.column_indices;
  request.values = H.values;
  constexpr method_needs of_cg{.symmetric = true, .definite = true};
  std::unique_ptr<matrix_preconditioner<T>> made =
      chosen.description->maker<T>()({.on_place = request}, of_cg, chosen.options);
  const std::string description = "amg, " + made->description();
  const index_type bytes = made->bytes();
  return {std::move(made), description, bytes};
}

template hessian_preconditioner<float> make_hessian_preconditioner(std::string_view, const objective<float>&,
                                                                   const std::string&, const amg_options&,
                                                                   std::span<const double>);
template hessian_preconditioner<double> make_hessian_preconditioner(std::string_view, const objective<double>&,
                                                                    const std::string&, const amg_options&,
                                                                    std::span<const double>);

}  // namespace whilst
