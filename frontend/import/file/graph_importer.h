#pragma once

#include "frontend/graph/graph.h"
#include "frontend/import/file/import_state.h"

namespace bf_aot {

// Builds the graph of a parsed model, whose initializers are emptied; `state` is fresh but for its
// reader and opset.
// Throws: CompileError with all problems found.
// Sets the members of `info` that say what the graph is made of.
Graph import_graph(onnx::GraphProto& proto, ImportState state, const InputBindings& bindings,
                   const std::map<std::string, TokenInput>& tokens, const std::vector<bool>& wanted,
                   ModelInfo& info);

}  // namespace bf_aot
