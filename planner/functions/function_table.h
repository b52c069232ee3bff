#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "frontend/functions/function.h"

namespace bf_aot {

// The form of a function's computation at run time; runtime/bf/functions/function_table.h has the
// twin of each type here and the proofs. Everything is made by MPFR at compile time and rounded
// outward.
enum class FunctionForm : std::uint8_t {
  kCells,        // polynomials over cells of the real line
  kExponential,  // x = k ln 2 + r: 2^k p(r), p over cells
  kOctaves,      // x = 2^k m, 1 <= m < 2: scale_k p(m) + k step, p over cells
  kMonomial,     // x^exponent, exponent a nonzero integer
  kFloor,
  kCeil,
  kRound,  // x / step to the nearest integer, ties to even
};

enum class RunKind : std::uint8_t {
  kLine,     // intercept + slope x, within `slack`; intercept alone when slope = 0
  kConvex,   // f is continuous and f'' >= 0
  kConcave,  // f is continuous and f'' <= 0
  kMixed,    // f lies within `slack` of each of its chords
  kUnknown,  // f lies between start_low and start_high, the same as end_low and end_high
};

// A maximal interval over which f is of one kind. It reaches to the start of the next one.
struct TableRun {
  RunKind kind = RunKind::kUnknown;
  bool open = false;                     // its start belongs to the run before it
  int cell = 0;                          // its first cell, in a table of form kCells
  int cells = 0;                         // and their number; 0 unless convex, concave or mixed
  double start = 0;                      // -inf in the first
  double start_low = 0, start_high = 0;  // bounds of f, as continued from inside the run
  double end_low = 0, end_high = 0;
  double slack = 0;
  double intercept = 0, slope = 0;
  // kConvex, kConcave: f does not turn before the first, nor behind the second; it does not turn at
  // all where the first is inf. `turn` bounds f on the run: from below if convex, else from above.
  double turn_from = std::numeric_limits<double>::infinity();
  double turn_to = -std::numeric_limits<double>::infinity();
  double turn = 0;
  bool turns() const { return turn_from <= turn_to; }
  bool operator==(const TableRun&) const = default;
};

// Cell i is [start_i, start_{i + 1}] and has f = sum_k coefficient_ik (x - start_i)^k, when that is
// evaluated in double by Horner's rule, up to error_i, and f' up to slope_error_i. Over the reduced
// argument r or m in the forms that have one.
struct FunctionTable {
  Function function;
  FunctionForm form = FunctionForm::kCells;
  int monotone = 0;  // 1: f never decreases, -1: never increases, over its domain
  int exponent = 0;
  int degree = 0;
  std::vector<double> starts;        // one more than there are cells
  std::vector<double> coefficients;  // [cells][degree + 1]
  std::vector<float> errors;
  std::vector<float> slope_errors;
  std::vector<TableRun> runs;
  double step = 0;
  int first_octave = 0;
  int octaves = 0;
  std::vector<double> scales;            // empty: 1
  double below_low = 0, below_high = 0;  // bounds of f between 0 and the first octave
  double above_low = 0, above_high = 0;  // and above the last
  bool wave = false;                     // f has the period 2 pi; the runs but the ends cover one
  // kRound: the value is any integer within `slack` of the rounded quotient, limited to [lowest,
  // highest].
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  double slack = 0;
  bool operator==(const FunctionTable&) const = default;

  int cells() const { return static_cast<int>(errors.size()); }
  // The bytes that the table takes in a generated verifier.
  std::int64_t bytes() const;
};

// Makes the table by MPFR, which takes up to a second. Function::least and most change nothing
// else.
FunctionTable compute_function_table(const Function& function);

// Returns the same table. Functions with usual parameters have theirs as constants of this program
// (planner/tables/); others are computed, and some kept: may be called by several threads.
FunctionTable make_function_table(const Function& function);

}  // namespace bf_aot
