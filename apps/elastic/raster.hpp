#pragma once

#include <array>
#include <span>
#include <vector>

#include "scene.hpp"
#include "vec3.hpp"

namespace whilst::elastic {

/// Looks from a point, or, with no angle, along parallel rays: a pixel (x, y) is a ray, and a depth along it gives a
/// point.
struct camera {
  vec3 eye, right, up, forward;
  double half_width, half_height;  ///< at depth 1; at any depth if rays are parallel
  bool parallel;

  static camera look(const vec3& eye, const vec3& target, double half_width, double half_height, bool parallel);
  /// Horizontal and vertical coordinates, from -1 to 1 within the picture, and the depth.
  vec3 project(const vec3& point) const;
  vec3 origin(double x, double y) const;
  vec3 direction(double x, double y) const;
};

/// What a sample of the picture sees: the nearest triangle, and where on it.
struct visible {
  float depth;
  std::int32_t triangle;  ///< -1: none
  float second, third;    ///< barycentric coordinates
};

/// Which triangle each of width x height samples sees, by a depth buffer; triangles are two-sided.
std::vector<visible> rasterize(const camera& from, int width, int height, std::span<const surface_triangle> triangles,
                               std::span<const double> positions);

}  // namespace whilst::elastic
