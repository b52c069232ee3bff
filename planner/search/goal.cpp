#include "planner/search/goal.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

namespace bf_aot {
namespace {

// The excess of x over its limit, relative to the limit.
double over(double x, double limit) {
  if (x <= limit) return 0;
  return std::isfinite(x) && limit > 0 ? x / limit - 1 : std::numeric_limits<double>::infinity();
}

// A weight of 0 leaves an infinite metric out.
double part(double weight, double x) {
  return weight == 0 ? 0 : weight * x;
}

}  // namespace

double Goal::excess(const Metrics& m) const {
  return over(m.seconds, limits_.seconds) + over(m.bytes, limits_.bytes) +
         over(m.looseness, limits_.looseness) + over(m.compile, limits_.compile);
}

double Goal::value(const Metrics& metrics) const {
  Metrics m = metrics;
  if (logarithms_)
    m = {std::log(m.seconds), std::log(m.bytes), std::log(m.looseness), std::log(m.compile)};
  return part(weights_.seconds, m.seconds) + part(weights_.bytes, m.bytes) +
         part(weights_.looseness, m.looseness) + part(weights_.compile, m.compile);
}

bool Goal::prefers(const Metrics& a, const Metrics& b) const {
  const auto key = [this](const Metrics& m) {
    return std::tuple(excess(m), value(m), m.looseness, m.seconds, m.bytes, m.compile);
  };
  return key(a) < key(b);
}

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

}  // namespace bf_aot
