#include "aot/engine/verifier/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace bf_aot::engine {

nlohmann::ordered_json number_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

nlohmann::ordered_json bounds_json(const Bounds& bounds) {
  auto lower = nlohmann::ordered_json::array();
  auto upper = nlohmann::ordered_json::array();
  for (double x : bounds.lower) lower.push_back(number_json(x));
  for (double x : bounds.upper) upper.push_back(number_json(x));
  return {{"lower", std::move(lower)}, {"upper", std::move(upper)}};
}

std::string duration(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string long_duration(double seconds) {
  constexpr double kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds < 10) return duration(seconds);
  if (seconds < 1.5 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 1.5 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  if (seconds >= 2 * kDay) return fmt::format("{:.0f} days", seconds / kDay);
  const double minutes = std::round(seconds / kMinute);
  return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

std::string join(const std::vector<int>& numbers) {
  return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, " "));
}

}  // namespace bf_aot::engine
