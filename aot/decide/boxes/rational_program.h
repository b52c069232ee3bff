#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace bf_aot::decide {

// A linear program in rationals: the largest objective x with lower <= x <= upper, and
// factors x <= limit for each row. Vectors have an entry for each variable.
struct RationalProgram {
  struct Row {
    std::vector<mpq_class> factors;
    mpq_class limit;
    bool strict = false;  // the row is meant to be below its limit; no function here reads it
  };
  std::vector<mpq_class> lower, upper;
  std::vector<Row> rows;
  std::vector<mpq_class> objective;
};

struct RationalOptimum {
  mpq_class value;           // of the objective, the largest
  std::vector<mpq_class> x;  // where it is reached
};

// Nothing where no x satisfies the program.
std::optional<RationalOptimum> maximise(const RationalProgram& program);

// Returns the largest value; nothing where no x satisfies the program.
std::optional<mpq_class> largest_value(const RationalProgram& program);

// The room that a program in plain double finds in one in rationals, whose objective does not
// count.
enum class Room : std::uint8_t {
  kNone,  // proven: no x satisfies the rows
  kSome,  // some x seems to satisfy them, and to leave room; nothing is claimed
  kOpen
};
Room room_of(const RationalProgram& program);

}  // namespace bf_aot::decide
