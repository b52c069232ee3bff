#include "frontend/import/graph/node_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/names.h"

namespace bf_aot {
namespace {

// The last input that is not left out decides; trailing empty names do not count.
int input_count(const onnx::NodeProto& node) {
  int count = node.input_size();
  while (count > 0 && node.input(count - 1).empty()) --count;
  return count;
}

// "2 are", "1 to 3 are"
std::string count_range(int least, int most) {
  if (least == most) return fmt::format("{} {}", most, most == 1 ? "is" : "are");
  return fmt::format("{} to {} are", least, most);
}

// Throws: BF1011.
void check_inputs(const onnx::NodeProto& node, const OperatorImporter& op, std::int64_t opset) {
  const bool standard = is_standard_domain(node.domain());
  const InputCounts counts =
      standard ? input_counts(op, opset) : InputCounts{op.least_inputs, op.most_inputs};
  const int inputs = input_count(node);
  if (inputs < counts.least || inputs > counts.most)
    fail("BF1011", "",
         fmt::format("{} inputs, but {} expected{}", inputs, count_range(counts.least, counts.most),
                     standard ? fmt::format(" in operator set {}", opset) : ""));
  const bool variadic = standard && counts.most >= kVariadic;  // none of them is optional
  for (int i = 0; i < (variadic ? inputs : counts.least); ++i)
    if (node.input(i).empty()) fail("BF1011", "", fmt::format("input {} is left out", i));
}

// `opsets`: that the model imports. Throws: BF1012.
void check_attribute(const onnx::NodeProto& node, const onnx::AttributeProto& attribute,
                     const OperatorImporter& op, const OpsetSpan& opsets) {
  const std::string& name = attribute.name();
  if (name.empty() ||
      std::find(op.attributes.begin(), op.attributes.end(), name) == op.attributes.end())
    fail("BF1012", "", fmt::format("unknown attribute '{}'", printable(name)),
         "it may belong to an operator set that is not supported");
  const OpsetSpan known =
      is_standard_domain(node.domain()) ? opsets_with(node.op_type(), name) : OpsetSpan{};
  if (!known.meets(opsets))
    fail("BF1012", "",
         fmt::format("attribute '{}' belongs to operator sets {}, but the model is of {}", name,
                     to_string(known), opsets.last),
         "export again with one operator set");
  if (!attribute.ref_attr_name().empty())
    fail("BF1012", "", fmt::format("attribute '{}' refers to a function's attribute", name));
}

}  // namespace

std::string operator_name(const onnx::NodeProto& node) {
  const std::string type = printable(node.op_type());
  return is_standard_domain(node.domain()) ? type : printable(node.domain()) + "." + type;
}

std::string name_of(const onnx::NodeProto& node, int index) {
  return node.name().empty() ? fmt::format("{} #{}", operator_name(node), index)
                             : fmt::format("{} '{}'", operator_name(node), printable(node.name()));
}

std::string place_of(const onnx::NodeProto& node, int index) {
  const std::string name = name_of(node, index);
  return node.name().empty() ? name : fmt::format("{} (node {})", name, index);
}

const OperatorImporter* find_operator(const onnx::NodeProto& node) {
  const std::string_view domain = node.domain();
  return bf_aot::find_operator(node.op_type(), is_standard_domain(node.domain()) ? "" : domain);
}

void check_signature(const onnx::NodeProto& node, const OperatorImporter& op,
                     const OpsetSpan& opsets) {
  check_inputs(node, op, opsets.last);
  if (node.output_size() < 1 || node.output_size() > op.most_outputs)
    fail("BF1011", "",
         fmt::format("{} outputs, but {} expected", node.output_size(),
                     count_range(1, op.most_outputs)));
  const bool none = std::ranges::all_of(node.output(), &std::string::empty);
  if (op.any_output ? none : node.output(0).empty())
    fail("BF1011", "", none ? "all outputs are left out" : "output 0 is left out");
  std::set<std::string> seen;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    check_attribute(node, attribute, op, opsets);
    if (!seen.insert(attribute.name()).second)
      fail("BF1012", "", fmt::format("attribute '{}' is given twice", attribute.name()));
  }
}

}  // namespace bf_aot
