#pragma once

#include <optional>

#include "runtime/bf/functions/function_lines.h"

namespace bf_aot::decide {

// Where a function's argument lies, and what that says of the function.
struct FunctionInterval {
  double low = 0, high = 0;
  bf::FunctionEnds ends = {};
  // Between low and high, whose halves are worth most: where the function bends, or the middle, and
  // about its value there. Nothing where it is a line, or no number lies between.
  std::optional<double> point;
  double value = 0;
};
FunctionInterval interval_of(const bf::FunctionView& function, double low, double high);

// Lines below and above a function on an interval. Any slope gives lines that hold; the others are
// worse.
struct SlopeRange {
  float least = 0, most = 0;   // outside of these no line is better
  float lower = 0, upper = 0;  // of the lines of least area
};

SlopeRange slopes_on(const bf::FunctionView& function, double low, double high);
// The same for known slopes of lines, which takes a tenth of the time.
SlopeRange slopes_around(const bf::FunctionView& function, double low, double high, float lower,
                         float upper);

// A line's distance from the origin, and about where it touches the function.
struct FunctionOffset {
  double offset = 0;
  double touch = 0;
};

// f(z) >= slope z + offset on the interval; -inf where nothing is known.
FunctionOffset lower_line(const bf::FunctionView& function, const FunctionInterval& interval,
                          float slope);
// f(z) <= slope z + offset; inf where nothing is known.
FunctionOffset upper_line(const bf::FunctionView& function, const FunctionInterval& interval,
                          float slope);

// About f(x).
double value_at(const bf::FunctionView& function, double x);

// f itself where it is a line on [low, high], else about its chord.
struct FunctionPiece {
  double slope = 0, intercept = 0;
};
FunctionPiece piece_on(const bf::FunctionView& function, double low, double high);

// The least and the greatest value; infinite where nothing is known.
struct FunctionValues {
  double low = 0, high = 0;
};
FunctionValues values_on(const bf::FunctionView& function, double low, double high);

}  // namespace bf_aot::decide
