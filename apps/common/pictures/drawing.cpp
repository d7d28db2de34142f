#include "apps/common/pictures/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace whilst::command {
namespace {

// Distinguishable with colour blindness: Okabe and Ito (2008).
constexpr std::array colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array dashes{"", "11 7", "2 6", "14 4 3 4", "6 4", "1 3"};
constexpr double legend_row = 20;

}  // namespace

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

std::string svg_head(double width, double height, const std::string& title, double left, double right) {
  // About 7.6 units a letter at this size.
  const double fitting = std::min(1.0, (right - left) / (7.6 * static_cast<double>(std::max<size_t>(1, title.size()))));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"28\" text-anchor=\"middle\" font-size=\"{3:.1f}\">{4}</text>\n",
      width, height, (left + right) / 2, 15 * fitting, escaped(title));
}

double round_step(double range, int most) {
  double power = 1;
  while (true) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (range <= factor * power * most) return factor * power;
    }
    power *= 10;
  }
}

const char* colour_of(size_t curve) { return colours[curve % colours.size()]; }
const char* dashes_of(size_t curve) { return dashes[curve % dashes.size()]; }

std::string marker(size_t curve, double x, double y) {
  const auto path = [&](const char* shape) {
    return fmt::format("<path d=\"M{:.1f} {:.1f}{}\" fill=\"white\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", x, y,
                       shape, colour_of(curve));
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

std::string line_style(const std::string& colour, double thickness, const std::string& dashes) {
  return fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}", colour, thickness,
                     dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes));
}

legend::legend(double left, double right, double first_row)
    : left_(left), right_(right), first_row_(first_row), x_(left), y_(first_row) {}

double legend::height() const { return text_.empty() ? 0 : y_ + legend_row - first_row_; }

void legend::place(size_t letters) {
  taken_ = 68 + 7.4 * static_cast<double>(letters);
  if (x_ > left_ && x_ + taken_ > right_) {
    x_ = left_;
    y_ += legend_row;
  }
}

void legend::write(const std::string& label) {
  fmt::format_to(std::back_inserter(text_), "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x_ + 44, y_ + 5,
                 escaped(label));
  x_ += taken_;
}

}  // namespace whilst::command
