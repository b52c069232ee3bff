#pragma once

#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/import/file/import_state.h"
#include "frontend/import/operators/versions.h"

namespace bf_aot {

// Facts about a graph's nodes, by their places.
struct NodeFacts {
  std::vector<bool> wanted;       // some output depends on it
  std::vector<OpsetSpan> opsets;  // by which it is read
};

// Builds the graph of a parsed model, whose initializers are emptied; `state` is fresh but for its
// reader and opset.
// Throws: CompileError with all problems found.
// Sets the members of `info` that say what the graph is made of.
Graph import_graph(onnx::GraphProto& proto, ImportState state, const InputBindings& bindings,
                   const std::map<std::string, TokenInput>& tokens, const NodeFacts& nodes,
                   ModelInfo& info);

}  // namespace bf_aot
