#include "solvers/linear/geometric_multigrid/geometric_multigrid.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_multigrid(linear_solver_options& options) {
  multigrid_options& multigrid = options.multigrid;
  return {{"precision", &multigrid.precision},
          {"cycle", &multigrid.cycle},
          {"sweeps", &multigrid.sweeps},
          {"coarsest_rows", &multigrid.coarsest_rows}};
}

void check_multigrid(const refuse_setting& refuse, const linear_solver_options& options) {
  check_multigrid_options(options.multigrid, refuse);
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> multigrid_for(const matrix_to_precondition<T>& matrix,
                                                        const method_needs& method,
                                                        const linear_solver_options& options) {
  multigrid_options settings = options.multigrid;
  if (settings.precision == "auto" && method.linear_preconditioner) settings.precision = "double";
  return make_multigrid_of_matrix<T>(matrix.on_place, settings);
}

}  // namespace

const preconditioner_description& multigrid_description() {
  static constexpr preconditioner_description multigrid{.name = "multigrid",
                                                        .prefix = "multigrid",
                                                        .contents = "the grids of",
                                                        .differs_for_symmetric = false,
                                                        .hears_of_values = true,
                                                        .settings = settings_of_multigrid,
                                                        .check = check_multigrid,
                                                        .make_of_float = multigrid_for<float>,
                                                        .make_of_double = multigrid_for<double>};
  return multigrid;
}

}  // namespace whilst
