#include "aot/apps/tune/tune_curve.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/artifacts/report/html.h"

namespace bf_aot::apps {
namespace {

constexpr double kWidth = 720, kHeight = 320, kLeft = 60, kTop = 20, kLine = 18;
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
  const double bottom = std::min(0.95, least - 0.02);
  const auto x = [&](std::size_t i) {
    return kLeft + kWidth * static_cast<double>(i) / static_cast<double>(trials - 1);
  };
  const auto y = [&](double ratio) { return kTop + kHeight * (1 - ratio) / (1 - bottom); };
  const double whole = kTop + kHeight + 40 + kLine * static_cast<double>(curves.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
      kLeft + kWidth + 20, whole);
  for (int i = 0; i <= 4; ++i) {
    const double ratio = bottom + (1 - bottom) * i / 4;
    text += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.2f}</text>\n",
        kLeft, kLeft + kWidth, y(ratio), kLeft - 6, y(ratio) + 4, ratio);
  }
  text += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{} trials; best time / first</text>\n",
      kLeft + kWidth, kTop + kHeight + 18, trials);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const char* const colour = kColours[c % std::size(kColours)];
    std::string points;
    for (std::size_t i = 0; i < curves[c].seconds.size(); ++i)
      points +=
          fmt::format("{:.1f},{:.1f} ", x(i), y(curves[c].seconds[i] / curves[c].seconds.front()));
    text += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n",
        points, colour, kLeft, kTop + kHeight + 40 + kLine * static_cast<double>(c), colour,
        artifacts::escape(curves[c].key));
  }
  return text + "</svg>\n";
}

}  // namespace bf_aot::apps
