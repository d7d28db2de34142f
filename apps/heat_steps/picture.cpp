#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "apps/common/pictures/png.hpp"

namespace whilst::heat_steps {
namespace {

constexpr int left = 64, top = 48, size = 512, bar = left + size + 32, bar_width = 18;

/// Black, red, yellow, white, as iron glows; heat from 0 to 1.
void append_colour(std::vector<std::uint8_t>& rgb, double heat) {
  for (int third = 0; third < 3; ++third)
    rgb.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(3 * heat - third, 0.0, 1.0))));
}

/// The points, upper row first.
command::image raster_of(const std::vector<double>& u, index_type points, index_type stride, double hottest) {
  const index_type squares = (points + stride - 1) / stride;
  command::image raster{static_cast<int>(squares), static_cast<int>(squares), {}};
  for (index_type j = squares - 1; j >= 0; --j) {
    for (index_type i = 0; i < squares; ++i)
      append_colour(raster.rgb, u[static_cast<std::size_t>((j * points + i) * stride)] / hottest);
  }
  return raster;
}

/// A tick and its number at each quarter of the plate's edges and of the colour bar.
std::string ticks(double hottest) {
  std::string svg;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double part = 0.25 * quarter, x = left + size * part, y = top + size * (1 - part);
    fmt::format_to(std::back_inserter(svg),
                   "<path d=\"M{0} {1}v6M{2} {3}h-6M{4} {3}h5\" stroke=\"#444\"/>\n"
                   "<text x=\"{0}\" y=\"{5}\" text-anchor=\"middle\">{6}</text>\n"
                   "<text x=\"{7}\" y=\"{8}\" text-anchor=\"end\">{6}</text>\n"
                   "<text x=\"{9}\" y=\"{8}\">{10:.3g}</text>\n",
                   x, top + size, left, y, bar + bar_width, top + size + 21, part, left - 10, y + 5,
                   bar + bar_width + 9, hottest * part);
  }
  return svg;
}

}  // namespace

std::string heat_map_svg(const std::string& title, const std::vector<double>& u, index_type cells) {
  constexpr index_type most = 512;
  const index_type points = cells - 1, stride = (points + most - 1) / most;
  const double largest = *std::max_element(u.begin(), u.end()), hottest = largest > 0 ? largest : 1;
  const command::image raster = raster_of(u, points, stride, hottest);
  // A point is the centre of a raster square; in the half cell along the plate's edge, u goes to 0.
  const double cell = static_cast<double>(size) / static_cast<double>(cells);
  const double extent = cell * static_cast<double>(stride * raster.width);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
             "<text x=\"{2}\" y=\"28\" text-anchor=\"middle\" font-size=\"15\">{3}</text>\n",
             bar + bar_width + 92, top + size + 56, left + size / 2, title) +
         fmt::format(
             "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><rect width=\"100%\" height=\"100%\" fill=\"#000\"/>\n"
             "<image x=\"{:.4f}\" y=\"{:.4f}\" width=\"{:.4f}\" height=\"{:.4f}\" preserveAspectRatio=\"none\" "
             "style=\"image-rendering:pixelated\" href=\"{}\"/></svg>\n",
             left, top, size, size, cell / 2, size - cell / 2 - extent, extent, extent,
             command::png_as_address(command::png_of(raster))) +
         fmt::format(
             "<linearGradient id=\"heat\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\"><stop stop-color=\"#000\"/>"
             "<stop offset=\"0.33333\" stop-color=\"#f00\"/><stop offset=\"0.66667\" stop-color=\"#ff0\"/>"
             "<stop offset=\"1\" stop-color=\"#fff\"/></linearGradient>\n"
             "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"url(#heat)\" stroke=\"#444\"/>\n"
             "<rect x=\"{4}\" y=\"{1}\" width=\"{3}\" height=\"{3}\" fill=\"none\" stroke=\"#444\"/>\n",
             bar, top, bar_width, size, left) +
         ticks(hottest) +
         fmt::format(
             "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">x</text>\n"
             "<text transform=\"translate(20 {2}) rotate(-90)\" text-anchor=\"middle\">y</text>\n"
             "<text transform=\"translate({3} {2}) rotate(-90)\" text-anchor=\"middle\">temperature u</text>\n</svg>\n",
             left + size / 2, top + size + 44, top + size / 2, bar + bar_width + 76);
}

}  // namespace whilst::heat_steps
