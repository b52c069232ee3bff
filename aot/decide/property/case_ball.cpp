#include "aot/decide/property/case_ball.h"

#include <algorithm>

namespace bf_aot::decide {

// An end that is no double lies between that of `box` and that of `inner`. So twice the centre lies
// in [box.lower + inner.upper, inner.lower + box.upper], and the width is at least
// inner.upper - inner.lower. Quotients and their sum are off by (n + 8) 2^-52 of it at most.
bool lies_in_ball(const PropertyCase& one, Norm norm, const std::vector<mpq_class>& x) {
  if (norm == Norm::kLargest) return true;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (one.box.lower[i] == one.box.upper[i]) continue;
    const mpq_class inner_lower = one.inner.lower[i], inner_upper = one.inner.upper[i];
    const mpq_class width = inner_upper - inner_lower;
    if (width <= 0) return false;
    const mpq_class below = 2 * x[i] - (one.box.lower[i] + inner_upper);
    const mpq_class above = 2 * x[i] - (inner_lower + one.box.upper[i]);
    const mpq_class most = std::max(mpq_class(abs(below)), mpq_class(abs(above)));
    const double part = mpq_class(most / width).get_d();
    sum += norm == Norm::kEuclid ? part * part : part;
  }
  return sum * (1 + (static_cast<double>(x.size()) + 16) * 0x1p-50) <= 1;
}

}  // namespace bf_aot::decide
