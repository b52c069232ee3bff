#pragma once

#include <gmpxx.h>

#include <optional>
#include <vector>

namespace bf_aot::decide {

// A linear program in rationals: the largest objective x with lower <= x <= upper, and
// factors x <= limit for each row. Vectors have an entry for each variable.
struct RationalProgram {
  struct Row {
    std::vector<mpq_class> factors;
    mpq_class limit;
  };
  std::vector<mpq_class> lower, upper;
  std::vector<Row> rows;
  std::vector<mpq_class> objective;
};

// Returns the largest value; nothing where no x satisfies the program.
std::optional<mpq_class> largest_value(const RationalProgram& program);

}  // namespace bf_aot::decide
