#include "scene.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "vec3.hpp"

namespace whilst::elastic {
namespace {

constexpr double solid_density = 1000;           // kg / m^3
constexpr double cloth_density = 0.3;            // kg / m^2
constexpr double cloth_stiffness = 200;          // N / m
constexpr double cloth_bending = 0.02;           // as a fraction of that, for springs that skip a vertex
constexpr double contact_distance = 0.015;       // m
constexpr double solid_contact_stiffness = 3e8;  // pressure per squared depth: 30 kPa at 1 cm
constexpr double cloth_contact_stiffness = 4e6;  // 400 Pa at 1 cm
constexpr double block_length = 1, sheet_edge = 1.2;

vec3 position(const scene& made, std::int32_t vertex) {
  const double* const at = made.positions.data() + 3 * vertex;
  return {at[0], at[1], at[2]};
}

std::int32_t add_vertex(scene& made, const vec3& at) {
  made.positions.insert(made.positions.end(), at.begin(), at.end());
  made.velocities.insert(made.velocities.end(), 3, 0.0);
  made.mass.push_back(0);
  made.contact_stiffness.push_back(0);
  return static_cast<std::int32_t>(made.mass.size()) - 1;
}

/// Of a cube, whose corner k is at the bits of k: one inside, and one at each corner that it leaves out. Neighbours use
/// the mirror image, so that they agree on shared diagonals.
constexpr int tetrahedra_of_cube[5][4] = {{0, 3, 5, 6}, {1, 0, 3, 5}, {2, 0, 6, 3}, {4, 0, 5, 6}, {7, 3, 6, 5}};

void add_tetrahedron(scene& made, std::array<std::int32_t, 4> v) {
  const auto edge = [&](int k) { return position(made, v[k]) - position(made, v[0]); };
  double volume = dot(edge(1), cross(edge(2), edge(3))) / 6;
  if (volume < 0) {
    std::swap(v[2], v[3]);
    volume = -volume;
  }
  made.tetrahedra.insert(made.tetrahedra.end(), v.begin(), v.end());
  made.volume.push_back(volume);
  for (const std::int32_t vertex : v) made.mass[static_cast<std::size_t>(vertex)] += solid_density * volume / 4;
}

/// Adds the faces that belong to only one tetrahedron.
void add_surface(scene& made) {
  constexpr int faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};  // counter-clockwise from outside
  std::map<std::array<std::int32_t, 3>, std::array<std::int32_t, 3>> alone;
  for (std::size_t e = 0; e < made.volume.size(); ++e) {
    for (const auto& face : faces) {
      std::array<std::int32_t, 3> vertices, key;
      for (std::size_t k = 0; k < 3; ++k) vertices[k] = made.tetrahedra[4 * e + static_cast<std::size_t>(face[k])];
      key = vertices;
      std::sort(key.begin(), key.end());
      if (const auto [found, is_new] = alone.emplace(key, vertices); !is_new) alone.erase(found);
    }
  }
  for (const auto& [key, vertices] : alone) made.surface.push_back({vertices, false, false});
}

/// Inverse of the edge matrix of each tetrahedron in its current shape.
void set_shapes(scene& made) {
  const std::size_t count = made.volume.size();
  made.inverse_shape.resize(9 * count);
  for (std::size_t e = 0; e < count; ++e) {
    const vec3 origin = position(made, made.tetrahedra[4 * e]);
    vec3 edge[3];
    for (std::size_t k = 0; k < 3; ++k) edge[k] = position(made, made.tetrahedra[4 * e + k + 1]) - origin;
    for (std::size_t k = 0; k < 3; ++k) {
      const vec3 row = cross(edge[(k + 1) % 3], edge[(k + 2) % 3]);
      for (std::size_t d = 0; d < 3; ++d) made.inverse_shape[(3 * k + d) * count + e] = row[d] / (6 * made.volume[e]);
    }
  }
}

void add_block(scene& made, const scene_options& options, const vec3& centre) {
  const int n = static_cast<int>(options.cells), count[3] = {2 * n, n, n};
  const double edge = block_length / (2 * n);
  const auto vertex = [&](int i, int j, int k) { return (i * (n + 1) + j) * (n + 1) + k; };
  for (int i = 0; i <= count[0]; ++i)
    for (int j = 0; j <= count[1]; ++j)
      for (int k = 0; k <= count[2]; ++k)
        add_vertex(made, {edge * (i - n), edge * (j - 0.5 * n), edge * (k - 0.5 * n)});
  for (int i = 0; i < count[0]; ++i) {
    for (int j = 0; j < count[1]; ++j) {
      for (int k = 0; k < count[2]; ++k) {
        const int mirror = (i + j + k) % 2;
        for (const auto& corners : tetrahedra_of_cube) {
          std::array<std::int32_t, 4> v;
          for (std::size_t a = 0; a < 4; ++a) {
            const int corner = corners[a] ^ mirror;
            v[a] = vertex(i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2));
          }
          add_tetrahedron(made, v);
        }
      }
    }
  }
  // Tilted, so that it does not meet the sphere with a whole face; tumbling about its centre.
  const double tilt = 0.35, turn = 0.3;
  const vec3 spin{0.4 * options.spin, 0.3 * options.spin, -options.spin};
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(made.mass.size()); ++v) {
    const vec3 p = position(made, v);
    const vec3 tilted{std::cos(tilt) * p[0] - std::sin(tilt) * p[1], std::sin(tilt) * p[0] + std::cos(tilt) * p[1],
                      p[2]};
    const vec3 turned{std::cos(turn) * tilted[0] + std::sin(turn) * tilted[2], tilted[1],
                      std::cos(turn) * tilted[2] - std::sin(turn) * tilted[0]};
    const vec3 at = centre + turned, velocity = cross(spin, turned);
    std::copy(at.begin(), at.end(), made.positions.begin() + 3 * v);
    std::copy(velocity.begin(), velocity.end(), made.velocities.begin() + 3 * v);
  }
  set_shapes(made);
  add_surface(made);
  made.mu = options.stiffness / (2 * (1 + options.poisson));
  const double lame = options.stiffness * options.poisson / ((1 + options.poisson) * (1 - 2 * options.poisson));
  made.lambda = lame + made.mu;
}

void add_sheet(scene& made, index_type cells, const vec3& centre) {
  const int n = static_cast<int>(4 * cells);
  const double edge = sheet_edge / n;
  const auto first = static_cast<std::int32_t>(made.mass.size());
  const auto vertex = [&](int i, int k) { return first + i * (n + 1) + k; };
  const auto add_spring = [&](std::int32_t a, std::int32_t b, double stiffness) {
    const vec3 d = position(made, b) - position(made, a);
    made.springs.insert(made.springs.end(), {a, b});
    made.spring_stiffness.push_back(stiffness);
    made.spring_length.push_back(length(d));
  };
  // Turned slightly, so that it does not fold along its own threads.
  const double turn = 0.4;
  for (int i = 0; i <= n; ++i) {
    for (int k = 0; k <= n; ++k) {
      const double x = edge * i - sheet_edge / 2, z = edge * k - sheet_edge / 2;
      const std::int32_t v = add_vertex(
          made, centre + vec3{std::cos(turn) * x + std::sin(turn) * z, 0, std::cos(turn) * z - std::sin(turn) * x});
      const int sides = (i == 0) + (i == n), ends = (k == 0) + (k == n);
      made.mass[static_cast<std::size_t>(v)] = cloth_density * edge * edge / ((1 << sides) * (1 << ends));
    }
  }
  const double stretch = cloth_stiffness * edge, shear = stretch / 2, bending = cloth_bending * stretch;
  for (int i = 0; i <= n; ++i) {
    for (int k = 0; k <= n; ++k) {
      if (i < n) add_spring(vertex(i, k), vertex(i + 1, k), stretch);
      if (k < n) add_spring(vertex(i, k), vertex(i, k + 1), stretch);
      if (i + 1 < n) add_spring(vertex(i, k), vertex(i + 2, k), bending);
      if (k + 1 < n) add_spring(vertex(i, k), vertex(i, k + 2), bending);
      if (i < n && k < n) {
        add_spring(vertex(i, k), vertex(i + 1, k + 1), shear);
        add_spring(vertex(i + 1, k), vertex(i, k + 1), shear);
        const bool dark = (8 * i / n + 8 * k / n) % 2 != 0;
        made.surface.push_back({{vertex(i, k), vertex(i, k + 1), vertex(i + 1, k + 1)}, true, dark});
        made.surface.push_back({{vertex(i, k), vertex(i + 1, k + 1), vertex(i + 1, k)}, true, dark});
      }
    }
  }
}

/// Each vertex owns a third of each adjacent triangle's area.
void set_contact_stiffness(scene& made) {
  for (const surface_triangle& t : made.surface) {
    const vec3 origin = position(made, t.vertex[0]);
    const vec3 normal = cross(position(made, t.vertex[1]) - origin, position(made, t.vertex[2]) - origin);
    const double share = length(normal) / 6;
    for (const std::int32_t v : t.vertex)
      made.contact_stiffness[static_cast<std::size_t>(v)] +=
          share * (t.of_cloth ? cloth_contact_stiffness : solid_contact_stiffness);
  }
}

}  // namespace

double scene::total_mass() const { return std::accumulate(mass.begin(), mass.end(), 0.0); }

double scene::rest_energy() const {
  double sum = neo_hookean::rest_energy(mu, std::accumulate(volume.begin(), volume.end(), 0.0));
  for (std::size_t e = 0; e < spring_length.size(); ++e)
    sum += green_spring::rest_energy(spring_stiffness[e], spring_length[e]);
  return sum;
}

scene make_scene(const scene_options& options) {
  scene made;
  const bool both = options.name == "both";
  const auto add_sphere = [&](double x, double radius) {
    if (!options.obstacles) return;
    made.obstacles.spheres[made.obstacles.number_of_spheres++] = {{x, radius, 0}, radius};
  };
  if (options.obstacles) made.obstacles.floor = 0;
  made.obstacles.distance = contact_distance;
  if (options.name != "cloth") {
    const double x = both ? -0.85 : 0, radius = 0.35;
    add_block(made, options, {x - 0.1, 2 * radius + 0.8, 0});
    add_sphere(x, radius);
  }
  if (options.name != "solid") {
    const double x = both ? 0.85 : 0, radius = 0.35;
    add_sheet(made, options.cells, {x + 0.05, 2 * radius + 0.3, 0.03});
    add_sphere(x, radius);
  }
  set_contact_stiffness(made);
  return made;
}

}  // namespace whilst::elastic
