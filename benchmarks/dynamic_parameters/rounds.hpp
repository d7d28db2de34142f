#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace dynamic_parameters {

using whilst::index_type;

/// A round is eight steps in a row, each over `entries` numbers of its own, y_0 to y_7. Four of them have a parameter
/// that changes every round:
///
///   y_2j += p_j        p_j = (round + 5 j) mod 16
///   y_2j+1 = y_2j - y_2j+1
///
/// All values are small integers, exact in float, so every way of running the rounds must end with the same numbers; a
/// parameter one round late, or a step out of turn, would show.
constexpr int steps = 8, changing = 4;
constexpr index_type entries = 256;
/// Sums stay below 2^24.
constexpr index_type most_rounds = 1'000'000;

inline float parameter_of(index_type round, int j) { return static_cast<float>((round + 5 * j) % 16); }

/// A way to run rounds.
class way {
 public:
  virtual ~way() = default;
  /// Enqueues `count` rounds: `first`, `first + 1`, ... On the host they have already run on return.
  virtual void enqueue(index_type first, index_type count) = 0;
  /// Waits for them, sleeping.
  virtual void wait() {}
  /// Sets all y to zero.
  void reset();
  /// Throws whilst::error unless y is the result of `rounds` rounds from 0 on.
  void check(index_type rounds) const;

 protected:
  explicit way(whilst::place where) : y_(where, steps * entries) {}
  float* y(int k) const { return y_.data() + k * entries; }

 private:
  whilst::buffer<float> y_;
};

struct named_way {
  std::string name;
  /// Makes it ready to run; throws whilst::error if it is not available.
  std::function<std::unique_ptr<way>()> make;
  bool is_one_launch = false;
};

/// The ways of a place; the first has no graph and is the reference for the others.
std::vector<named_way> ways_on(whilst::place where);

inline constexpr const char* no_graph = "no graph";
inline constexpr const char* recapture = "re-capture, then update";
inline constexpr const char* by_node = "nodes updated by hand";
inline constexpr const char* by_update = "program.update";
inline constexpr const char* by_parameter = "program.set";
inline constexpr const char* by_loop = "one WHILE launch";

}  // namespace dynamic_parameters
