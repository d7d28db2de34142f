#include "solvers/linear/orthonormal_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/basics/safe_norm.hpp"

namespace whilst {
namespace {

constexpr std::size_t most_given_vectors = 64;
/// What is left of a vector of length 1 that depends on others, given with at least half the digits of a double.
constexpr double most_dependent = 1e-8;

double norm_of_all(std::span<const double> v) {
  squares sum{};
  for (const double entry : v) {
    const squares one = squares_of(entry);
    sum = {sum.ordinary + one.ordinary, sum.great + one.great, sum.small + one.small};
  }
  return norm_of(sum);
}

void subtract_part(std::span<double> of, std::span<const double> along) {
  double part = 0;
  for (std::size_t i = 0; i < of.size(); ++i) part += along[i] * of[i];
  for (std::size_t i = 0; i < of.size(); ++i) of[i] -= part * along[i];
}

/// Throws on one that is not finite, or zero; gives it length 1.
void make_unit_vector(std::string_view doing, const std::string& name, std::span<double> v) {
  const auto bad = std::ranges::find_if(v, [](double entry) { return !std::isfinite(entry); });
  if (bad != v.end())
    throw error(doing, name + " has the entry " + std::to_string(*bad) + " in row " + std::to_string(bad - v.begin()),
                "Give finite vectors");
  double scale = 0;
  for (const double entry : v) scale = std::max(scale, std::abs(entry));
  if (scale == 0) throw error(doing, name + " is zero", "Leave it out");
  for (double& entry : v) entry /= scale;
  const double length = norm_of_all(v);
  for (double& entry : v) entry /= length;
}

}  // namespace

/// By Gram and Schmidt, each twice: L. Giraud, J. Langou, M. Rozloznik, Comput. Math. Appl. 50 (2005).
std::vector<double> orthonormal_vectors(std::string_view doing, const names_of_vectors& names,
                                        std::span<const double> given, index_type n) {
  const auto rows = static_cast<std::size_t>(n);
  const std::size_t entries = given.size(), count = rows ? entries / rows : 0;
  if (entries == 0 || rows == 0 || entries % rows != 0)
    throw error(doing,
                std::string(names.option) + " has " + std::to_string(entries) + " entries, and the matrix " +
                    std::to_string(n) + " rows",
                "Give an entry for each row, one vector after another");
  if (count > std::min(rows, most_given_vectors))
    throw error(
        doing,
        "there are " + std::to_string(count) + " " + std::string(names.one) + "s for " + std::to_string(n) + " rows",
        "Give at most " + std::to_string(std::min(rows, most_given_vectors)));
  std::vector<double> made(given.begin(), given.end());
  for (std::size_t k = 0; k < count; ++k) {
    const std::string name = std::string(names.one) + " " + std::to_string(k) + " (from 0)";
    const std::span<double> v(made.data() + k * rows, rows);
    make_unit_vector(doing, name, v);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < k; ++j) subtract_part(v, {made.data() + j * rows, rows});
      const double left = norm_of_all(v);
      if (left <= most_dependent) throw error(doing, name + " is a combination of those before it", "Leave it out");
      for (double& entry : v) entry /= left;
    }
  }
  return made;
}

}  // namespace whilst
