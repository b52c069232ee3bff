#pragma once

#include <cstdint>

#include "frontend/graph/graph.h"

// Casts to types of few digits round to the nearest number of the type, ties to even.
namespace bf_aot {

class NodeImport;
struct Constant;

struct FloatFormat {
  std::int32_t type = 0;
  int digits = 0;
  double step = 0;     // the distance of its smallest numbers
  double largest = 0;  // its largest finite number
  // Nothing is claimed of tensors that may reach it; or that may be above it, where it is
  // `largest`. What rounds to more than `largest` overflows. Texts leave it open between the two
  // for 8 bits.
  double limit = 0;
  bool has_saturate = false;  // the attribute `saturate` counts
};

// Null where casts to the type are not rounded here.
const FloatFormat* narrow_format(std::int32_t type);

// x to the nearest number of the format, ties to even; infinite where that overflows.
double round_to(const FloatFormat& format, double x);

// Returns true if every number of type `from` is one of type `to`.
bool holds_all_of(std::int32_t from, std::int32_t to);

// The cast of input 0 to a real type that does not hold all of its type.
void emit_rounded(NodeImport& node, const FloatFormat& format, bool saturate);

// These round a constant, and a computed tensor, in the same way. Saturated to 8 bits or fewer,
// tensors are exact, too; an error stands for roundings to wider types, which have too many steps.
Constant rounded_to(const NodeImport& node, const FloatFormat& format, bool saturate,
                    const Constant& x);
ValueId add_rounded_to(NodeImport& node, ValueId x, const FloatFormat& format, bool saturate);

}  // namespace bf_aot
