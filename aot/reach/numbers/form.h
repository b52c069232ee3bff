#pragma once

#include <cstddef>
#include <vector>

#include "aot/reach/numbers/interval.h"
#include "frontend/functions/function.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot::reach {

// A number as a form over symbols: for all values of the symbols z_k in [-1, 1],
//
//   |number - (centre + sum_k slope_k z_k)| <= radius.
//
// Numbers whose forms are over the same symbols keep what they have in common. A form whose centre,
// slope or radius is not finite claims nothing. Symbols beyond `slope` have the slope 0. Proof:
// docs/proofs/closed-loops.md.
struct Form {
  double centre = 0, radius = 0;
  std::vector<double> slope;

  bool operator==(const Form&) const = default;
  double slope_of(std::size_t symbol) const { return symbol < slope.size() ? slope[symbol] : 0; }
};

Form form_of(const Bounded& x);
Form form_of(const Range& x);

// Encloses all values.
Range range_of(const Form& x);
std::vector<Range> ranges_of(const std::vector<Form>& forms);
// >= sum_k |slope_k|.
double reach_of(const Form& x);
bool is_finite(const Form& x);

Form operator+(const Form& a, const Form& b);
Form operator-(const Form& a, const Form& b);
Form operator*(const Form& a, const Form& b);
Form operator/(const Form& a, const Form& b);
Form square(const Form& a);
Form times(const Form& a, const Bounded& factor);
Form over(const Form& a, double exact);

// f of the number: by its tangent at the centre and what f'' says of the rest where f is smooth, by
// chords where it is linear in pieces or convex, by its values alone elsewhere.
Form apply(const Function& f, const Form& x);

// Arithmetic of Form for scalar programs.
struct FormArithmetic {
  static Form constant(const Bounded& x) { return form_of(x); }
  static Form add(const Form& a, const Form& b) { return a + b; }
  static Form subtract(const Form& a, const Form& b) { return a - b; }
  static Form multiply(const Form& a, const Form& b) { return a * b; }
  static Form square(const Form& a) { return reach::square(a); }
  static Form divide(const Form& a, const Form& b) { return a / b; }
  static Form relu(const Form& a);
  static Form larger(const Form& a, const Form& b);
  static Form apply(const Function& f, const Form& x) { return reach::apply(f, x); }
  static Form times(const Form& a, double exact) { return reach::times(a, {exact, 0}); }
  static Form over(const Form& a, double exact) { return reach::over(a, exact); }
};

}  // namespace bf_aot::reach
