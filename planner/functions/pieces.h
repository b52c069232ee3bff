#pragma once

#include <functional>
#include <vector>

#include "frontend/function.h"
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
};

struct Pieces {
  std::vector<Piece> pieces;
  Formula formula;  // of the smooth pieces: on each it is chosen by the interval's place
  int monotone = 0;
  int degree = 7;  // of the polynomials
};

Pieces pieces_of(const Function& function);

// Whether f never decreases (1), never increases (-1) or neither is known (0).
int monotone_of(const Function& function);

}  // namespace bf_aot
