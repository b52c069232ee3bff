#include "aot/text/literals.h"

#include <fmt/format.h>

#include <cmath>

#include "frontend/diagnostic.h"

namespace bf_aot {

std::string double_literal(double value) {
  BF_CHECK(std::isfinite(value));
  return fmt::format("{:a}", value);
}

std::string float_literal(float value) {
  BF_CHECK(std::isfinite(value));
  return fmt::format("{:a}f", value);
}

}  // namespace bf_aot
