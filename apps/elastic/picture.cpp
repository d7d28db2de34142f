#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "raster.hpp"
#include "vec3.hpp"

namespace whilst::elastic {
namespace {

constexpr int oversampling = 3;  // samples per pixel, each way
constexpr double nothing = std::numeric_limits<double>::infinity();

// Colours are in linear light.
constexpr vec3 solid_colour{0.86, 0.27, 0.07}, cloth_colour{0.06, 0.30, 0.48}, cloth_dark_colour{0.85, 0.82, 0.74},
    sphere_colour{0.42, 0.45, 0.50}, floor_colour{0.62, 0.60, 0.57}, sky_colour{0.80, 0.86, 0.93},
    sun_colour{1.0, 0.95, 0.86}, shade_colour{0.36, 0.41, 0.50};
const vec3 to_sun = normalized({0.5, 1.0, 0.45});

vec3 mixed(const vec3& a, const vec3& b, double part) { return (1 - part) * a + part * b; }
vec3 product(const vec3& a, const vec3& b) { return {a[0] * b[0], a[1] * b[1], a[2] * b[2]}; }

/// Distance along the ray to the sphere; `nothing` if it misses.
double meet(const obstacles::sphere& s, const vec3& origin, const vec3& direction) {
  const vec3 d = origin - vec3{s.centre[0], s.centre[1], s.centre[2]};
  const double a = dot(direction, direction), half = dot(d, direction), c = dot(d, d) - s.radius * s.radius;
  const double root = half * half - a * c;
  if (root < 0) return nothing;
  const double at = (-half - std::sqrt(root)) / a;
  return at > 0 ? at : nothing;
}

/// What is visible at one moment.
class view {
 public:
  view(const scene& start, std::span<const double> positions, const vec3& middle, double radius)
      : scene_(start), positions_(positions), middle_(middle), radius_(radius) {
    sun_ = camera::look(middle + 3 * radius * to_sun, middle, 1.2 * radius, 1.2 * radius, true);
    above_ = camera::look(middle + vec3{0, 3 * radius, 0}, middle, 1.6 * radius, 1.6 * radius, true);
    sunlit_ = rasterize(sun_, shadow_size, shadow_size, start.surface, positions);
    open_ = rasterize(above_, open_size, open_size, start.surface, positions);
    smooth_normals();
  }

  vec3 colour(const camera& from, double x, double y, const visible& seen) const {
    const vec3 origin = from.origin(x, y), direction = from.direction(x, y);
    double nearest = seen.triangle >= 0 ? seen.depth : nothing;
    const obstacles::sphere* sphere = nullptr;
    const obstacles& solid = scene_.obstacles;
    for (int k = 0; k < solid.number_of_spheres; ++k) {
      if (const double at = meet(solid.spheres[k], origin, direction); at < nearest) {
        nearest = at;
        sphere = &solid.spheres[k];
      }
    }
    const double floor = std::isfinite(solid.floor) && direction[1] < 0 ? (solid.floor - origin[1]) / direction[1] : -1;
    const vec3 towards_eye = -1 / length(direction) * direction;
    if (floor > 0 && floor < nearest) return floor_at(origin + floor * direction);
    if (sphere) {
      const vec3 at = origin + nearest * direction;
      const vec3 normal = 1 / sphere->radius * (at - vec3{sphere->centre[0], sphere->centre[1], sphere->centre[2]});
      return lit(at, normal, towards_eye, sphere_colour, 0.25, sphere);
    }
    if (seen.triangle >= 0) return body_at(origin + nearest * direction, towards_eye, seen);
    return sky(direction);
  }

 private:
  static constexpr int shadow_size = 1024, open_size = 256;

  static vec3 sky(const vec3& direction) {
    const double height = std::clamp(direction[1] / length(direction) * 2.5, 0.0, 1.0);
    return mixed({0.93, 0.94, 0.95}, sky_colour, height);
  }

  vec3 vertex(std::int32_t v) const {
    const auto at = 3 * static_cast<std::size_t>(v);
    return {positions_[at], positions_[at + 1], positions_[at + 2]};
  }
  vec3 normal_of(const surface_triangle& t) const {
    return cross(vertex(t.vertex[1]) - vertex(t.vertex[0]), vertex(t.vertex[2]) - vertex(t.vertex[0]));
  }

  /// For the cloth, which has no edges. A solid is drawn flat.
  void smooth_normals() {
    normals_.assign(scene_.mass.size(), {0, 0, 0});
    for (const surface_triangle& t : scene_.surface) {
      if (!t.of_cloth) continue;
      const vec3 normal = normal_of(t);
      for (const std::int32_t v : t.vertex) {
        vec3& sum = normals_[static_cast<std::size_t>(v)];
        sum = sum + normal;
      }
    }
  }

  /// A grid that fades into the distance.
  vec3 floor_at(const vec3& at) const {
    const double away = std::hypot(at[0] - middle_[0], at[2] - middle_[2]) / radius_;
    const auto line = [](double u) {
      const double from_line = std::abs(u - std::round(u));
      return std::clamp((0.02 - from_line) / 0.02, 0.0, 1.0);
    };
    const double grid = 0.22 * std::max(line(at[0] / 0.25), line(at[2] / 0.25)) * std::clamp(2 - away / 2, 0.0, 1.0);
    const vec3 near = lit(at, {0, 1, 0}, {0, 1, 0}, (1 - grid) * floor_colour, 0, nullptr);
    return mixed(near, {0.93, 0.94, 0.95}, std::clamp((away - 1.2) / 5, 0.0, 1.0));
  }

  vec3 body_at(const vec3& at, const vec3& towards_eye, const visible& seen) const {
    const surface_triangle& t = scene_.surface[static_cast<std::size_t>(seen.triangle)];
    const double part[3] = {1.0 - seen.second - seen.third, seen.second, seen.third};
    vec3 normal = normal_of(t);
    if (t.of_cloth) {
      normal = {0, 0, 0};
      for (std::size_t k = 0; k < 3; ++k)
        normal = normal + part[k] * normalized(normals_[static_cast<std::size_t>(t.vertex[k])]);
    }
    normal = normalized(normal);
    if (t.of_cloth && dot(normal, towards_eye) < 0) normal = -1 * normal;
    vec3 colour = !t.of_cloth ? solid_colour : t.dark ? cloth_dark_colour : cloth_colour;
    if (!t.of_cloth) {
      // Edges of the mesh, three millimetres wide on each side.
      double edge = nothing;
      const double twice_area = length(normal_of(t));
      for (std::size_t k = 0; k < 3; ++k)
        edge = std::min(edge,
                        part[k] * twice_area / length(vertex(t.vertex[(k + 1) % 3]) - vertex(t.vertex[(k + 2) % 3])));
      colour = (1 - 0.45 * std::clamp((0.003 - edge) / 0.0015, 0.0, 1.0)) * colour;
    }
    return lit(at + 1e-3 * normal, normal, towards_eye, colour, t.of_cloth ? 0.05 : 0.2, nullptr);
  }

  /// The fraction of the sun's light that arrives.
  double sunlight(const vec3& at, const obstacles::sphere* own) const {
    const obstacles& solid = scene_.obstacles;
    for (int k = 0; k < solid.number_of_spheres; ++k)
      if (&solid.spheres[k] != own && meet(solid.spheres[k], at, to_sun) < nothing) return 0;
    return unhidden(sunlit_, shadow_size, sun_, at, 1, 2.0, 0.006 * radius_);
  }

  /// The fraction of samples around a point, as seen from a light, with nothing in between: (2 reach + 1)^2 samples.
  static double unhidden(const std::vector<visible>& map, int size, const camera& light, const vec3& at, int reach,
                         double spacing, double bias) {
    const vec3 p = light.project(at);
    double open = 0;
    for (int j = -reach; j <= reach; ++j) {
      for (int i = -reach; i <= reach; ++i) {
        const double x = (p[0] + 1) / 2 * size + spacing * i, y = (1 - p[1]) / 2 * size + spacing * j;
        const bool inside = x >= 0 && x < size && y >= 0 && y < size;
        const auto sample = static_cast<std::size_t>(static_cast<int>(y)) * static_cast<std::size_t>(size) +
                            static_cast<std::size_t>(static_cast<int>(x));
        open += !inside || map[sample].depth > p[2] - bias;
      }
    }
    return open / ((2 * reach + 1) * (2 * reach + 1));
  }

  /// The fraction of open sky, roughly: spheres hide a cone of their size, bodies what is above.
  double skylight(const vec3& at, const vec3& normal, const obstacles::sphere* own) const {
    double open = 0.45 + 0.55 * unhidden(open_, open_size, above_, at, 2, 5.0, 0.03 * radius_);
    const obstacles& solid = scene_.obstacles;
    for (int k = 0; k < solid.number_of_spheres; ++k) {
      const obstacles::sphere& s = solid.spheres[k];
      if (&s == own) continue;
      const vec3 d = vec3{s.centre[0], s.centre[1], s.centre[2]} - at;
      const double square = dot(d, d), towards = dot(d, normal) / std::sqrt(square);
      open *= 1 - std::clamp(towards, 0.0, 1.0) * std::min(1.0, s.radius * s.radius / square);
    }
    if (own && std::isfinite(solid.floor))
      open *= 0.65 + 0.35 * std::clamp((at[1] - solid.floor) / own->radius, 0.0, 1.0);
    return open;
  }

  vec3 lit(const vec3& at, const vec3& normal, const vec3& towards_eye, const vec3& colour, double gloss,
           const obstacles::sphere* own) const {
    const double facing = dot(normal, to_sun);
    const double sun = facing > 0 ? sunlight(at + 0.01 * radius_ * normal, own) : 0;
    const double upwards = 0.65 + 0.35 * normal[1];
    const vec3 light = std::max(facing, 0.0) * sun * sun_colour + skylight(at, normal, own) * upwards * shade_colour;
    const vec3 half = normalized(to_sun + towards_eye);
    const double glint = gloss * sun * std::pow(std::max(dot(normal, half), 0.0), 40);
    return product(light, colour) + glint * sun_colour;
  }

  const scene& scene_;
  std::span<const double> positions_;
  vec3 middle_;
  double radius_;
  camera sun_, above_;
  std::vector<visible> sunlit_, open_;
  std::vector<vec3> normals_;
};

/// Corners of the starting scene and its obstacles.
std::vector<vec3> corners_of(const scene& start) {
  std::vector<vec3> corners;
  for (std::size_t v = 0; v < start.mass.size(); ++v)
    corners.push_back({start.positions[3 * v], start.positions[3 * v + 1], start.positions[3 * v + 2]});
  for (int k = 0; k < start.obstacles.number_of_spheres; ++k) {
    const obstacles::sphere& s = start.obstacles.spheres[k];
    for (int corner = 0; corner < 8; ++corner)
      corners.push_back({s.centre[0] + (corner & 1 ? s.radius : -s.radius),
                         s.centre[1] + (corner & 2 ? s.radius : -s.radius),
                         s.centre[2] + (corner & 4 ? s.radius : -s.radius)});
  }
  return corners;
}

/// As close as it can be with all corners in the picture.
camera camera_for(const std::vector<vec3>& corners, const vec3& middle, double radius, double width_by_height) {
  constexpr double half_height = 0.3, margin = 0.93;
  for (double away = 1;; away += 0.05) {
    const camera from = camera::look(middle + away * radius * normalized({0.35, 0.35, 1.0}), middle,
                                     half_height * width_by_height, half_height, false);
    const bool fits = std::all_of(corners.begin(), corners.end(), [&](const vec3& corner) {
      const vec3 p = from.project(corner);
      return p[2] > 0 && std::abs(p[0]) < margin && std::abs(p[1]) < margin;
    });
    if (fits || away > 10) return from;
  }
}

std::uint8_t as_byte(double light) {
  const double value = std::clamp(light, 0.0, 1.0);
  const double coded = value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055;  // sRGB
  return static_cast<std::uint8_t>(255 * coded + 0.5);
}

}  // namespace

painter::painter(const scene& start, int width, int height) : start_(start), width_(width), height_(height) {}

command::image painter::paint(std::span<const double> positions) const {
  const std::vector<vec3> corners = corners_of(start_);
  vec3 low = corners.front(), high = low;
  for (const vec3& p : corners) {
    for (std::size_t c = 0; c < 3; ++c) {
      low[c] = std::min(low[c], p[c]);
      high[c] = std::max(high[c], p[c]);
    }
  }
  const vec3 middle = 0.5 * (low + high);
  const double radius = length(high - low) / 2;
  const camera from = camera_for(corners, middle, radius, static_cast<double>(width_) / height_);
  const int width = oversampling * width_, height = oversampling * height_;
  const std::vector<visible> seen = rasterize(from, width, height, start_.surface, positions);
  const view now(start_, positions, middle, radius);

  command::image picture{width_, height_, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width_ * height_))};
#pragma omp parallel for schedule(dynamic, 8)
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      vec3 sum{0, 0, 0};
      for (int j = 0; j < oversampling; ++j) {
        for (int i = 0; i < oversampling; ++i) {
          const int sx = oversampling * x + i, sy = oversampling * y + j;
          const auto sample =
              static_cast<std::size_t>(sy) * static_cast<std::size_t>(width) + static_cast<std::size_t>(sx);
          sum = sum + now.colour(from, 2 * (sx + 0.5) / width - 1, 1 - 2 * (sy + 0.5) / height, seen[sample]);
        }
      }
      for (std::size_t c = 0; c < 3; ++c)
        picture.rgb[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) +
                    c] = as_byte(sum[c] / (oversampling * oversampling));
    }
  }
  return picture;
}

}  // namespace whilst::elastic
