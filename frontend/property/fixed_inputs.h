#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/property/property.h"

namespace bf_aot {

// Inputs that a property fixes at one value in all of its cases, and the others.
struct FixedInputs {
  std::vector<std::int64_t> free;  // ascending; not empty
  // Indexed by input: |x_i - value_i| <= error_i in all cases where input i is not free.
  std::vector<double> value, error;

  bool is_fixed(std::int64_t input) const;
  // Numbers for all inputs from those for the free ones.
  std::vector<double> whole(const std::vector<double>& of_free) const;

  bool operator==(const FixedInputs&) const = default;
};

// Nothing unless at least half of the inputs are fixed, some is not, and conditions speak of
// outputs alone. Fixed means that no two doubles lie in the exact interval.
std::optional<FixedInputs> find_fixed_inputs(const Property& property);

// Restates the property for the network that fix_inputs() of passes/passes.h makes, whose inputs
// are the free ones. Cases and clauses keep their numbers. Derived values count as outputs.
Property with_free_inputs(const Property& property, const FixedInputs& fixed);

}  // namespace bf_aot
