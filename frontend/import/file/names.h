#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "onnx_schema/bf_aot_onnx.pb.h"

// Names of tensors in graphs that hold bodies: of branches, loops and functions.

namespace bf_aot {

// Calls `read` with the name of each tensor that the node reads: its inputs, and what its bodies
// read from around them. Inputs that are left out have an empty name.
void for_each_read(const onnx::NodeProto& node,
                   const std::function<void(const std::string&)>& read);

// The new name of a tensor; nullptr: it keeps its own.
using NewName = std::function<const std::string*(const std::string&)>;

// Renames what the node reads and makes. In its bodies, names that they define themselves stay.
void rename_tensors(onnx::NodeProto& node, const NewName& new_name);

// Makes names that nothing in a model has.
class FreshNames {
 public:
  // The names in these are taken, those in bodies, too.
  void take(const onnx::GraphProto& graph);
  void take(const onnx::NodeProto& node);
  void take(const std::string& name) { taken_.insert(name); }

  // Returns `wish`, or with a number behind it where that is taken.
  std::string make(const std::string& wish);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;  // number, by wish
};

// Returns the beginning of names within the node's body or function. It is short, whatever the file
// has.
std::string name_prefix(const onnx::NodeProto& node);

}  // namespace bf_aot
