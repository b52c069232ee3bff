#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/functions/series.h"

namespace bf_aot {

// The Taylor coefficients of a function, 0..order, over an interval inside a smooth piece.
using Formula = std::function<Series(const Interval& x, int order)>;

// A function is defined by pieces that tile the real line.
struct Piece {
  enum class Kind : std::uint8_t { kLine, kSmooth, kUnknown };
  Kind kind = Kind::kUnknown;
  double start = 0;   // -inf in the first; the piece reaches to the start of the next
  bool open = false;  // the start belongs to the piece before
  // kLine: |f - (intercept + slope x)| <= error.
  double intercept = 0, slope = 0, error = 0;
  Formula formula = nullptr;  // of a smooth piece that has its own; null: that of Pieces
};

struct Pieces {
  std::vector<Piece> pieces;
  Formula formula;   // of the smooth pieces: on each it is chosen by the interval's place
  int monotone = 0;  // 1: f never decreases, -1: never increases, over its domain
  int degree = 7;    // of the polynomials
};

// Makers of pieces, from which the lists of function_recipes.cpp are composed.
namespace pieces {

using List = std::vector<Piece>;

// Cells near a square-root singularity get ever smaller: they end here, and a constant follows.
inline constexpr double kNearEnd = 0x1p-44;

Piece line(double start, double intercept, double slope, double error = 0);
Piece after(double start, double intercept, double slope);  // a line whose start is not its own
Piece smooth(double start);
Piece unknown(double start, bool open = false);
// A constant piece that holds [low, high].
Piece between(double start, double low, double high);

// min(max(a x + b, 0), 1)
List hard_sigmoid(double a, double b);

List clip(double low, double high);
List shrink(double a, double b);

// A smooth function with lines at both ends: left constant, right intercept + slope x. `left_side`
// and `right_side`: whether it comes from above (1) or below (-1).
List with_tails(const Formula& f, double left, int left_side, double right, double right_slope,
                int right_side);

// a (e^(x / scale) - 1) below 0, slope x above.
List elu(double a, double scale, double slope);

List tangent_periods();
List arc_sine(const Formula& f, bool falling);

// Infinite parameters may leave pieces without points.
void drop_empty(List& list);

}  // namespace pieces
}  // namespace bf_aot
