#include "planner/machine/four_digits.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

namespace bf_aot {

double four_digits(double x) {
  if (!std::isfinite(x)) return x;
  const std::string decimal = fmt::format("{:.3e}", x);
  double rounded = 0;  // stays 0 where the decimal is too small for a double
  std::from_chars(decimal.data(), decimal.data() + decimal.size(), rounded);
  return rounded;
}

}  // namespace bf_aot
