#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot {

// A branch, or the body of a loop, which is imported once or for each step.
struct Body {
  const onnx::GraphProto* graph = nullptr;
  // The nodes that are the same for all steps are imported once, before the first step.
  bool begun = false;
  std::unordered_map<std::string, std::string> fixed;  // its tensors: name in the body -> symbol
  std::vector<int> steps;                              // the other nodes, in order
};

// Imports bodies: for operators of control flow. Tensors are the names of symbols (ImportState).
class BodyImporter {
 public:
  virtual ~BodyImporter() = default;

  // A name that no symbol has, for a tensor of the node that is imported.
  virtual std::string fresh_name(const std::string& word) = 0;

  // Imports the body's nodes for one step with these inputs, and returns its outputs. step: counted
  // from 0 in messages; negative: there is one alone.
  // Throws: BF1005 when steps have made too many nodes, and what is wrong in the body.
  virtual std::vector<std::string> import_body(Body& body, const std::vector<std::string>& inputs,
                                               std::int64_t step) = 0;
};

}  // namespace bf_aot
