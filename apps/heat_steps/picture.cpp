#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace whilst::heat_steps {

std::string heat_map_svg(const std::vector<double>& u, index_type cells) {
  constexpr index_type most = 64, size = 512;
  const index_type points = cells - 1, stride = (points + most - 1) / most, squares = (points + stride - 1) / stride;
  const double hottest = *std::max_element(u.begin(), u.end());
  const double side = static_cast<double>(size) / static_cast<double>(squares);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" shape-rendering=\"crispEdges\">\n"
      "<title>temperature, black for 0, white for {1:.4g}</title>\n<rect width=\"{0}\" height=\"{0}\"/>\n",
      size, hottest);
  // Black, red, yellow, white, as iron glows.
  const auto channel = [](double third) { return static_cast<int>(std::lround(255 * std::clamp(third, 0.0, 1.0))); };
  for (index_type j = 0; j < squares; ++j) {
    for (index_type i = 0; i < squares; ++i) {
      const double heat = 3 * u[static_cast<std::size_t>(j * stride * points + i * stride)] / hottest;
      if (!(heat > 0)) continue;
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#{:02x}{:02x}{:02x}\"/>\n",
          side * static_cast<double>(i), size - side * static_cast<double>(j + 1), side, side, channel(heat),
          channel(heat - 1), channel(heat - 2));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace whilst::heat_steps
