#pragma once

#include <span>
#include <string>
#include <vector>

#include "whilst/problems/gallery.hpp"

namespace whilst::detail {

/// A box of isotropic elastic material cut into equal boxes. Two axes mean plane stress, three a solid; axis 0 runs
/// along the length.
struct elastic_box {
  double youngs_modulus = 210e9, poissons_ratio = 0.3;
  /// Metres along each axis, and elements.
  std::vector<double> sizes;
  std::vector<index_type> elements;
  /// Metres across the plane; 1 for a solid.
  double thickness = 1;
  /// Clamps every node with coordinate 0 along axis 0 and leaves it out of the system.
  bool clamped = true;

  int dimension() const { return static_cast<int>(sizes.size()); }
};

/// The stiffness matrix of one element of the box, by rows: 2^d corners times d displacements, d the dimension. Corner
/// c lies at the far end of axis k where bit k of c is set. Exactly symmetric.
std::vector<double> element_stiffness(const elastic_box& box);

/// The stiffness matrix of the box: nodes numbered with the last axis fastest, d displacements each.
template <class T>
csr_matrix<T> stiffness(const elastic_box& box);

/// The gallery's cantilevers; see make_gallery.
template <class T>
gallery_problem<T> cantilever_2d(index_type size, std::string name);
template <class T>
gallery_problem<T> cantilever_3d(index_type size, std::string name);

}  // namespace whilst::detail
