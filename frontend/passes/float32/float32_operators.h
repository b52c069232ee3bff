#pragma once

#include <span>
#include <string_view>

namespace bf_aot {

// Says what float32 semantics makes of an operator (docs/proofs/float32.md).
struct Float32Operator {
  // It is without its domain, or a form, "Resize, cubic", which NodeImport::note_form() notes.
  std::string_view type;
  // Why the operator is refused; empty: evaluation in float32 is what the core nodes of its import
  // say, each rounded once by round_float32(), or exact.
  std::string_view refused;
};

// All operators that are imported, in order.
std::span<const Float32Operator> float32_operators();

// Null: no operator that is imported.
const Float32Operator* find_float32_operator(std::string_view type);

}  // namespace bf_aot
