#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>

#include "whilst/error.hpp"

namespace whilst::fitting {
namespace {

using output = std::back_insert_iterator<std::string>;

constexpr double width = 800, height = 600;
constexpr double left = 92, right = 776;

// Distinguishable with colour blindness: Okabe and Ito (2008).
constexpr const char* data_colour = "#0072b2";
constexpr const char* curve_colour = "#d55e00";

/// One axis of a panel: which values it shows, and where in the picture.
struct axis {
  double low, high;   ///< values
  double begin, end;  ///< their positions in the picture
  double step;        ///< between ticks
  int digits;         ///< needed to tell ticks apart

  /// Values far outside are drawn at a distance that every viewer can handle.
  double operator()(double value) const {
    return std::clamp(begin + (end - begin) * ((value - low) / (high - low)), -1e5, 1e5);
  }
};

/// 1, 2 or 5 times a power of ten, so that at most `most` steps cover the range.
double round_step(double range, int most) {
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range <= factor * power * most) return factor * power;
  }
  return 10 * power;
}

struct value_range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

axis make_axis(value_range range, double begin, double end, int most_ticks) {
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  double margin = 0.05 * (range.high - range.low);
  // A single value, or values that differ only by rounding.
  if (!(margin > 1e-13 * largest)) margin = largest > 0 ? 1e-3 * largest : 1;
  axis result{range.low - margin, range.high + margin, begin, end, 0, 0};
  result.step = round_step(result.high - result.low, most_ticks);
  if (!std::isfinite(result.high - result.low) || !(result.step > 0) || !std::isfinite(1 / result.step))
    throw error("drawing the picture", "the data span too much or too little for its axes", "Leave --plot out");
  // At least five, so that 1500 is not 1.5e+03.
  const double steps = std::max(largest, result.step) / result.step;
  result.digits = std::max(5, static_cast<int>(std::ceil(std::log10(steps))) + 2);
  return result;
}

/// The bytes of the UTF-8 character that text starts with; 0 if there is none. Names in files may be anything.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

/// Escaped for XML; what is no text becomes a question mark.
std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length != 1) {
      result += length == 0 ? "?" : text.substr(0, length);
    } else if (text[0] == '&') {
      result += "&amp;";
    } else if (text[0] == '<') {
      result += "&lt;";
    } else if (text[0] == '>') {
      result += "&gt;";
    } else {
      result += static_cast<unsigned char>(text[0]) < 0x20 ? ' ' : text[0];
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

/// With a minus sign as wide as a plus.
std::string tick_label(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", std::abs(value), digits);
  return value < 0 ? "\u2212" + text : text;
}

/// Calls use(value) for each tick.
template <class Use>
void for_each_tick(const axis& a, Use&& use) {
  for (double k = std::ceil(a.low / a.step); k * a.step <= a.high; ++k) use(k * a.step);
}

void text(output out, double x, double y, const char* anchor, const std::string& words, double size = 13) {
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{:.1f}\">{}</text>\n", x, y,
                 anchor, size, escaped(words));
}

/// `largest` if the words then fit into so many units; a letter is about half as wide as it is high.
double size_to_fit(const std::string& words, double units, double largest) {
  return std::min(largest, units / (0.55 * static_cast<double>(std::max<std::size_t>(1, words.size()))));
}

void draw_panel(output out, const axis& x, const axis& y, const std::string& y_name, bool label_x) {
  for_each_tick(y, [&](double value) {
    fmt::format_to(out, "<path d=\"M{} {:.1f}H{}\" stroke=\"#e8e8e8\"/><path d=\"M{} {:.1f}h-6\" stroke=\"#444\"/>\n",
                   left, y(value), right, left, y(value));
    text(out, left - 10, y(value) + 4.5, "end", tick_label(value, y.digits));
  });
  for_each_tick(x, [&](double value) {
    fmt::format_to(out, "<path d=\"M{:.1f} {}V{}\" stroke=\"#f0f0f0\"/><path d=\"M{:.1f} {}v6\" stroke=\"#444\"/>\n",
                   x(value), y.end, y.begin, x(value), y.begin);
    if (label_x) text(out, x(value), y.begin + 21, "middle", tick_label(value, x.digits));
  });
  fmt::format_to(out, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n", left,
                 y.end, right - left, y.begin - y.end);
  fmt::format_to(out,
                 "<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\" font-size=\"{:.1f}\">{}"
                 "</text>\n",
                 (y.begin + y.end) / 2, size_to_fit(y_name, y.begin - y.end, 13), escaped(y_name));
}

/// Hollow circles, so that the curve and points below remain visible.
void draw_points(output out, const axis& x, const axis& y, std::span<const double> predictors,
                 std::span<const double> values) {
  const double radius = values.size() > 400 ? 1.8 : 3.2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", x(predictors[i]), y(values[i]), radius);
  }
}

/// A line through the values, broken where they are not finite.
void draw_line(output out, const axis& x, const axis& y, std::span<const double> places,
               std::span<const double> values) {
  bool drawing = false;
  fmt::format_to(out, "<path clip-path=\"url(#curve)\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" d=\"",
                 curve_colour);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]))
      fmt::format_to(out, "{}{:.1f} {:.1f}", drawing ? 'L' : 'M', x(places[i]), y(values[i]));
    drawing = std::isfinite(values[i]);
  }
  fmt::format_to(out, "\"/>\n");
}

/// Above the panel, where it never hides data.
void draw_legend(output out) {
  const double y = 52;
  fmt::format_to(out, "<circle cx=\"{}\" cy=\"{}\" r=\"3.2\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                 right - 130, y, data_colour);
  text(out, right - 120, y + 4.5, "start", "data");
  fmt::format_to(out, "<path d=\"M{} {}h28\" stroke=\"{}\" stroke-width=\"2\"/>\n", right - 72, y, curve_colour);
  text(out, right - 38, y + 4.5, "start", "curve");
}

}  // namespace

std::string curve_svg(const fit_result& result) {
  const data_set& data = result.data;
  const std::span<const double> b = result.outcome.parameters;
  value_range across, up, off;
  for (const double value : data.predictors) across.include(value);
  for (const double value : result.response) up.include(value);
  const axis x = make_axis(across, left, right, 9);

  constexpr int samples = 600;
  std::vector<double> places;
  for (int i = 0; i <= samples; ++i) places.push_back(across.low + (across.high - across.low) * i / samples);
  const std::vector<double> curve = evaluate(result.model.name, b, places);
  // The curve has room beyond the data, but a pole of it must not flatten them.
  const value_range points = up;
  const double room = 0.3 * (points.high - points.low);
  for (const double value : curve) {
    if (std::isfinite(value)) up.include(std::clamp(value, points.low - room, points.high + room));
  }
  std::vector<double> residuals = evaluate(result.model.name, b, data.predictors);
  off.include(0);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    residuals[i] = result.response[i] - residuals[i];
    if (std::isfinite(residuals[i])) off.include(residuals[i]);
  }
  const axis y = make_axis(up, 400, 64, 8);
  const axis z = make_axis(off, 540, 424, 4);

  std::string svg;
  const output out(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                 "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n"
                 "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
                 "<clipPath id=\"curve\"><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\"/></clipPath>\n",
                 width, height, left, y.end, right - left, y.begin - y.end);
  const std::string title = fmt::format("{}: {}", result.model.name, result.model.formula);
  text(out, width / 2, 28, "middle", title, size_to_fit(title, width - 40, 15));
  draw_legend(out);
  const bool named = data.names.size() == 2;
  draw_panel(out, x, y, named ? data.names[1] : "y", false);
  draw_panel(out, x, z, "residual", true);
  text(out, (left + right) / 2, height - 14, "middle", named ? data.names[0] : "x");
  draw_line(out, x, y, places, curve);
  fmt::format_to(out, "<path d=\"M{} {:.1f}H{}\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", left, z(0), right,
                 curve_colour);
  fmt::format_to(out, "<g fill=\"white\" fill-opacity=\"0.5\" stroke=\"{}\" stroke-width=\"1.5\">\n", data_colour);
  draw_points(out, x, y, data.predictors, result.response);
  draw_points(out, x, z, data.predictors, residuals);
  svg += "</g>\n</svg>\n";
  return svg;
}

}  // namespace whilst::fitting
