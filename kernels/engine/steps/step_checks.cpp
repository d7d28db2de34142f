#include <bit>
#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst::detail {

void check_lanes(const std::string& doing, int lanes) {
  if (lanes >= 1 && lanes <= 32 && std::has_single_bit(static_cast<unsigned>(lanes))) return;
  throw error(doing, "lanes_wanted() is " + std::to_string(lanes), "Have it return 1, 2, 4, 8, 16 or 32");
}

void check_step(const std::string& name, index_type n, int lanes) {
  const std::string doing = "recording step '" + name + "'";
  if (n < 0) throw error(doing, "its count is " + std::to_string(n), "Give 0 or more");
  check_lanes(doing, lanes);
}

}  // namespace whilst::detail
