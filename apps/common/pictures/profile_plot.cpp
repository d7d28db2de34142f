#include "apps/common/pictures/profile_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "apps/common/pictures/drawing.hpp"

namespace whilst::command {
namespace {

constexpr double first_left = 64, panel_width = 400, between = 76, panel_top = 72, panel_bottom = 420;

double left_of(size_t panel) { return first_left + static_cast<double>(panel) * (panel_width + between); }

/// There are more solvers than colours: those of the same colour differ by their dashes.
std::string stroke(size_t curve) { return line_style(colour_of(curve), 2, dashes_of(curve / 6)); }

/// One panel's axes: x is logarithmic, from 1 to a little more than the largest ratio.
struct profile_axes {
  double left, doublings;

  double x(double ratio) const { return left + panel_width * std::log2(ratio) / doublings; }
  static double y(double share) { return panel_bottom - (panel_bottom - panel_top) * share; }
};

profile_axes choose_axes(const profile_panel& panel, double left) {
  double largest = 2;
  for (const auto& curve : panel.curves)
    if (!curve.ratios.empty()) largest = std::max(largest, curve.ratios.back());
  return {left, 1.05 * std::log2(largest)};
}

void draw_axes(std::back_insert_iterator<std::string> out, const profile_axes& axes, const std::string& caption) {
  for (int tenths = 0; tenths <= 10; tenths += 2) {
    fmt::format_to(out,
                   "<path d=\"M{0:.1f} {1:.1f}h{2}\" stroke=\"#e4e4e4\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
                   "text-anchor=\"end\">{5:.1f}</text>\n",
                   axes.left, axes.y(tenths / 10.0), panel_width, axes.left - 8, axes.y(tenths / 10.0) + 5,
                   tenths / 10.0);
  }
  const double step = round_step(axes.doublings, 6);
  for (double power = 0; power <= axes.doublings; power += step) {
    fmt::format_to(out,
                   "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#f0f0f0\"/><path d=\"M{0:.1f} {2}v6\" stroke=\"#444\"/>"
                   "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.6g}</text>\n",
                   axes.x(std::exp2(power)), panel_top, panel_bottom, panel_bottom + 21, std::exp2(power));
  }
  fmt::format_to(out,
                 "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"none\" stroke=\"#444\"/>\n"
                 "<text x=\"{4}\" y=\"{5}\" text-anchor=\"middle\">{6}</text>\n"
                 "<text x=\"{4}\" y=\"{7}\" text-anchor=\"middle\">times the lowest</text>\n",
                 axes.left, panel_top, panel_width, panel_bottom - panel_top, axes.left + panel_width / 2,
                 panel_top - 12, escaped(caption), panel_bottom + 44);
}

/// A staircase that goes on to the right edge, with a marker where it begins and where it ends.
void draw_curve(std::back_insert_iterator<std::string> out, const profile_axes& axes, const profile_curve& curve,
                size_t number, double problems) {
  double solved = 0;
  std::string path = fmt::format("M{:.1f} {:.1f}", axes.x(1), axes.y(0));
  double at_best = 0;
  for (const double ratio : curve.ratios) {
    solved += 1;
    if (ratio <= 1) at_best = solved;
    fmt::format_to(std::back_inserter(path), "H{:.1f}V{:.1f}", axes.x(ratio), axes.y(solved / problems));
  }
  const double right = axes.left + panel_width;
  fmt::format_to(out, "<path d=\"{}H{:.1f}\"{}/>\n{}{}", path, right, stroke(number),
                 marker(number, axes.x(1), axes.y(at_best / problems)),
                 marker(number, right, axes.y(solved / problems)));
}

}  // namespace

profile_panel make_profile(const std::string& caption, const std::vector<std::string>& labels,
                           const std::vector<std::vector<double>>& costs, double least) {
  profile_panel panel{caption, {}};
  for (const std::string& label : labels) panel.curves.push_back({label, {}});
  const size_t problems = costs.empty() ? 0 : costs[0].size();
  for (size_t problem = 0; problem < problems; ++problem) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const auto& of_solver : costs) lowest = std::min(lowest, std::max(of_solver[problem], least));
    for (size_t solver = 0; solver < costs.size(); ++solver) {
      const double cost = std::max(costs[solver][problem], least);
      if (std::isfinite(cost)) panel.curves[solver].ratios.push_back(cost / lowest);
    }
  }
  for (auto& curve : panel.curves) std::sort(curve.ratios.begin(), curve.ratios.end());
  return panel;
}

std::string profile_svg(const std::string& title, const std::vector<profile_panel>& panels, size_t problems) {
  const double width = left_of(panels.size()) - between + 24, first_row = panel_bottom + 64;
  legend below(first_left, width - 24, first_row);
  std::string lines;
  const auto out = std::back_inserter(lines);
  for (size_t k = 0; k < panels.size(); ++k) {
    const profile_axes axes = choose_axes(panels[k], left_of(k));
    draw_axes(out, axes, panels[k].caption);
    for (size_t number = 0; number < panels[k].curves.size(); ++number)
      draw_curve(out, axes, panels[k].curves[number], number, std::max(1.0, static_cast<double>(problems)));
  }
  for (size_t number = 0; !panels.empty() && number < panels[0].curves.size(); ++number) {
    below.add(panels[0].curves[number].label, [&](double x, double y) {
      return fmt::format("<path d=\"M{:.1f} {:.1f}h36\"{}/>\n{}", x, y, stroke(number), marker(number, x + 18, y));
    });
  }
  fmt::format_to(out, "<text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">share solved</text>\n",
                 (panel_top + panel_bottom) / 2);
  return svg_head(width, first_row + below.height() + 4, title, first_left, width - 24) + lines + below.text() +
         "</svg>\n";
}

}  // namespace whilst::command
