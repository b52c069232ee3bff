#pragma once

#include <vector>

#include "aot/reach/numbers/interval.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "runtime/bf/loops/forms.h"

namespace bf_aot::reach {

// A number as a form over symbols, see runtime/bf/loops/forms.h, with as many slopes as it needs.
using Form = bf::loops::FormOf<std::vector<double>>;

using bf::loops::is_finite;
using bf::loops::over;
using bf::loops::reach_of;

// Arithmetic of Form for scalar programs.
using FormArithmetic = bf::loops::FormsOf<Values, Form>;

inline Form form_of(const Bounded& x) {
  return bf::loops::form_of<Form>(x.value, x.error);
}
inline Form form_of(const Range& x) {
  return bf::loops::form_of<Form>(x);
}
inline Form times(const Form& a, const Bounded& factor) {
  return bf::loops::times(a, factor.value, factor.error);
}
inline Form operator/(const Form& a, const Form& b) {
  return FormArithmetic::divide(a, b);
}
inline Form apply(const Function& f, const Form& x) {
  return FormArithmetic::apply(f, x);
}

std::vector<Range> ranges_of(const std::vector<Form>& forms);

}  // namespace bf_aot::reach
