#include "solvers/linear/multigrid/systems/near_null_space.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "solvers/linear/multigrid/systems/node_matrix.hpp"
#include "whilst/basics/error.hpp"

namespace whilst::multigrid {
namespace {

[[noreturn]] void refuse(const std::string& what, std::string_view cure) {
  throw error("making preconditioner amg", what, cure);
}
void require_finite(std::string_view name, const std::vector<double>& numbers) {
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); });
  if (bad != numbers.end())
    refuse("entry " + std::to_string(bad - numbers.begin()) + " of " + std::string(name) + " is not finite",
           "Give finite numbers");
}

}  // namespace

near_null_space make_near_null_space(const amg_options& options, index_type rows) {
  const int b = options.unknowns_a_node;
  if (rows % b != 0)
    refuse("the matrix has " + std::to_string(rows) +
               " rows, which are not nodes of unknowns_a_node = " + std::to_string(b) + " each",
           "Give the number of unknowns that every node has, next to each other");
  const std::vector<double>&given = options.near_null_space, &coordinates = options.coordinates;
  const auto count = static_cast<index_type>(given.size());
  if (!given.empty()) {
    if (rows == 0 || count % rows != 0 || count / rows > most_unknowns_a_node)
      refuse("near_null_space has " + std::to_string(count) + " entries, the matrix " + std::to_string(rows) + " rows",
             "Give 1 to " + std::to_string(most_unknowns_a_node) + " vectors of as many entries, one after another");
    require_finite("near_null_space", given);
    return {near_null_space::kind::given, static_cast<int>(count / rows), &given};
  }
  if (!coordinates.empty()) {
    if (b != 2 && b != 3)
      refuse("there are coordinates, and unknowns_a_node is " + std::to_string(b),
             "Give unknowns_a_node = 2 or 3: the displacements of a node in the plane or in space");
    if (static_cast<index_type>(coordinates.size()) != rows)
      refuse("there are " + std::to_string(coordinates.size()) + " coordinates, and the matrix has " +
                 std::to_string(rows) + " rows",
             "Give one for each unknown: where its node lies along its axis");
    require_finite("coordinates", coordinates);
    near_null_space made{near_null_space::kind::rigid_body_modes, b * (b + 1) / 2, &coordinates};
    const auto nodes = static_cast<double>(rows / b);
    for (index_type of_node = 0; of_node < rows; of_node += b)
      for (int axis = 0; axis < b; ++axis) made.middle[axis] += coordinates[of_node + axis] / nodes;
    return made;
  }
  return {near_null_space::kind::constants, b};
}

}  // namespace whilst::multigrid
