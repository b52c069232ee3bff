#pragma once

#include <optional>
#include <span>

#include "planner/functions/function_table.h"

// Tables of functions as constants of the program: write/write_known_tables.cpp prints them when
// the program is built.

namespace bf_aot {

// A FunctionTable whose lists are constants.
struct KnownTable {
  FunctionKind kind;
  double a, b;  // the function's parameters; of a composite a is its place in usual_composites()
  FunctionForm form;
  int monotone, exponent, degree;
  std::span<const double> starts, coefficients;
  std::span<const float> errors, slope_errors;
  std::span<const TableRun> runs;
  double step;
  int first_octave, octaves;
  std::span<const double> scales;
  double below_low, below_high, above_low, above_high;
  bool wave;
};

// Those of this program; none where it was built for another machine.
std::span<const KnownTable> known_tables();

// The table of one of these functions, within limits or without.
std::optional<FunctionTable> find_known_table(const Function& function);

}  // namespace bf_aot
