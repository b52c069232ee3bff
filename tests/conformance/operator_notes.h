#pragma once

#include <string_view>
#include <vector>

namespace bf_aot::conformance {

// What docs/reference/operators.md says of one operator of the standard, domain ai.onnx.
struct OperatorNote {
  std::string_view name;
  enum class Kind {
    kPlain,  // supported in full when the importer knows it; `note` says what else must be constant
    kPartly,  // `note` says which part is not supported, and why
    kNot,     // `note` says why
  } kind = Kind::kPlain;
  std::string_view note = {};
};

// All operators up to operator set 28, by name.
const std::vector<OperatorNote>& operator_notes();

}  // namespace bf_aot::conformance
