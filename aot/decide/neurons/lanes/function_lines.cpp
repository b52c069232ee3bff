// Compiled without contraction: proofs rest on what the runtime's routines compute.

#include "aot/decide/neurons/lanes/function_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/bf/functions/functions.h"

namespace bf_aot::decide {
namespace {

// The accuracy to which the peak of a slope is searched for; the claimed line holds for any
// accuracy.
constexpr double kTolerance = 0x1p-16;

bf::FunctionPeak peak_on(const bf::FunctionView& function, const FunctionInterval& interval,
                         float slope, int side) {
  return bf::lowest_line(function, interval.ends, slope, 0, side, kTolerance);
}

// f near x: an approximation.
bf::FunctionPoint point_at(const bf::FunctionView& function, double x) {
  const double place = function.wave && std::fabs(x) > bf::wave_reach(function) && std::isfinite(x)
                           ? bf::wave_angle(x)
                           : x;
  return bf::function_point(function, bf::find_run(function, place), place);
}

std::optional<double> split_point(const bf::FunctionView& function, double low, double high) {
  const double middle = low / 2 + high / 2;
  if (!(low < middle && middle < high)) return std::nullopt;
  const int first = bf::find_run(function, low), last = bf::find_run(function, high);
  bool pieces = function.run[first].kind == bf::FunctionRunKind::kLine && !function.wave;
  std::optional<double> bend;
  for (int r = first + 1; r <= last; ++r) {
    const double start = function.run[r].start;
    pieces = pieces && function.run[r].kind == bf::FunctionRunKind::kLine;
    if (!(low < start && start < high)) continue;
    if (!bend || std::fabs(start - middle) < std::fabs(*bend - middle)) bend = start;
  }
  if (pieces) return bend;
  // A bend near an end leaves the other half as it is.
  constexpr double kNear = 0.3;
  if (bend && std::fabs(*bend - middle) <= kNear * (high - low)) return bend;
  return middle;
}

}  // namespace

FunctionInterval interval_of(const bf::FunctionView& function, double low, double high) {
  FunctionInterval made = {low, high, bf::function_ends(function, low, high), {}, 0};
  made.point = split_point(function, low, high);
  if (made.point) made.value = value_at(function, *made.point);
  return made;
}

SlopeRange slopes_on(const bf::FunctionView& function, double low, double high) {
  const bf::Relaxation best = bf::relax_function(function, low / 2 + high / 2, low, high);
  return slopes_around(function, low, high, best.slope_lower, best.slope_upper);
}

SlopeRange slopes_around(const bf::FunctionView& function, double low, double high, float lower,
                         float upper) {
  SlopeRange made = {std::min(lower, upper), std::max(lower, upper), lower, upper};
  const auto note_at = [&](double x) {
    const double slope = point_at(function, x).slope;
    if (!(std::fabs(slope) <= static_cast<double>(bf::kMaxSlope))) return;
    made.least = std::min(made.least, static_cast<float>(slope));
    made.most = std::max(made.most, static_cast<float>(slope));
  };
  constexpr int kSamples = 4;
  for (int i = 0; i <= kSamples; ++i)
    note_at(low + (high - low) * static_cast<double>(i) / kSamples);
  const int last = bf::find_run(function, high);
  for (int r = bf::find_run(function, low) + 1; r <= last; ++r) note_at(function.run[r].start);
  return made;
}

FunctionOffset lower_line(const bf::FunctionView& function, const FunctionInterval& interval,
                          float slope) {
  const bf::FunctionPeak peak = peak_on(function, interval, -slope, -1);
  return {-peak.top, peak.at};
}

FunctionOffset upper_line(const bf::FunctionView& function, const FunctionInterval& interval,
                          float slope) {
  const bf::FunctionPeak peak = peak_on(function, interval, slope, 1);
  return {peak.top, peak.at};
}

double value_at(const bf::FunctionView& function, double x) {
  const bf::FunctionPoint at = point_at(function, x);
  return at.low / 2 + at.high / 2;
}

FunctionPiece piece_on(const bf::FunctionView& function, double low, double high) {
  const int first = bf::find_run(function, low);
  const bf::FunctionRun& run = function.run[first];
  // The end may belong to the next piece, which begins there.
  const int last = bf::find_run(function, high);
  const bool reaches = last == first || (last == first + 1 && function.run[last].start == high);
  if (reaches && run.kind == bf::FunctionRunKind::kLine && !function.wave)
    return {run.slope, run.intercept};
  const double at_low = value_at(function, low);
  const double slope = low < high ? (value_at(function, high) - at_low) / (high - low) : 0;
  return {slope, at_low - slope * low};
}

FunctionValues values_on(const bf::FunctionView& function, double low, double high) {
  const bf::FunctionRange range = bf::bound_function(function, low, high);
  return {range.low, range.high};
}

}  // namespace bf_aot::decide
