#pragma once

#include <vector>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"

namespace whilst::multigrid {

/// Whether levels are made of nodes with several unknowns or several vectors, or of unknowns and the constant.
inline bool is_system(const amg_options& options) {
  return options.unknowns_a_node > 1 || !options.near_null_space.empty() || !options.coordinates.empty();
}

/// The near-null space that options ask for, of a matrix with so many rows.
struct near_null_space {
  enum class kind { given, rigid_body_modes, constants };
  kind what = kind::constants;
  int vectors = 0;
  const std::vector<double>* source = nullptr;  ///< of the options: what it is made from; null for nothing
  double middle[3] = {};                        ///< of all nodes, if they have coordinates
};
/// Throws whilst::error on what does not fit the matrix, and on entries that are not finite. Refers to the options.
near_null_space make_near_null_space(const amg_options& options, index_type rows);

/// Its entries, row by row those of all vectors. Rigid body modes are displacements along each axis, and the rotations
/// in each plane of two axes about the middle of all nodes. An index: a row.
struct put_near_null_space {
  near_null_space of;
  const double* source;  ///< the same where this runs
  int unknowns_a_node;
  index_type rows;
  double* entries;

  WHILST_HD void operator()(index_type row) const {
    double* const to = entries + row * of.vectors;
    const int b = unknowns_a_node, axis = static_cast<int>(row % b);
    for (int k = 0; k < of.vectors; ++k)
      to[k] = of.what == near_null_space::kind::given ? source[k * rows + row] : k == axis;
    if (of.what != near_null_space::kind::rigid_body_modes) return;
    const double* const coordinates = source + row - axis;
    int vector = b;
    for (int from = 0; from < b; ++from)
      for (int into = from + 1; into < b; ++into, ++vector)
        to[vector] = axis == from   ? of.middle[into] - coordinates[into]
                     : axis == into ? coordinates[from] - of.middle[from]
                                    : 0;
  }
};

}  // namespace whilst::multigrid
