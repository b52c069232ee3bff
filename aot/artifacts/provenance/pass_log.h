#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot::artifacts {

// A node of the graph as the log keeps it: without its constants.
struct LoggedNode {
  std::string value;  // made by it; names are unique within a graph
  std::string op;     // "affine"
  std::vector<std::string> inputs;
  Shape shape;
  Origin origin;
  bool operator==(const LoggedNode&) const = default;
};

struct ChangedNode {
  LoggedNode before, after;  // they make the same value
};

// The changes that one row of the pipeline made. Nodes of which only constants differ are left out.
struct PassRecord {
  std::string pass;
  std::size_t nodes = 0;  // afterwards
  std::vector<LoggedNode> removed, added;
  std::vector<ChangedNode> changed;
};

// Compares the graph before and after each pass.
class PassLog {
 public:
  // Notes the graph after a pass. It has the arguments of PassOptions::after_pass and
  // CompileOptions::after_pass, to be called there.
  void after(std::string_view pass, const Graph& graph);

  const std::vector<PassRecord>& records() const { return records_; }
  // The nodes of the last graph, in its order.
  const std::vector<LoggedNode>& nodes() const { return nodes_; }

 private:
  std::vector<PassRecord> records_;
  std::vector<LoggedNode> nodes_;
};

}  // namespace bf_aot::artifacts
