#include "planner/functions/table_makers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/functions/function_facts.h"
#include "planner/functions/cells.h"
#include "planner/functions/function_recipes.h"

namespace bf_aot {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Powers up to this are multiplied out.
constexpr int kMaxExponent = 32;

struct Bounds {
  double low = -kInf, high = kInf;
};

Bounds line_at(const Piece& piece, double x) {
  if (std::isinf(x)) {
    if (piece.slope != 0) return {};
    x = 0;
  }
  const Interval value = Interval(piece.intercept) + Interval(piece.slope) * Interval(x) +
                         Interval(-piece.error, piece.error);
  return {double_below(value), double_above(value)};
}

void set_ends(TableRun& run, const Bounds& start, const Bounds& end) {
  run.start_low = start.low;
  run.start_high = start.high;
  run.end_low = end.low;
  run.end_high = end.high;
}

TableRun run_of(RunKind kind, double start, bool open) {
  TableRun run;
  run.kind = kind;
  run.start = start;
  run.open = open;
  set_ends(run, {}, {});
  return run;
}

void append_line(const Piece& piece, double end, FunctionTable& table) {
  TableRun run = run_of(RunKind::kLine, piece.start, piece.open);
  run.intercept = piece.intercept;
  run.slope = piece.slope;
  run.slack = piece.error;
  set_ends(run, line_at(piece, piece.start), line_at(piece, end));
  table.runs.push_back(run);
}

Bounds smooth_at(const Formula& formula, double x) {
  const Interval value = formula(Interval(x), 0)[0];
  return {double_below(value), double_above(value)};
}

// The sign of the derivative at a point, as far as it is proven: 0 where it may be either.
int proven_slope(const Formula& formula, double x) {
  const Interval slope = formula(Interval(x), 1)[1];
  if (double_below(slope) >= 0) return 1;
  return double_above(slope) <= 0 ? -1 : 0;
}

// Where a convex or concave f turns on [start, end], between the last point at which it is proven
// to go one way and the first at which it is proven to go the other.
//
// Proof. Let f be convex; -f else. f' does not decrease: it is <= 0 up to any point where it is,
// and >= 0 from any point on where it is. So f falls up to turn_from, rises from turn_to on, and is
// least between them, where it is at least f(m) + f'(m) (x - m) for any m on the run.
void set_turn(const Formula& formula, double end, TableRun& run) {
  const int side = run.kind == RunKind::kConvex ? 1 : -1;
  const auto direction = [&](double x) { return side * proven_slope(formula, x); };
  if (direction(run.start) > 0 || direction(end) < 0) return;
  const auto border = [&](double low, double high, int before) {
    for (;;) {
      const double middle = low / 2 + high / 2;
      if (!(low < middle && middle < high)) return before < 0 ? low : high;
      const int at = direction(middle);
      (before < 0 ? at < 0 : at <= 0) ? low = middle : high = middle;
    }
  };
  run.turn_from = border(run.start, end, -1);
  run.turn_to = border(run.turn_from, end, 1);
  const double middle = run.turn_from / 2 + run.turn_to / 2;
  const Series at = formula(Interval(middle), 1);
  const Interval reach = Interval(run.turn_from, run.turn_to) - Interval(middle);
  const Interval least = at[0] + at[1] * reach;
  run.turn = side > 0 ? double_below(least) : double_above(least);
}

// The first cell of a run starts where the last cell of the run before it ends, unless a line or a
// gap lies between: then a cell of no use, from one to the other, keeps the list of starts.
void skip_to(double start, FunctionTable& table) {
  if (table.starts.empty()) {
    table.starts.push_back(start);
  } else if (table.starts.back() != start) {
    table.coefficients.resize(table.coefficients.size() + static_cast<std::size_t>(table.degree) +
                              1);
    table.errors.push_back(std::numeric_limits<float>::max());
    table.slope_errors.push_back(std::numeric_limits<float>::max());
    table.starts.push_back(start);
  }
}

// A cell is as precise as the smaller value at its ends, which must not lie beyond 0 from each
// other where values are large: expressions that reach far are cut.
std::vector<double> ends_of_parts(const Piece& piece, double end) {
  std::vector<double> made;
  for (double x = 0x1p126; x >= 64 && piece.formula; x /= 256)
    if (piece.start < -x && -x < end) made.push_back(-x);
  for (double x = 64; x <= 0x1p126 && piece.formula; x *= 256)
    if (piece.start < x && x < end) made.push_back(x);
  made.push_back(end);
  return made;
}

void append_smooth(const Piece& piece, double end, const Formula& common, FunctionTable& table) {
  const Formula& formula = piece.formula ? piece.formula : common;
  skip_to(piece.start, table);
  bool open = piece.open;
  double start = piece.start;
  for (const double next : ends_of_parts(piece, end)) {
    for (const Segment& segment : split_by_curvature(formula, start, next)) {
      TableRun run = run_of(segment.kind, segment.start, open);
      run.cell = table.cells();
      run.slack = segment.slack;
      set_ends(run, smooth_at(formula, segment.start), smooth_at(formula, segment.end));
      if (table.monotone == 0 && segment.kind != RunKind::kMixed)
        set_turn(formula, segment.end, run);
      const int degree = segment.kind == RunKind::kMixed ? std::min(table.degree, 3) : table.degree;
      append_cells(formula, segment.start, segment.end, degree, {}, table);
      run.cells = table.cells() - run.cell;
      table.runs.push_back(run);
      open = false;
    }
    start = next;
  }
}

Interval power_of_two(double exponent) {
  Interval made;
  const Real value(exponent);
  mpfr_exp2(made.low, value, MPFR_RNDD);
  mpfr_exp2(made.high, value, MPFR_RNDU);
  return made;
}

// x^a for x > 0, and its limit at 0. The octaves are those of the floats, fewer when 2^(a k) would
// leave the doubles.
FunctionTable power_table(const Function& function, double a) {
  FunctionTable table;
  table.function = function;
  table.form = FunctionForm::kOctaves;
  table.monotone = a > 0 ? 1 : -1;
  table.degree = 7;
  const int limit = static_cast<int>(std::min(900 / std::fabs(a), 2000.0));
  table.first_octave = -std::min(149, limit);
  table.octaves = std::min(128, limit) - table.first_octave;
  append_cells(formula_of({FunctionKind::kPower, a, 0}), 1, 2, table.degree, {0x1p-40, 0}, table);
  for (int k = 0; k < table.octaves; ++k) {
    Real value;
    mpfr_mul_d(value, Real(a), table.first_octave + k, MPFR_RNDN);
    mpfr_exp2(value, value, MPFR_RNDN);
    table.scales.push_back(mpfr_get_d(value, MPFR_RNDN));
  }
  const Interval first = power(power_of_two(table.first_octave), a);
  const Interval last = power(power_of_two(table.first_octave + table.octaves), a);
  table.below_low = a > 0 ? 0 : double_below(first);
  table.below_high = a > 0 ? double_above(first) : kInf;
  table.above_low = a > 0 ? double_below(last) : 0;
  table.above_high = a > 0 ? kInf : double_above(last);
  const bool concave = a > 0 && a < 1;
  const TableRun run = run_of(concave ? RunKind::kConcave : RunKind::kConvex, 0, false);
  table.runs = {run_of(RunKind::kUnknown, -kInf, false), run};
  return table;
}

FunctionTable line_table(const Function& function, double intercept, double slope) {
  FunctionTable table;
  table.function = function;
  table.monotone = 1;
  table.degree = 1;
  append_line({Piece::Kind::kLine, -kInf, false, intercept, slope, 0}, kInf, table);
  return table;
}

FunctionTable monomial_table(const Function& function, int exponent) {
  FunctionTable table;
  table.function = function;
  table.form = FunctionForm::kMonomial;
  table.exponent = exponent;
  const bool odd = exponent % 2 != 0;
  table.monotone = odd && exponent > 0 ? 1 : 0;
  TableRun left = run_of(odd ? RunKind::kConcave : RunKind::kConvex, -kInf, false);
  if (exponent < 0) {
    table.runs = {left, run_of(RunKind::kUnknown, 0, false), run_of(RunKind::kConvex, 0, true)};
  } else if (odd) {
    TableRun right = run_of(RunKind::kConvex, 0, false);
    set_ends(left, {}, {0, 0});
    set_ends(right, {0, 0}, {});
    table.runs = {left, right};
  } else {
    table.runs = {left};
  }
  return table;
}

}  // namespace

FunctionTable table_of_pieces(const Function& function) {
  FunctionTable table;
  table.function = function;
  const Pieces made = pieces_of(function);
  table.monotone = made.monotone;
  table.degree = made.degree;
  table.wave = facts_of(function.kind).wave;
  for (std::size_t i = 0; i < made.pieces.size(); ++i) {
    const Piece& piece = made.pieces[i];
    const double end = i + 1 < made.pieces.size() ? made.pieces[i + 1].start : kInf;
    switch (piece.kind) {
      case Piece::Kind::kLine:
        append_line(piece, end, table);
        break;
      case Piece::Kind::kSmooth:
        append_smooth(piece, end, made.formula, table);
        break;
      case Piece::Kind::kUnknown:
        table.runs.push_back(run_of(RunKind::kUnknown, piece.start, piece.open));
        set_ends(table.runs.back(), {piece.low, piece.high}, {piece.low, piece.high});
        break;
    }
  }
  return table;
}

// The reduced argument x - k ln 2 and its use miss 2^-52 relatively; see the runtime.
FunctionTable exponential_table(const Function& function) {
  FunctionTable table;
  table.function = function;
  table.form = FunctionForm::kExponential;
  table.monotone = 1;
  table.degree = 7;
  append_cells(formula_of(function), -0x1.68p-2, 0x1.68p-2, table.degree, {0x1p-42, 0}, table);
  for (float& error : table.errors)
    error = std::nextafter(error + 0x1p-50f, std::numeric_limits<float>::infinity());
  table.runs = {run_of(RunKind::kConvex, -kInf, false)};
  return table;
}

FunctionTable capped_exponential_table(const Function& function) {
  const double cap = function.a;
  BF_CHECK(cap > -690 && cap < 700);
  FunctionTable table = exponential_table(function);
  const Bounds most = smooth_at(formula_of(function), cap);
  set_ends(table.runs[0], {0, 0}, most);
  const double middle = most.low + (most.high - most.low) / 2;
  append_line({Piece::Kind::kLine, cap, false, middle, 0, most.high - most.low}, kInf, table);
  return table;
}

FunctionTable logarithm_table(const Function& function) {
  FunctionTable table;
  table.function = function;
  table.form = FunctionForm::kOctaves;
  table.monotone = 1;
  table.degree = 7;
  append_cells(formula_of(function), 1, 2, table.degree, {0x1p-42, 0x1p-4}, table);
  const Interval step = increasing(mpfr_log, Interval(2));
  table.step = double_below(step);
  table.first_octave = -1000;
  table.octaves = 2000;
  table.below_low = -kInf;
  table.below_high = double_above(step * Interval(-1000));
  table.above_low = double_below(step * Interval(1000));
  table.above_high = kInf;
  table.runs = {run_of(RunKind::kUnknown, -kInf, false), run_of(RunKind::kConcave, 0, false)};
  return table;
}

FunctionTable table_of_power(const Function& function, double a) {
  if (a == 0) return line_table(function, 1, 0);
  if (a == 1) return line_table(function, 0, 1);
  if (a == std::floor(a) && std::fabs(a) <= kMaxExponent)
    return monomial_table(function, static_cast<int>(a));
  if (std::fabs(a) < 0x1p-10 || std::fabs(a) > 400) {  // nothing is claimed
    FunctionTable table;
    table.function = function;
    table.runs = {run_of(RunKind::kUnknown, -kInf, false)};
    return table;
  }
  return power_table(function, a);
}

FunctionTable staircase(const Function& function, FunctionForm form, double step) {
  FunctionTable table;
  table.function = function;
  table.form = form;
  table.monotone = 1;
  table.step = step;
  if (!(step > 0x1p-500 && step < 0x1p500)) {  // nothing is claimed
    table.form = FunctionForm::kCells;
    table.runs = {run_of(RunKind::kUnknown, -kInf, false)};
  }
  return table;
}

}  // namespace bf_aot
