#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/problems/elasticity/elastic_energies.hpp"
#include "whilst/basics/index_type.hpp"

/// The program that drops elastic bodies.
namespace whilst::elastic {

/// Which bodies to make and put above obstacles. Lengths in metres, the y axis upwards.
struct scene_options {
  /// "solid": a block of tetrahedra; "cloth": a square sheet; "both".
  std::string name = "solid";
  /// Cells along the block's shorter edges: the block has 10 cells^3 tetrahedra, the sheet (4 cells)^2 squares.
  index_type cells = 5;
  /// Whether there is something to fall onto.
  bool obstacles = true;
  /// Young's modulus of the solid, in pascals, and its Poisson's ratio.
  double stiffness = 6e4, poisson = 0.4;
  /// The solid's initial spin, in radians per second.
  double spin = 2;
};

/// A triangle of a body's surface, counter-clockwise from outside.
struct surface_triangle {
  std::array<std::int32_t, 3> vertex;
  bool of_cloth;
  bool dark;  ///< of the cloth's pattern
};

/// All bodies as one mesh, and the obstacles. Vectors and positions have three entries per vertex.
struct scene {
  std::vector<double> positions, velocities;
  std::vector<double> mass;               ///< per vertex, in kilograms
  std::vector<double> contact_stiffness;  ///< per vertex, in newtons per square metre; 0 inside a body

  std::vector<std::int32_t> tetrahedra;  ///< four vertices each
  std::vector<double> inverse_shape;     ///< as neo_hookean needs it
  std::vector<double> volume;
  double mu = 0, lambda = 0;  ///< of neo_hookean, in pascals

  std::vector<std::int32_t> springs;  ///< two vertices each
  std::vector<double> spring_stiffness, spring_length;

  std::vector<surface_triangle> surface;
  whilst::elastic::obstacles obstacles;

  index_type vertices() const { return static_cast<index_type>(mass.size()); }
  index_type number_of_tetrahedra() const { return static_cast<index_type>(volume.size()); }
  index_type number_of_springs() const { return static_cast<index_type>(spring_length.size()); }
  double total_mass() const;
  /// Elastic energy of the terms at rest, in joules.
  double rest_energy() const;
};

scene make_scene(const scene_options& options);

}  // namespace whilst::elastic
