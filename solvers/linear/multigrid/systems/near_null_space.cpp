#include "solvers/linear/multigrid/systems/near_null_space.hpp"

#include <algorithm>
#include <array>
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

/// Displacements along each axis, and the rotations in each plane of two axes about the middle of all nodes.
near_null_space rigid_body_modes(const std::vector<double>& coordinates, int axes) {
  const std::size_t nodes = coordinates.size() / axes;
  std::array<double, 3> middle{};
  for (std::size_t k = 0; k < coordinates.size(); ++k) middle[k % axes] += coordinates[k] / static_cast<double>(nodes);
  near_null_space made{axes * (axes + 1) / 2, {}};
  made.entries.assign(coordinates.size() * made.vectors, 0.0);
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto entry = [&](int axis, int vector) -> double& {
      return made.entries[(node * axes + axis) * made.vectors + vector];
    };
    const auto arm = [&](int axis) { return coordinates[node * axes + axis] - middle[axis]; };
    int vector = 0;
    for (; vector < axes; ++vector) entry(vector, vector) = 1;
    for (int a = 0; a < axes; ++a)
      for (int b = a + 1; b < axes; ++b, ++vector) {
        entry(a, vector) = -arm(b);
        entry(b, vector) = arm(a);
      }
  }
  return made;
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
    near_null_space made{static_cast<int>(count / rows), std::vector<double>(given.size())};
    for (index_type i = 0; i < rows; ++i)
      for (int k = 0; k < made.vectors; ++k) made.entries[i * made.vectors + k] = given[k * rows + i];
    return made;
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
    return rigid_body_modes(coordinates, b);
  }
  near_null_space made{b, std::vector<double>(rows * b, 0.0)};
  for (index_type i = 0; i < rows; ++i) made.entries[i * b + i % b] = 1;
  return made;
}

}  // namespace whilst::multigrid
