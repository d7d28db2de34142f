#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst::detail {

/// The bounds on the n parameters of a fit, in the precision of its x, on the host for checks and in the memory of the
/// place.
template <class T>
class parameter_bounds {
 public:
  /// n of each kind, or none. Infinite means no bound. Throws whilst::error with a message that starts with `doing`.
  parameter_bounds(const std::string& doing, place where, int n, const std::vector<double>& lower,
                   const std::vector<double>& upper)
      : lower_(checked(doing, "lower", n, lower)), upper_(checked(doing, "upper", n, upper)) {
    if (lower_.empty() && upper_.empty()) return;
    constexpr double infinite = std::numeric_limits<double>::infinity();
    lower_.resize(static_cast<std::size_t>(n), -infinite);
    upper_.resize(static_cast<std::size_t>(n), infinite);
    for (std::size_t j = 0; j < lower_.size(); ++j) {
      round_inwards(lower_[j], upper_[j]);
      if (!(lower_[j] <= upper_[j]) || lower_[j] == infinite || upper_[j] == -infinite)
        throw error(doing,
                    "no number of parameter " + std::to_string(j) + " is from " + shortest(lower_[j]) + " to " +
                        shortest(upper_[j]),
                    "Give a lower bound that is no more than the upper one; parameters count from 0");
    }
    lower_there_ = buffer<double>(where, n);
    upper_there_ = buffer<double>(where, n);
    lower_there_.upload(lower_.data());
    upper_there_.upload(upper_.data());
  }

  /// Null if there are none.
  const double* lower() const { return lower_there_.data(); }
  const double* upper() const { return upper_there_.data(); }

  /// The same on the host.
  const double* lower_on_host() const { return lower_.empty() ? nullptr : lower_.data(); }
  const double* upper_on_host() const { return upper_.empty() ? nullptr : upper_.data(); }

  /// x: the starting points of one or more fits, consecutively. Throws whilst::error if one is outside.
  void require_inside(const std::string& doing, std::span<const T> x) const {
    if (lower_.empty()) return;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t j = i % lower_.size();
      const double at = static_cast<double>(x[i]);
      if (at < lower_[j] || at > upper_[j])
        throw error(doing,
                    "entry " + std::to_string(i) + " of x starts at " + shortest(at) + ", and parameter " +
                        std::to_string(j) + " has the bounds " + shortest(lower_[j]) + " and " + shortest(upper_[j]),
                    "Start within the bounds; parameters count from 0");
    }
  }

 private:
  static std::string shortest(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
  }
  static std::vector<double> checked(const std::string& doing, const std::string& kind, int n,
                                     const std::vector<double>& bounds) {
    if (!bounds.empty() && bounds.size() != static_cast<std::size_t>(n))
      throw error(doing,
                  "there are " + std::to_string(n) + " parameters and " + std::to_string(bounds.size()) + " " + kind +
                      " bounds",
                  "Give one a parameter, infinite where there is none, or none at all");
    for (const double bound : bounds)
      if (std::isnan(bound))
        throw error(doing, "a " + kind + " bound is not a number", "Give an infinite one for none");
    return bounds;
  }
  /// Rounds both to numbers of type T between them.
  static void round_inwards(double& lower, double& upper) {
    constexpr T infinite = std::numeric_limits<T>::infinity();
    T least = static_cast<T>(lower), most = static_cast<T>(upper);
    if (static_cast<double>(least) < lower) least = std::nextafter(least, infinite);
    if (static_cast<double>(most) > upper) most = std::nextafter(most, -infinite);
    lower = static_cast<double>(least);
    upper = static_cast<double>(most);
  }

  std::vector<double> lower_, upper_;
  buffer<double> lower_there_, upper_there_;
};

}  // namespace whilst::detail
