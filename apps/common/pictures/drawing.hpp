#pragma once

#include <cstddef>
#include <string>

namespace whilst::command {

/// @file
/// What the programs' pictures (SVG text) have in common.

/// Text as it stands between tags.
std::string escaped(const std::string& text);

/// The opening tag, a white ground, and the title, centred between left and right and shrunk to fit there.
std::string svg_head(double width, double height, const std::string& title, double left, double right);

/// 1, 2 or 5 times a power of ten, so that at most `most` steps cover the range.
double round_step(double range, int most);

/// Curve number k, counted from 0, has its own colour, dashes and marker, up to the sixth.
const char* colour_of(std::size_t curve);
const char* dashes_of(std::size_t curve);
/// A circle, square, triangle or diamond, hollow so that what lies below stays visible.
std::string marker(std::size_t curve, double x, double y);
/// A path's attributes.
std::string line_style(const std::string& colour, double thickness, const std::string& dashes);

/// Below the axes, where it covers no curve, in as many rows as it needs.
class legend {
 public:
  legend(double left, double right, double first_row);
  /// symbol(x, y): what to draw from x to x + 36 at height y.
  template <class Symbol>
  void add(const std::string& label, Symbol symbol) {
    place(label.size());
    text_ += symbol(x_, y_);
    write(label);
  }
  const std::string& text() const { return text_; }
  double height() const;

 private:
  void place(std::size_t letters);
  void write(const std::string& label);

  double left_, right_, first_row_, x_, y_, taken_ = 0;
  std::string text_;
};

}  // namespace whilst::command
