#pragma once

#include <string>

namespace bf_aot::emit {

// Hexadecimal literals of C++17 and C++20 that denote exactly `value`, which is finite:
// "0x1.8p+1f", "-0x1p-3".
std::string float_literal(float value);
std::string double_literal(double value);
// The literal of the least float that is at least `value`, so that error terms only grow.
std::string float_literal_up(double value);

inline const char* bool_literal(bool value) {
  return value ? "true" : "false";
}

}  // namespace bf_aot::emit
