#include "solvers/linear/factorization/ilu.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_ic(linear_solver_options& options) {
  ilu_options& ilu = options.ilu;
  return {{"drop", &ilu.drop}, {"fill", &ilu.fill}, {"levels", &ilu.levels}, {"order", &ilu.order}};
}
std::vector<preconditioner_setting> settings_of_ilu(linear_solver_options& options) {
  ilu_options& ilu = options.ilu;
  return {{"drop", &ilu.drop},         {"fill", &ilu.fill},         {"levels", &ilu.levels},
          {"matching", &ilu.matching}, {"pivoting", &ilu.pivoting}, {"order", &ilu.order}};
}

void check_factors(const refuse_setting& refuse, const linear_solver_options& options) {
  const ilu_options& ilu = options.ilu;
  if (!(ilu.drop >= 0 && ilu.drop <= 1)) refuse("drop is " + std::to_string(ilu.drop), "Use 0 to 1");
  if (!(ilu.fill >= 0)) refuse("fill is " + std::to_string(ilu.fill), "Use 0, for no bound, or more");
  if (ilu.levels < -1)
    refuse("levels is " + std::to_string(ilu.levels), "Use 0 or more, or -1 to drop by size instead");
}
bool is_order_of_ic(const std::string& order) { return order == "none" || order == "rcm" || order == "degree"; }
void check_ic(const refuse_setting& refuse, const linear_solver_options& options) {
  check_factors(refuse, options);
  if (!is_order_of_ic(options.ilu.order))
    refuse("order is '" + options.ilu.order + "'", "Use one of none, rcm, degree");
}
void check_ilu(const refuse_setting& refuse, const linear_solver_options& options) {
  check_factors(refuse, options);
  const ilu_options& ilu = options.ilu;
  if (ilu.order != "blocks" && !is_order_of_ic(ilu.order))
    refuse("order is '" + ilu.order + "'", "Use one of none, rcm, degree, blocks");
  if (!(ilu.pivoting >= 0 && ilu.pivoting <= 1))
    refuse("pivoting is " + std::to_string(ilu.pivoting), "Use 0, for none, to 1");
  if (ilu.pivoting > 0 && ilu.levels >= 0)
    refuse("pivoting is " + std::to_string(ilu.pivoting), "Leave it out, or leave out levels");
}

/// What "auto" refuses to make, since it has others: factors that are nearly complete where a shift would spoil them,
/// incomplete ones where they are unstable, and all that take too much. Nearly complete ones that drop most are its
/// last resort, and may take more.
factorization::factorization_bounds bounds_of(const ilu_options& ilu) {
  const bool is_nearly_complete = ilu.drop < 1e-8 && ilu.fill == 0;
  factorization::factorization_bounds bounds{.most_nonzeros = 30'000'000, .most_operations = 1'500'000'000};
  if (is_nearly_complete && ilu.drop >= 1e-10) {
    bounds.most_nonzeros = 100'000'000;
    bounds.most_operations = 10'000'000'000;
  }
  bounds.most_shift = is_nearly_complete ? 1e-6 : 0.03;
  if (!is_nearly_complete) bounds.most_growth = 1e15;
  return bounds;
}

template <class T, factorization::factors_kind kind>
std::unique_ptr<matrix_preconditioner<T>> factors_for(const matrix_to_precondition<T>& matrix, const method_needs&,
                                                      const linear_solver_options& options) {
  factorization::factorization_bounds bounds;
  if (matrix.is_bounded) bounds = bounds_of(options.ilu);
  bounds.until = matrix.until;
  bounds.hold_once = matrix.is_bounded_once;
  return make_ilu<T>(matrix.on_place.where, *matrix.pattern, matrix.values, kind, options.ilu, bounds);
}

template <factorization::factors_kind kind>
preconditioner_description description_of_factors(const char* name) {
  constexpr bool is_ilu = kind == factorization::factors_kind::ilu;
  return {.name = name,
          .prefix = "ilu",
          .contents = "the factors of",
          .differs_for_symmetric = false,
          .hears_of_values = true,
          .symmetric_instead = is_ilu ? "ic" : nullptr,
          .settings = is_ilu ? settings_of_ilu : settings_of_ic,
          .check = is_ilu ? check_ilu : check_ic,
          .make_of_float = factors_for<float, kind>,
          .make_of_double = factors_for<double, kind>};
}

}  // namespace

const preconditioner_description& ilu_description() {
  static const auto ilu = description_of_factors<factorization::factors_kind::ilu>("ilu");
  return ilu;
}
const preconditioner_description& ic_description() {
  static const auto ic = description_of_factors<factorization::factors_kind::ic>("ic");
  return ic;
}

}  // namespace whilst
