#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "frontend/import/operators/operators.h"
#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// ONNX's own domain, which has two names.
inline bool is_standard_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

// Operator sets, both of them included.
struct OpsetSpan {
  std::int64_t first = kOldestOpset;
  std::int64_t last = kNewestOpset;

  bool meets(const OpsetSpan& other) const { return first <= other.last && other.first <= last; }
};

// "1 to 17", "18 and newer"
std::string to_string(const OpsetSpan& range);

// The operator sets that know an attribute which the operator's row lists.
OpsetSpan opsets_with(std::string_view op_type, std::string_view attribute);

// The least and largest number of inputs that an operator of domain ai.onnx may have in the given
// operator set: the numbers of its row, unless operator sets differ.
struct InputCounts {
  int least = 0;
  int most = 0;
};
InputCounts input_counts(const OperatorImporter& op, std::int64_t opset);

using OpsetImports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

// Returns the oldest and the newest operator set of domain ai.onnx that a model or function
// imports; `where` names it in messages. {0, 0}: none. Throws: BF1007 when one is not supported.
OpsetSpan find_opsets(const OpsetImports& imports, const std::string& where);

}  // namespace bf_aot
