#pragma once

#include <string>

namespace bf_aot::emit {

// C++17 and C++20 hexadecimal literals that denote exactly `value`: "0x1.8p+1f", "-0x1p-3". Finite.
std::string float_literal(float value);
std::string double_literal(double value);
// The least float that is at least `value`: error terms only grow.
std::string float_literal_up(double value);

inline const char* bool_literal(bool value) {
  return value ? "true" : "false";
}

}  // namespace bf_aot::emit
