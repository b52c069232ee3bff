#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/property/vnnlib/formula.h"

namespace bf_aot::vnnlib {

// Inputs that equations make one.
struct TiedInputs {
  std::vector<std::int64_t> source;  // of each input, the number of the one that takes its place
  std::int64_t count = 0;            // of different ones
};

// The inputs that equations x_i = x_j, both of whose inequalities are among the conditions, make
// one; nothing where there are no such equations.
std::optional<TiedInputs> find_tied_inputs(const std::vector<Condition>& conditions,
                                           std::int64_t input_count);

// Writes a form over inputs with what takes their place; factors of the same input add up.
LinearForm renamed_inputs(const LinearForm& form, const std::vector<std::int64_t>& source);

}  // namespace bf_aot::vnnlib
