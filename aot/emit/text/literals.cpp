#include "aot/emit/text/literals.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"

namespace bf_aot::emit {

std::string double_literal(double value) {
  BF_CHECK(std::isfinite(value));
  return fmt::format("{:a}", value);
}

std::string float_literal(float value) {
  BF_CHECK(std::isfinite(value));
  return fmt::format("{:a}f", value);
}

std::string float_literal_up(double value) {
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) < value)
    narrow = std::nextafter(narrow, std::numeric_limits<float>::infinity());
  return float_literal(narrow);
}

}  // namespace bf_aot::emit
