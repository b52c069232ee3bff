#pragma once

#include <limits>
#include <vector>

#include "frontend/functions/composite/branches.h"
#include "frontend/functions/interval.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// A side of the real line: the numbers x = sign |x| with |x| >= start, start > 0.
struct Side {
  double sign = 1;
  double start = 1;
};

// Describes an expression on a side, where it is known: as sum_k powers_k x^k + R with
// |R| <= size e^(-rate (|x| - start)). Where size is 0 nothing rests on the side, and the
// expression is the polynomial wherever it was made for.
struct Growth {
  bool known = false;
  std::vector<Interval> powers;  // not empty where known
  Interval size;
  double rate = 1;

  static Growth number(const Interval& value);
  static Growth variable();
  bool is_polynomial() const;
  bool is_zero() const;
  int degree() const { return static_cast<int>(powers.size()) - 1; }
};

Growth sum(const Growth& a, const Growth& b);
Growth product(const Growth& a, const Growth& b, const Side& side);
Growth line(const Growth& u, const Interval& factor, const Interval& offset);

// A smooth function of u: of a number, of what comes near one, or of what grows at least like |x|
// to one side, where the function comes near a line exponentially.
Growth smooth(const Function& f, const Growth& u, const Side& side);

// Bounds what an expression's values are never below, or never above, on a side where its powers
// have one sign.
struct Beyond {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
Beyond values_beyond(const Growth& growth, const Side& side);

// The real number of which bounds are known.
Interval interval_of(const Bounded& x);

}  // namespace bf_aot
