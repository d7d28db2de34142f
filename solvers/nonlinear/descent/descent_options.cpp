#include "solvers/nonlinear/descent/descent_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace whilst {
namespace {

struct named_search {
  std::string_view name;
  line_search_kind kind;
};
constexpr std::array<named_search, 4> searches{{{"backtracking", line_search_kind::backtracking},
                                                {"strong-wolfe", line_search_kind::strong_wolfe},
                                                {"approximate-wolfe", line_search_kind::approximate_wolfe},
                                                {"parallel", line_search_kind::parallel}}};

}  // namespace

void check_tolerance(std::string_view making, const char* name, double value) {
  if (!(value >= 0))
    throw error(making, std::string("the tolerance of ") + name + " is negative or not a number", "Give 0 or more");
}

void check_descent(std::string_view making, const descent_tolerances& tolerances, double lower_bound) {
  check_tolerance(making, "gradient", tolerances.gradient);
  check_tolerance(making, "relative_gradient", tolerances.relative_gradient);
  check_tolerance(making, "step", tolerances.step);
  check_tolerance(making, "function", tolerances.function);
  if (std::isnan(lower_bound)) throw error(making, "lower_bound is not a number", "Give one, or minus infinity");
}

void check_unknowns(std::string_view making, const std::string& method, index_type unknowns, index_type most,
                    const std::string& instead) {
  if (unknowns > most)
    throw error(
        making,
        "method '" + method + "' holds a dense matrix, and the function has " + std::to_string(unknowns) + " unknowns",
        "Use " + instead + ", or make it " + std::to_string(most) + " or fewer");
}

line_search_kind line_search_from_name(std::string_view making, std::string_view asked) {
  return find_by_name(making, searches, asked, "line search").kind;
}

descent_settings usual_descent_settings(std::string_view method, line_search_kind search,
                                        const descent_tolerances& tolerances, double lower_bound, bool single,
                                        index_type unknowns) {
  descent_settings made{tolerances, line_search_settings::usual(search), lower_bound};
  if (single) made.search.rounding = 1e-6;
  constexpr double most_spread = 500;  // the errors of terms partly cancel
  if (!single) made.search.spread = std::clamp(static_cast<double>(unknowns) / 10, 1.0, most_spread);
  // The directions of conjugate gradients are only as good as the lengths along them.
  if (method.starts_with("conjugate") && search != line_search_kind::approximate_wolfe) made.search.curvature = 0.1;
  return made;
}

index_type trip_limit(index_type max_iterations, index_type max_evaluations) {
  constexpr index_type most = std::numeric_limits<index_type>::max() / 20 - 1;
  const index_type usual = 20 * (std::min(max_iterations, most) + 1);
  const index_type evaluations = max_evaluations ? max_evaluations : usual;
  return evaluations > 1 ? evaluations - 1 : -1;
}

}  // namespace whilst
