#include "solvers/linear/multigrid/cycles/cycle_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>

#include "whilst/basics/error.hpp"

namespace whilst::multigrid {
namespace {

/// The place of a name among others, which an enumeration has in the same order.
template <std::size_t count>
std::size_t place_of_name(std::string_view doing, const char* setting, const std::string& name,
                          const std::array<const char*, count>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string all;
  for (const char* const one : names) all += (all.empty() ? "" : ", ") + std::string(one);
  throw error(doing, "setting " + std::string(setting) + " is '" + name + "' of preconditioner amg",
              "Use one of " + all);
}

/// In an order for which no product of (1 - x / zero) over the first ones is large within (0, 1]: of those that are
/// left, the next is farthest from those before. F. Leja, Ann. Polon. Math. 4 (1957).
std::vector<double> in_order_of_leja(std::vector<double> zeros) {
  for (std::size_t k = 1; k < zeros.size(); ++k) {
    const auto distance = [&](double candidate) {
      double product = 1;
      for (std::size_t j = 0; j < k; ++j) product *= std::abs(candidate - zeros[j]);
      return product;
    };
    const auto begin = zeros.begin() + static_cast<std::ptrdiff_t>(k);
    std::iter_swap(begin, std::max_element(begin, zeros.end(),
                                           [&](double one, double other) { return distance(one) < distance(other); }));
  }
  return zeros;
}

}  // namespace

std::vector<double> zeros_of_fourth_kind(int degree) {
  const double angle = std::numbers::pi / (2 * degree + 1), shift = std::cos(angle);
  std::vector<double> zeros;
  for (int j = 1; j <= degree; ++j) zeros.push_back((std::cos((2 * j - 1) * angle) + shift) / (1 + shift));
  return zeros;
}
std::vector<double> zeros_of_first_kind(int degree, double least) {
  std::vector<double> zeros;
  for (int j = 1; j <= degree; ++j)
    zeros.push_back((1 + least) / 2 + (1 - least) / 2 * std::cos((2 * j - 1) * std::numbers::pi / (2 * degree)));
  return zeros;
}

cycle_plan make_cycle_plan(std::string_view doing, const amg_options& options) {
  constexpr std::array cycles{"V", "W", "F", "K"};
  cycle_plan plan;
  plan.cycle = static_cast<cycle_kind>(place_of_name(doing, "cycle", options.cycle, cycles));
  plan.smoother = static_cast<smoother_kind>(place_of_name(doing, "smoother", options.smoother, smoother_names));
  const int sweeps = options.sweeps;
  if (sweeps < 1 || sweeps > 8)
    throw error(doing, "setting sweeps is " + std::to_string(sweeps) + " of preconditioner amg", "Use 1 to 8");
  plan.to_revisit = options.revisited_level;
  if (plan.cycle != cycle_kind::V) {
    if (plan.to_revisit > 0)
      throw error(doing,
                  "setting revisited_level is " + std::to_string(plan.to_revisit) +
                      " of preconditioner amg, and cycle '" + options.cycle + "'",
                  "Use cycle V, or leave out revisited_level");
    plan.to_revisit = 0;
  }
  if (options.cycle != "V" || options.smoother != "spai0" || sweeps > 1)
    plan.words = options.cycle + "-cycle, " + std::to_string(sweeps) + (sweeps == 1 ? " sweep by " : " sweeps by ") +
                 options.smoother;
  if (!plan.uses_polynomial()) {
    plan.outer_weights.assign(static_cast<std::size_t>(plan.goes_by_colours() ? sweeps : sweeps - 1), 1.0);
    return plan;
  }
  const std::vector<double> zeros = plan.smoother == smoother_kind::chebyshev
                                        ? zeros_of_fourth_kind(sweeps)
                                        : zeros_of_first_kind(sweeps, least_share_smoothed);
  plan.inner_weight = 1 / zeros.front();
  for (const double zero : in_order_of_leja({zeros.begin() + 1, zeros.end()}))
    plan.outer_weights.push_back(zeros.front() / zero);
  return plan;
}

}  // namespace whilst::multigrid
