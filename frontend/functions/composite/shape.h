#pragma once

#include <optional>
#include <vector>

#include "frontend/functions/composite/composite.h"

namespace bf_aot {

// Holds what Composite says of an expression; see there.
struct CompositeShape {
  std::vector<CompositePart> parts;
  int degree = 1;
};

std::optional<CompositeShape> shape_of(const std::vector<CompositeStep>& steps);

}  // namespace bf_aot
