#pragma once

#include <string_view>

#include "frontend/graph/graph.h"

namespace bf_aot {

// Rules by which operators join into layers. A layer's kernels compute what joined in one pass: the
// linear maps of one sum, then its activation.

enum class FusionClass {
  kInjective,          // each output from one element of each input
  kReduction,          // each output from a few elements, with few weights
  kComplexOutFusable,  // products with many weights; what follows element by element joins them
  kOpaque,             // a layer of its own
};

struct FusionRule {
  FusionClass kind = FusionClass::kOpaque;
  bool joins = false;  // what makes its inputs, where no other reads that
  bool waits = false;  // for a reader that joins it; else it ends a layer
  std::string_view why;
};

// The table of all core operators.
FusionRule fusion_rule(const Op& op);

// Ends the layer that it joins: ReLU and the other functions.
bool is_activation(const Op& op);

// "injective", "reduction", "complex-out-fusable", "opaque"
std::string_view to_string(FusionClass kind);

}  // namespace bf_aot
