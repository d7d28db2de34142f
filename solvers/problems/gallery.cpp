#include "whilst/problems/gallery.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numbers>
#include <utility>

#include "solvers/problems/gallery_elasticity.hpp"
#include "solvers/problems/gallery_grid.hpp"
#include "solvers/problems/gallery_jumps.hpp"
#include "solvers/problems/gallery_power_law.hpp"

namespace whilst {
namespace {

using detail::grid_point;
using detail::operator+;

/// The difference stencil with coefficient weights[k] along axis k, minus the shift; weight 0 omits an axis.
template <class T>
gallery_problem<T> laplacian(index_type size, const std::array<double, 3>& weights, std::string name,
                             std::string description, double shift = 0) {
  grid_point extents{1, 1, 1};
  std::vector<std::pair<grid_point, double>> entries;
  double diagonal = -shift;
  for (int axis = 0; axis < 3; ++axis) {
    if (weights[axis] == 0) continue;
    extents[axis] = size;
    diagonal += 2 * weights[axis];
    for (const index_type step : {-1, 1}) {
      grid_point way{};
      way[axis] = step;
      entries.emplace_back(way, -weights[axis]);
    }
  }
  entries.emplace_back(grid_point{}, diagonal);
  std::ranges::sort(entries);

  std::vector<grid_point> stencil;
  stencil.reserve(entries.size());
  for (const auto& [way, value] : entries) stencil.push_back(way);
  csr_matrix<T> matrix = detail::assemble_on_grid<T>(
      extents, 1, stencil, [&](const grid_point&, std::size_t s) { return std::array<double, 9>{entries[s].second}; });
  std::vector<T> rhs(matrix.rows(), T(1));
  return {std::move(name), std::move(description), std::move(matrix), std::move(rhs), std::nullopt};
}

template <class T>
gallery_problem<T> poisson_1d(index_type size, std::string name) {
  return laplacian<T>(size, {0, 0, 1}, std::move(name), "Poisson equation on a line, 3-point stencil 2, -1");
}

template <class T>
gallery_problem<T> poisson_2d(index_type size, std::string name) {
  return laplacian<T>(size, {0, 1, 1}, std::move(name), "Poisson equation on a square, 5-point stencil 4, -1");
}

template <class T>
gallery_problem<T> poisson_3d(index_type size, std::string name) {
  return laplacian<T>(size, {1, 1, 1}, std::move(name), "Poisson equation on a cube, 7-point stencil 6, -1");
}

template <class T>
gallery_problem<T> anisotropic_2d(index_type size, std::string name) {
  return laplacian<T>(size, {0, 0.01, 1}, std::move(name),
                      "-u_xx - 0.01 u_yy on a square, 5-point stencil 2.02, -1, -0.01");
}

/// -Laplace u - k^2 u with ten grid points per wavelength 2 pi / k: (k h)^2 = (2 pi / 10)^2. The eigenvalues
/// 4 - 2 cos(i pi / (N + 1)) - 2 cos(j pi / (N + 1)) below that become negative, a share of 3 % of them for large N.
template <class T>
gallery_problem<T> helmholtz_2d(index_type size, std::string name) {
  constexpr double kh = std::numbers::pi / 5;
  return laplacian<T>(size, {0, 1, 1}, std::move(name),
                      "Helmholtz equation on a square, ten points a wavelength: symmetric indefinite", kh * kh);
}

/// Each point minus its neighbours: rows add up to zero. A unit flows in at the first point and out at the last.
template <class T>
gallery_problem<T> neumann_2d(index_type size, std::string name) {
  const grid_point extents{1, size, size};
  const std::vector<grid_point> stencil{{0, -1, 0}, {0, 0, -1}, {0, 0, 0}, {0, 0, 1}, {0, 1, 0}};
  constexpr std::size_t centre = 2;
  csr_matrix<T> matrix = detail::assemble_on_grid<T>(extents, 1, stencil, [&](const grid_point& point, std::size_t s) {
    const auto neighbours =
        std::ranges::count_if(stencil, [&](const grid_point& way) { return detail::is_inside(point + way, extents); });
    return std::array<double, 9>{s == centre ? static_cast<double>(neighbours - 1) : -1};
  });
  std::vector<T> rhs(static_cast<std::size_t>(matrix.rows()));
  rhs.front() += 1;
  rhs.back() -= 1;
  return {std::move(name), "Poisson equation on a square without boundary values: singular, its rows add up to zero",
          std::move(matrix), std::move(rhs), std::nullopt};
}

constexpr std::array<gallery_entry, 11> entries{{
    {"poisson1d", "Poisson equation on N points of a line, 3-point stencil"},
    {"poisson2d", "Poisson equation on N x N points of a square, 5-point stencil"},
    {"poisson3d", "Poisson equation on N x N x N points of a cube, 7-point stencil"},
    {"anisotropic2d", "-u_xx - 0.01 u_yy on N x N points of a square, 5-point stencil"},
    {"checkerboard3d", "heat conduction in N x N x N cells, 1 and 1e6 in turn in cubes of 8 x 8 x 8 of them"},
    {"jumps3d", "heat conduction in N x N x N cells, in each by chance from 1e-3 to 1e3"},
    {"helmholtz2d", "Helmholtz equation on N x N points of a square, ten a wavelength: symmetric indefinite"},
    {"neumann2d", "Poisson equation on N x N points of a square without boundary values: singular"},
    {"elasticity2d", "steel cantilever in plane stress, 4N x N rectangles; gives its tip deflection"},
    {"elasticity3d", "steel cantilever, 4N x N x N bricks; gives its tip deflection"},
    {"powerlaw", "N rows whose lengths follow a power law, about 10 N nonzeros: unsymmetric, diagonally dominant"},
}};

/// How to make a problem, and its size: rows as a floating-point number, which cannot overflow.
template <class T>
struct recipe {
  gallery_problem<T> (*make)(index_type size, std::string name);
  double (*rows)(double size);
  int entries_per_row;

  bool fits(index_type size) const {
    constexpr double most_rows = std::numeric_limits<std::int32_t>::max(), most_bytes = 64e9;
    const double n = rows(static_cast<double>(size));
    const double bytes_per_row = sizeof(index_type) + sizeof(T) + entries_per_row * (sizeof(std::int32_t) + sizeof(T));
    return n <= most_rows && n * bytes_per_row <= most_bytes;
  }
};

/// In the order of `entries`.
template <class T>
constexpr std::array<recipe<T>, entries.size()> recipes{{
    {poisson_1d<T>, [](double n) { return n; }, 3},
    {poisson_2d<T>, [](double n) { return n * n; }, 5},
    {poisson_3d<T>, [](double n) { return n * n * n; }, 7},
    {anisotropic_2d<T>, [](double n) { return n * n; }, 5},
    {detail::checkerboard_3d<T>, [](double n) { return n * n * n; }, 7},
    {detail::jumps_3d<T>, [](double n) { return n * n * n; }, 7},
    {helmholtz_2d<T>, [](double n) { return n * n; }, 5},
    {neumann_2d<T>, [](double n) { return n * n; }, 5},
    {detail::cantilever_2d<T>, [](double n) { return 2 * 4 * n * (n + 1); }, 18},
    {detail::cantilever_3d<T>, [](double n) { return 3 * 4 * n * (n + 1) * (n + 1); }, 81},
    {detail::power_law<T>, [](double n) { return n; }, 10},
}};

std::string list_of_names() {
  std::string list;
  for (const gallery_entry& entry : entries) list.append(list.empty() ? "" : ", ").append(entry.name);
  return list;
}

}  // namespace

std::span<const gallery_entry> gallery_names() { return entries; }

template <class T>
gallery_problem<T> make_gallery(std::string_view name_and_size) {
  const std::string doing = "making the gallery problem \"" + std::string(name_and_size) + "\"";
  const std::size_t colon = name_and_size.find(':');
  const std::string name(name_and_size.substr(0, colon));
  const auto found = std::ranges::find(entries, name, &gallery_entry::name);
  if (found == entries.end()) {
    throw error(doing, "there is no problem named \"" + name + "\"",
                "Give NAME:SIZE, as poisson2d:512, with NAME one of " + list_of_names());
  }
  if (colon == std::string_view::npos) throw error(doing, "it has no size", "Append one, as " + name + ":32");

  const std::string_view text = name_and_size.substr(colon + 1);
  const char* const end = text.data() + text.size();
  index_type size = 0;
  const auto [parsed, code] = std::from_chars(text.data(), end, size);
  const bool is_huge = code == std::errc::result_out_of_range && text.front() != '-';
  if (parsed != end || (code != std::errc() && !is_huge) || (!is_huge && size < 1)) {
    throw error(doing, "its size \"" + std::string(text) + "\" is not a whole number above zero",
                "Give one, as " + name + ":32");
  }
  const recipe<T>& chosen = recipes<T>[found - entries.begin()];
  if (is_huge || !chosen.fits(size)) {
    index_type largest = 1, too_large = index_type{1} << 31;
    while (too_large - largest > 1) {
      const index_type middle = (largest + too_large) / 2;
      (chosen.fits(middle) ? largest : too_large) = middle;
    }
    throw error(doing, "it would have more than 2^31 - 1 rows or take more than 64 GB",
                "The largest size is " + name + ":" + std::to_string(largest));
  }
  return chosen.make(size, std::string(name_and_size));
}

template gallery_problem<float> make_gallery<float>(std::string_view);
template gallery_problem<double> make_gallery<double>(std::string_view);

}  // namespace whilst
