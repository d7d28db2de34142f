#include "apps/common/pictures/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "apps/common/pictures/drawing.hpp"

namespace whilst::command {
namespace {

constexpr double width = 800, height = 480;  // without the legend, which is below
constexpr double first_row = height + 4;
constexpr double left = 76, right = 776, top = 52, bottom = 420;

/// The ranges of both axes, and a record's position in the picture.
struct axes {
  double last_iteration = 1;
  int lowest_decade = 0, highest_decade = 0;

  double x(double iteration) const { return left + (right - left) * iteration / last_iteration; }
  double y(double decade) const {
    return bottom - (bottom - top) * (decade - lowest_decade) / (highest_decade - lowest_decade);
  }
};

double relative(const convergence_curve& curve, const history_record& record) {
  return curve.scale > 0 ? record.residual_norm / curve.scale : record.residual_norm;
}

axes choose_axes(const std::vector<convergence_curve>& curves, double tolerance) {
  axes result;
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  bool has_zero = false;
  const auto include = [&](double value) {
    if (value == 0) has_zero = true;
    if (!(value > 0) || std::isinf(value)) return;
    lowest = std::min(lowest, std::log10(value));
    highest = std::max(highest, std::log10(value));
  };
  if (tolerance > 0) include(tolerance / 2);  // so that its line does not lie on the frame
  for (const auto& curve : curves) {
    for (const auto& record : curve.history) {
      include(relative(curve, record));
      result.last_iteration = std::max(result.last_iteration, static_cast<double>(record.iteration));
    }
  }
  if (lowest > highest) lowest = highest = 0;
  // The small shifts keep a value that rounding moves off a decade from opening another one.
  result.lowest_decade = static_cast<int>(std::floor(lowest + 1e-9)) - (has_zero ? 1 : 0);
  result.highest_decade = static_cast<int>(std::ceil(highest - 1e-9));
  if (result.highest_decade == result.lowest_decade) {
    result.highest_decade += 1;
    result.lowest_decade -= 1;
  }
  return result;
}

void draw_axes(std::back_insert_iterator<std::string> out, const axes& a, const std::string& title,
               const std::string& quantity, double legend_height) {
  fmt::format_to(out, "{}", svg_head(width, height + legend_height, title, left, right));

  const int decades = a.highest_decade - a.lowest_decade;
  const int decade_step = static_cast<int>(round_step(decades, 12));
  for (int decade = a.lowest_decade; decade <= a.highest_decade; ++decade) {
    const bool labelled = decade % decade_step == 0 || decades <= 2;
    if (!labelled && decades > 60) continue;
    fmt::format_to(out,
                   "<path d=\"M{0} {2:.1f}H{1}\" stroke=\"#e4e4e4\"/><path d=\"M{3} {2:.1f}H{0}\" stroke=\"#444\"/>\n",
                   left, right, a.y(decade), left - (labelled ? 6 : 3));
    if (labelled) {
      fmt::format_to(out,
                     "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">10<tspan dy=\"-5\" font-size=\"10\">{}{}</tspan>"
                     "</text>\n",
                     left - 10, a.y(decade) + 5, decade < 0 ? "\u2212" : "", std::abs(decade));
    }
  }
  const double step = round_step(a.last_iteration, 10);
  for (double iteration = 0; iteration <= a.last_iteration; iteration += step) {
    fmt::format_to(out,
                   "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#f0f0f0\"/><path d=\"M{0:.1f} {2}v6\" stroke=\"#444\"/>"
                   "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.0f}</text>\n",
                   a.x(iteration), top, bottom, bottom + 21, iteration);
  }
  fmt::format_to(out, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n", left, top,
                 right - left, bottom - top);
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration</text>\n", (left + right) / 2,
                 bottom + 44);
  fmt::format_to(out, "<text transform=\"translate(22 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                 (top + bottom) / 2, escaped(quantity));
}

std::string stroke(size_t curve, size_t curves) {
  const double thickness = curves == 1 ? 2 : std::max(1.5, 6.0 - 1.5 * static_cast<double>(curve));
  return line_style(colour_of(curve), thickness, curves == 1 ? "" : dashes_of(curve));
}

/// Draws one curve and returns whether it has residuals of 0.
bool draw_curve(std::back_insert_iterator<std::string> out, const axes& a, const std::vector<convergence_curve>& curves,
                size_t number) {
  const auto& curve = curves[number];
  std::string path, marks;
  bool drawing = false, has_zero = false;
  // If there are few records, mark all. If many, mark about eight, each curve at its own iterations.
  const size_t records = curve.history.size();
  const size_t stride = records <= 20 && curves.size() == 1 ? 1 : std::max<size_t>(1, records / 8);
  const size_t first_mark = stride == 1 ? 0 : stride * number / curves.size();
  for (size_t i = 0; i < records; ++i) {
    const double value = relative(curve, curve.history[i]);
    const double x = a.x(static_cast<double>(curve.history[i].iteration));
    if (value == 0) {
      has_zero = true;
      fmt::format_to(std::back_inserter(marks), "<path d=\"M{:.1f} {:.1f}m-5 -9h10l-5 9z\" fill=\"{}\"/>\n", x, bottom,
                     colour_of(number));
    }
    if (!(value >= 0) || std::isinf(value)) {
      drawing = false;
      continue;
    }
    const double y = value == 0 ? bottom : a.y(std::log10(value));
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", drawing ? 'L' : 'M', x, y);
    drawing = true;
    if (value > 0 && (i % stride == first_mark || records == 1)) marks += marker(number, x, y);
  }
  if (!path.empty()) fmt::format_to(out, "<path d=\"{}\"{}/>\n", path, stroke(number, curves.size()));
  fmt::format_to(out, "{}", marks);
  return has_zero;
}

legend make_legend(const std::vector<convergence_curve>& curves, double tolerance, const std::string& zero) {
  legend result(left, right, first_row);
  for (size_t number = 0; number < curves.size(); ++number) {
    result.add(curves[number].label, [&](double x, double y) {
      return fmt::format("<path d=\"M{:.1f} {:.1f}h36\"{}/>\n{}", x, y, stroke(number, curves.size()),
                         marker(number, x + 18, y));
    });
  }
  if (tolerance > 0) {
    result.add("tolerance", [](double x, double y) {
      return fmt::format("<path d=\"M{:.1f} {:.1f}h36\" stroke=\"#555\" stroke-dasharray=\"5 4\"/>\n", x, y);
    });
  }
  if (!zero.empty()) {
    result.add(zero, [](double x, double y) {
      return fmt::format("<path d=\"M{:.1f} {:.1f}m-5 -5h10l-5 9z\" fill=\"#555\"/>\n", x + 18, y);
    });
  }
  return result;
}

}  // namespace

std::string convergence_svg(const std::string& title, const std::vector<convergence_curve>& curves, double tolerance,
                            const convergence_words& words) {
  const axes a = choose_axes(curves, tolerance);
  std::string lines;
  bool has_zero = false;
  for (size_t number = 0; number < curves.size(); ++number)
    has_zero |= draw_curve(std::back_inserter(lines), a, curves, number);
  const legend below = make_legend(curves, tolerance, has_zero ? words.zero : "");

  std::string svg;
  const auto out = std::back_inserter(svg);
  draw_axes(out, a, title, words.quantity, below.height());
  if (tolerance > 0) {
    fmt::format_to(out, "<path d=\"M{} {:.1f}H{}\" stroke=\"#555\" stroke-dasharray=\"5 4\"/>\n", left,
                   a.y(std::log10(tolerance)), right);
  }
  return svg + lines + below.text() + "</svg>\n";
}

}  // namespace whilst::command
