#include "raster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whilst::elastic {

camera camera::look(const vec3& eye, const vec3& target, double half_width, double half_height, bool parallel) {
  camera made{eye, {}, {}, normalized(target - eye), half_width, half_height, parallel};
  const vec3 sky = std::abs(made.forward[1]) < 0.99 ? vec3{0, 1, 0} : vec3{0, 0, 1};
  made.right = normalized(cross(made.forward, sky));
  made.up = cross(made.right, made.forward);
  return made;
}

vec3 camera::project(const vec3& point) const {
  const vec3 d = point - eye;
  const double depth = dot(d, forward), scale = parallel ? 1 : depth;
  return {dot(d, right) / (scale * half_width), dot(d, up) / (scale * half_height), depth};
}
vec3 camera::origin(double x, double y) const {
  return parallel ? eye + x * half_width * right + y * half_height * up : eye;
}
vec3 camera::direction(double x, double y) const {
  return parallel ? forward : forward + x * half_width * right + y * half_height * up;
}

std::vector<visible> rasterize(const camera& from, int width, int height, std::span<const surface_triangle> triangles,
                               std::span<const double> positions) {
  std::vector<visible> seen(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
                            {std::numeric_limits<float>::infinity(), -1, 0, 0});
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    // In samples, from the upper left corner; the third coordinate is the depth.
    vec3 p[3];
    bool in_front = true;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto at = 3 * static_cast<std::size_t>(triangles[t].vertex[k]);
      p[k] = from.project({positions[at], positions[at + 1], positions[at + 2]});
      in_front = in_front && (from.parallel || p[k][2] > 1e-3) && std::isfinite(p[k][0] + p[k][1]);
      p[k][0] = (p[k][0] + 1) / 2 * width;
      p[k][1] = (1 - p[k][1]) / 2 * height;
    }
    const double area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
    if (!in_front || area == 0) continue;
    const auto range = [&](std::size_t c, int size, int& first, int& last) {
      const auto [least, most] = std::minmax({p[0][c], p[1][c], p[2][c]});
      first = static_cast<int>(std::clamp(std::ceil(least - 0.5), 0.0, static_cast<double>(size)));
      last = static_cast<int>(std::clamp(std::floor(most - 0.5), -1.0, static_cast<double>(size - 1)));
    };
    int left, right, top, bottom;
    range(0, width, left, right);
    range(1, height, top, bottom);
    for (int y = top; y <= bottom; ++y) {
      for (int x = left; x <= right; ++x) {
        const double sx = x + 0.5 - p[0][0], sy = y + 0.5 - p[0][1];
        double b = (sx * (p[2][1] - p[0][1]) - sy * (p[2][0] - p[0][0])) / area;
        double c = (sy * (p[1][0] - p[0][0]) - sx * (p[1][1] - p[0][1])) / area;
        double a = 1 - b - c;
        if (a < 0 || b < 0 || c < 0) continue;
        double depth = a * p[0][2] + b * p[1][2] + c * p[2][2];
        if (!from.parallel) {  // one over the depth is linear in the picture
          a /= p[0][2];
          b /= p[1][2];
          c /= p[2][2];
          depth = 1 / (a + b + c);
          b *= depth;
          c *= depth;
        }
        visible& sample =
            seen[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
        if (depth < sample.depth)
          sample = {static_cast<float>(depth), static_cast<std::int32_t>(t), static_cast<float>(b),
                    static_cast<float>(c)};
      }
    }
  }
  return seen;
}

}  // namespace whilst::elastic
