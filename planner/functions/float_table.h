#pragma once

#include <cstdint>
#include <vector>

#include "frontend/functions/function.h"

namespace bf_aot {

// A function's table for processors without doubles; runtime/bf/functions/float_functions.h has the
// twin of each type here. Everything is made by MPFR at compile time and rounded outward:
// docs/proofs/float-functions.md.
struct FloatTableTurn {
  float from = 0, to = 0, low = 0, high = 0;
  bool operator==(const FloatTableTurn&) const = default;
};

struct FloatTable {
  Function function;
  bool exponential = false;
  int monotone = 0;
  int degree = 0;
  std::vector<float> starts, origins;  // of the pieces
  std::vector<float> coefficients;     // [pieces][degree + 1]
  std::vector<float> errors;
  std::vector<FloatTableTurn> turns;
  float least = 0, most = 0;
  bool operator==(const FloatTable&) const = default;

  int pieces() const { return static_cast<int>(errors.size()); }
  // The bytes that the table takes in a generated verifier.
  std::int64_t bytes() const;
};

// Returns true if the function has such a table: continuous functions on the whole line that have
// lines at both ends, e^x, and small whole powers.
bool has_float_table(const Function& function);

// Makes the table of a function that has one, which takes a part of a second for usual functions,
// and seconds for steep composites. May be called by several threads.
FloatTable make_float_table(const Function& function);

}  // namespace bf_aot
