#include "aot/apps/measure/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "aot/engine/verifier/report.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

constexpr double kPointFraction = 0x1p-13;
constexpr std::size_t kShownViolations = 3;  // of a box, in the table

std::string ratios(const Widths& widths) {
  if (widths.entries == 0) return fmt::format("{:>8} {:>8} {:>8}", "-", "-", "-");
  return fmt::format("{:8.5f} {:8.5f} {:8.5f}", widths.min, widths.mean, widths.max);
}

nlohmann::ordered_json to_json(const Widths& widths) {
  nlohmann::ordered_json json;
  json["entries"] = widths.entries;
  json["ratio"] = {{"min", engine::number_json(widths.min)},
                   {"mean", engine::number_json(widths.mean)},
                   {"max", engine::number_json(widths.max)}};
  json["points"] = {{"entries", widths.points},
                    {"excess", engine::number_json(widths.point_width)},
                    {"limit", engine::number_json(widths.point_limit)}};
  json["ok"] = widths.ok;
  return json;
}

}  // namespace

Widths compare_widths(const engine::Bounds& ours, const std::vector<double>& golden_lower,
                      const std::vector<double>& golden_upper, bool rounding_dominated,
                      const Tolerances& tolerances) {
  Widths widths;
  BF_CHECK(ours.lower.size() == golden_lower.size());
  double magnitude = 0;
  for (std::size_t i = 0; i < golden_lower.size(); ++i)
    magnitude = std::max({magnitude, std::fabs(golden_lower[i]), std::fabs(golden_upper[i])});
  widths.point_limit = tolerances.point * magnitude;

  // Comparisons are written so that a NaN fails.
  double sum = 0;
  for (std::size_t i = 0; i < golden_lower.size(); ++i) {
    const double golden = golden_upper[i] - golden_lower[i];
    const double width = ours.upper[i] - ours.lower[i];
    if (rounding_dominated || golden <= kPointFraction * magnitude) {
      ++widths.points;
      widths.point_width = std::max(widths.point_width, width - golden);
      if (!(width - golden <= widths.point_limit)) widths.ok = false;
      continue;
    }
    const double ratio = width / golden;
    widths.min = widths.entries == 0 ? ratio : std::min(widths.min, ratio);
    widths.max = widths.entries == 0 ? ratio : std::max(widths.max, ratio);
    sum += ratio;
    ++widths.entries;
  }
  if (widths.entries > 0) widths.mean = sum / widths.entries;
  if (!(widths.max <= tolerances.max_ratio && widths.mean <= tolerances.mean_ratio))
    widths.ok = false;
  return widths;
}

nlohmann::ordered_json to_json(const BoxCheck& check) {
  nlohmann::ordered_json json;
  json["box"] = check.index;
  json["desc"] = check.description;
  json["method"] = to_string(check.method);
  json["golden"] = check.has_golden;
  json["outputs"] = to_json(check.outputs);
  json["spec"] = to_json(check.rows);
  json["samples"] = check.samples;
  json["violations"] = nlohmann::ordered_json::array();
  for (const Violation& violation : check.violations)
    json["violations"].push_back({{"what", violation.what},
                                  {"source", violation.source},
                                  {"value", engine::number_json(violation.value)},
                                  {"lower", engine::number_json(violation.lower)},
                                  {"upper", engine::number_json(violation.upper)}});
  json["ok"] = check.ok();
  return json;
}

std::string table_header() {
  return fmt::format(
      "{:<4} {:<10} {:^26}  {:^26}  {:>10}  {:>7}  {}\n{:<15} {:>8} {:>8} {:>8}  "
      "{:>8} {:>8} {:>8}  {:>10}\n",
      "box", "method", "output widths / golden", "row widths / golden", "point", "outside", "", "",
      "min", "mean", "max", "min", "mean", "max", "excess");
}

std::string table_row(const BoxCheck& check) {
  std::string text = fmt::format("{:<4} {:<10} {}  {}  {:>10.3g}  {:>7}  {}\n", check.index,
                                 to_string(check.method), ratios(check.outputs), ratios(check.rows),
                                 std::max(check.outputs.point_width, check.rows.point_width),
                                 check.violations.size(),
                                 !check.ok()        ? "FAILED"
                                 : check.has_golden ? "ok"
                                                    : "ok (no golden bounds of this method)");
  const std::size_t shown = std::min(check.violations.size(), kShownViolations);
  for (const Violation& violation : std::span(check.violations).first(shown))
    text += fmt::format("       {}: {} gives {:.17g}, outside [{:.9g}, {:.9g}]\n", violation.what,
                        violation.source, violation.value, violation.lower, violation.upper);
  if (shown < check.violations.size())
    text += fmt::format("       and {} more\n", check.violations.size() - shown);
  return text;
}

}  // namespace bf_aot::apps
