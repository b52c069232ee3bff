#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/property/vnnlib/formula.h"

namespace bf_aot::vnnlib {

// Inputs that equations make one, or outputs.
struct TiedInputs {
  // Holds for each input the number of the one that takes its place, or `count` and the number of
  // an output.
  std::vector<std::int64_t> source;
  std::int64_t count = 0;  // of different inputs that are left
};

// The network of each input and of each output.
struct NetworkNumbers {
  std::vector<int> inputs, outputs;
};

// The inputs that equations x_i = x_j and x_i = y_k, both of whose inequalities are among the
// conditions, make one, or an output of a network that is declared before; nothing where there are
// no such equations. rows: of the conditions.
std::optional<TiedInputs> find_tied_inputs(const std::vector<Condition>& conditions,
                                           const std::vector<PropertyRow>& rows,
                                           const NetworkNumbers& networks);

}  // namespace bf_aot::vnnlib
