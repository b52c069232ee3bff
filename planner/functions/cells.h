#pragma once

#include <vector>

#include "planner/functions/function_table.h"
#include "planner/functions/pieces.h"

namespace bf_aot {

// A part of a smooth piece with one sign of f''.
struct Segment {
  RunKind kind = RunKind::kMixed;  // kConvex, kConcave or kMixed
  double start = 0;
  double end = 0;
  double slack = 0;  // kMixed: max|f''| (end - start)^2 / 8, the distance of f to its chords
};

// Splits [start, end] by the sign of f'', which interval arithmetic proves; what is left between,
// around inflection points, is mixed and short.
std::vector<Segment> split_by_curvature(const Formula& f, double start, double end);

// The polynomial in (x - origin) that meets f at Chebyshev's nodes of [start, end], in Newton's
// form first; its coefficients rounded to double.
std::vector<double> interpolate(const Formula& f, double start, double end, double origin,
                                int degree);

// The largest error of a polynomial in (x - origin) at points between those nodes.
double sampled_error(const Formula& f, const std::vector<double>& coefficients, double start,
                     double end, double origin);

// Target for the error of the polynomials, relative to max(|f|, floor).
struct CellTarget {
  double relative = 0x1p-38;
  double floor = 0x1p-8;
};

// Appends cells that cover [start, end] to the table: polynomials of the degree, which is at most
// the table's, with proven errors that hold the rounding of their evaluation too.
void append_cells(const Formula& f, double start, double end, int degree, const CellTarget& target,
                  FunctionTable& table);

}  // namespace bf_aot
