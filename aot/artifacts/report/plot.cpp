#include "aot/artifacts/report/plot.h"

#include <fmt/format.h>

namespace bf_aot::artifacts {
namespace {

constexpr double kBeside = 6;  // from the field to the labels left of it
constexpr double kDown = 4;    // from the middle of a letter to its foot
constexpr double kBelow = 18;  // from the field to the feet of labels below it
constexpr double kLine = 18;

}  // namespace

std::string Plot::y_label(double pixels, std::string_view text) const {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                     left - kBeside, pixels + kDown, text);
}

std::string Plot::y_line(double value, std::string_view text) const {
  return fmt::format(
             "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" "
             "y2=\"{2:.1f}\"/>",
             left, right, y(value)) +
         y_label(y(value), text);
}

std::string Plot::x_labels(const std::vector<std::pair<double, std::string>>& labels,
                           double apart) const {
  std::string text;
  double next = left;
  for (const auto& [value, label] : labels) {
    if (x(value) < next) continue;
    next = x(value) + apart;
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                        x(value), bottom + kBelow, label);
  }
  return text;
}

std::string Plot::x_title(std::string_view text) const {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (left + right) / 2, bottom + kBelow + kLine, text);
}

std::string Plot::line(const std::vector<PlotPoint>& points, std::string_view attributes) const {
  std::string text = fmt::format("<polyline {} points=\"", attributes);
  for (const auto& [at, value] : points) text += fmt::format("{:.1f},{:.1f} ", x(at), y(value));
  return text + "\"/>\n";
}

std::string svg_head(double width, double height, std::string_view attributes) {
  return fmt::format(
      "<svg {2} width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n", width,
      height, attributes);
}

}  // namespace bf_aot::artifacts
