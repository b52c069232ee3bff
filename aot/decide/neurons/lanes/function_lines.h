#pragma once

#include <optional>

#include "runtime/bf/functions/function_lines.h"

namespace bf_aot::decide {

// An interval of a function's argument, and what the function does on it.
struct FunctionInterval {
  double low = 0, high = 0;
  bf::FunctionEnds ends = {};
  // The point between low and high where a split gains most: where the function bends, or the
  // middle; and about the function's value there. None where the function is a line, or no number
  // lies between.
  std::optional<double> point;
  double value = 0;
};
FunctionInterval interval_of(const bf::FunctionView& function, double low, double high);

// Slopes of lines below and above a function on an interval. Any slope gives lines that hold, but
// slopes outside of [least, most] give worse ones.
struct SlopeRange {
  float least = 0, most = 0;   // outside of these no line is better
  float lower = 0, upper = 0;  // of the lines of least area, below and above
};

SlopeRange slopes_on(const bf::FunctionView& function, double low, double high);
// The range of slopes around slopes of lines that are known, which takes a tenth of the time.
SlopeRange slopes_around(const bf::FunctionView& function, double low, double high, float lower,
                         float upper);

// A line's value at 0, and about where it touches the function.
struct FunctionOffset {
  double offset = 0;
  double touch = 0;
};

// The line with f(z) >= slope z + offset on the interval; the offset is -inf where nothing is
// known.
FunctionOffset lower_line(const bf::FunctionView& function, const FunctionInterval& interval,
                          float slope);
// The line with f(z) <= slope z + offset on the interval; the offset is inf where nothing is known.
FunctionOffset upper_line(const bf::FunctionView& function, const FunctionInterval& interval,
                          float slope);

// An approximation of f(x).
double value_at(const bf::FunctionView& function, double x);

// A line: f itself where it is one on [low, high], else about its chord.
struct FunctionPiece {
  double slope = 0, intercept = 0;
};
FunctionPiece piece_on(const bf::FunctionView& function, double low, double high);

// Bounds of the function's values on [low, high]; infinite where nothing is known.
struct FunctionValues {
  double low = 0, high = 0;
};
FunctionValues values_on(const bf::FunctionView& function, double low, double high);

}  // namespace bf_aot::decide
