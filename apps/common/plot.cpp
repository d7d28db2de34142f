#include "apps/common/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace whilst::command {
namespace {

constexpr double width = 800, height = 480;  // without the legend, which is below
constexpr double first_row = height + 4;
constexpr double left = 76, right = 776, top = 52, bottom = 420;

// Distinguishable with colour blindness: Okabe and Ito (2008).
constexpr std::array colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array dashes{"", "11 7", "2 6", "14 4 3 4", "6 4", "1 3"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

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

/// 1, 2 or 5 times a power of ten, so that at most `most` steps cover the range.
double round_step(double range, int most) {
  double power = 1;
  while (true) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (range <= factor * power * most) return factor * power;
    }
    power *= 10;
  }
}

void draw_axes(std::back_insert_iterator<std::string> out, const axes& a, const std::string& title,
               const std::string& quantity, double legend_height) {
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                 "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n"
                 "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                 width, height + legend_height);
  // About 7.6 units a letter at this size: a longer title shrinks to fit.
  const double fitting = std::min(1.0, (right - left) / (7.6 * static_cast<double>(std::max<size_t>(1, title.size()))));
  fmt::format_to(out, "<text x=\"{}\" y=\"28\" text-anchor=\"middle\" font-size=\"{:.1f}\">{}</text>\n",
                 (left + right) / 2, 15 * fitting, escaped(title));

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

/// A circle, square, triangle or diamond, hollow so that what lies below stays visible.
std::string marker(size_t curve, double x, double y) {
  const char* colour = colours[curve % colours.size()];
  const auto path = [&](const char* shape) {
    return fmt::format("<path d=\"M{:.1f} {:.1f}{}\" fill=\"white\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", x, y,
                       shape, colour);
  };
  switch (curve % 4) {
    case 0:
      return path("m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z");
    case 1:
      return path("m-4 -4h8v8h-8z");
    case 2:
      return path("m0 -5l5 9h-10z");
    default:
      return path("m0 -5l5 5l-5 5l-5 -5z");
  }
}

std::string stroke(size_t curve, size_t curves) {
  const double thickness = curves == 1 ? 2 : std::max(1.5, 6.0 - 1.5 * static_cast<double>(curve));
  const char* dash = curves == 1 ? "" : dashes[curve % dashes.size()];
  return fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}",
                     colours[curve % colours.size()], thickness,
                     *dash ? fmt::format(" stroke-dasharray=\"{}\"", dash) : "");
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
                     colours[number % colours.size()]);
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

/// Below the axes, where it covers no curve, in as many rows as it needs.
class legend {
 public:
  /// symbol: what to draw from x to x + 36 at height y.
  template <class Symbol>
  void add(const std::string& label, Symbol symbol) {
    const double taken = 68 + 7.4 * static_cast<double>(label.size());
    if (x_ > left && x_ + taken > right) {
      x_ = left;
      y_ += row;
    }
    fmt::format_to(std::back_inserter(text_), "{}<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", symbol(x_, y_), x_ + 44,
                   y_ + 5, escaped(label));
    x_ += taken;
  }
  const std::string& text() const { return text_; }
  double height() const { return text_.empty() ? 0 : y_ + row - first_row; }

 private:
  static constexpr double row = 20;
  double x_ = left, y_ = first_row;
  std::string text_;
};

legend make_legend(const std::vector<convergence_curve>& curves, double tolerance, const std::string& zero) {
  legend result;
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
