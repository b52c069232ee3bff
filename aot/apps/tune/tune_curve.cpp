#include "aot/apps/tune/tune_curve.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"

namespace bf_aot::apps {
namespace {

constexpr double kWidth = 720, kHeight = 320, kLeft = 60, kTop = 20, kLine = 18, kApart = 40;
constexpr const char* kColours[] = {"#0b6fa4", "#c2571a", "#2f8f4e", "#8a4fbf",
                                    "#b3261e", "#6b6b00", "#00837a", "#555555"};

}  // namespace

std::string curve_table(const std::vector<TuningCurve>& curves) {
  std::string text = "key,trial,best_seconds,ratio\n";
  for (const TuningCurve& curve : curves)
    for (std::size_t i = 0; i < curve.seconds.size(); ++i)
      text += fmt::format("{},{},{:.6g},{:.6g}\n", curve.key, i + 1, curve.seconds[i],
                          curve.seconds[i] / curve.seconds.front());
  return text;
}

std::string curve_drawing(const std::vector<TuningCurve>& curves) {
  std::size_t trials = 2;
  double least = 1;
  for (const TuningCurve& curve : curves) {
    trials = std::max(trials, curve.seconds.size());
    for (const double each : curve.seconds) least = std::min(least, each / curve.seconds.front());
  }
  const artifacts::Plot plot{.left = kLeft,
                             .right = kLeft + kWidth,
                             .top = kTop,
                             .bottom = kTop + kHeight,
                             .x_least = 1,
                             .x_most = static_cast<double>(trials),
                             .y_least = std::min(0.95, least - 0.02),
                             .y_most = 1};
  constexpr double kLegend = 60;  // below the axis and its name
  const double width = kLeft + kWidth + 20;
  const double height = plot.bottom + kLegend + kLine * static_cast<double>(curves.size());
  std::string text =
      artifacts::svg_head(width, height,
                          "xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" "
                          "font-size=\"12\"") +
      "<style>.grid{stroke:#ddd} .line{fill:none;stroke-width:1.5}</style>\n" +
      fmt::format("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"white\"/>\n", width, height);
  for (int i = 0; i <= 4; ++i) {
    const double ratio = plot.y_least + (plot.y_most - plot.y_least) * i / 4;
    text += plot.y_line(ratio, fmt::format("{:.2f}", ratio));
  }
  std::vector<std::pair<double, std::string>> numbers;
  for (std::size_t i = 1; i <= trials; ++i)
    numbers.emplace_back(static_cast<double>(i), std::to_string(i));
  text += plot.x_labels(numbers, kApart) + plot.x_title("trials; best time / first");
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const char* const colour = kColours[c % std::size(kColours)];
    std::vector<artifacts::PlotPoint> points;
    for (std::size_t i = 0; i < curves[c].seconds.size(); ++i)
      points.emplace_back(static_cast<double>(i + 1),
                          curves[c].seconds[i] / curves[c].seconds.front());
    text += plot.line(points, fmt::format("class=\"line\" stroke=\"{}\"", colour));
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n", kLeft,
                        plot.bottom + kLegend + kLine * static_cast<double>(c), colour,
                        artifacts::escape(curves[c].key));
  }
  return text + "</svg>\n";
}

}  // namespace bf_aot::apps
