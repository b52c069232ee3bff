#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/graph/model.h"
#include "frontend/import/file/bodies.h"
#include "frontend/import/file/names.h"
#include "frontend/import/graph/graph_importer.h"

namespace bf_aot {

// Imports one graph: what comes into it (graph_inputs.cpp), its nodes and outputs
// (graph_importer.cpp), and the bodies of its nodes (graph_bodies.cpp).
class GraphImporter : public BodyImporter {
 public:
  GraphImporter(onnx::GraphProto& proto, ImportState state, const InputBindings& bindings,
                const std::map<std::string, TokenInput>& tokens, const NodeFacts& facts)
      : proto_(proto),
        state_(std::move(state)),
        bindings_(bindings),
        tokens_(tokens),
        facts_(facts) {}

  Graph run(ModelInfo& info);

  std::string fresh_name(const std::string& word) override;
  std::vector<std::string> import_body(Body& body, const std::vector<std::string>& inputs,
                                       std::int64_t step) override;

 private:
  Symbol symbol_of(const onnx::TensorProto& tensor, Tensor value, const std::string& name,
                   const Origin& origin);
  void import_initializers();
  template <typename Proto>
  void import_initializer(const Proto& tensor, const onnx::TensorProto& elements,
                          const std::string& name, const std::string& place);
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& info);
  std::string text_alone() const;
  void import_tokens(const onnx::ValueInfoProto& info, const TokenInput& given);
  void bind_input(const std::string& name, const std::string& bytes, const std::string& place);
  void check_bindings();
  Shape input_shape(const onnx::ValueInfoProto& info) const;
  void claim_node_outputs();
  void note_cycle(const std::vector<int>& cycle);
  std::unordered_set<std::string> known_names() const;
  void import_nodes();
  void import_node(int index);
  // The place of a node, which may be in a body.
  struct At {
    std::string place;  // in messages
    Origin origin;
    OpsetSpan opsets;
  };
  void import_node(const onnx::NodeProto& node, const At& at, bool refused);
  void count_unrolled();
  void begin_body(Body& body);
  void import_in_body(const onnx::GraphProto& graph, int index, const NewName& new_name,
                      std::int64_t step);
  std::string tensor_before(const onnx::NodeProto& node) const;
  bool find_inputs(const onnx::NodeProto& node, const std::string& where);
  void evaluate_integers(const onnx::NodeProto& node);
  void import_outputs();

  // Runs `step`; its problems are noted, those without a place as being at `where`.
  bool attempt(const std::string& where, const std::function<void()>& step);
  void note(std::string code, std::string where, std::string message, std::string hint = {}) {
    state_.diagnostics.push_back(
        {std::move(code), std::move(where), std::move(message), std::move(hint)});
  }

  onnx::GraphProto& proto_;
  ImportState state_;
  const InputBindings& bindings_;
  const std::map<std::string, TokenInput>& tokens_;
  const NodeFacts& facts_;
  std::unordered_set<std::string> initializers_;
  std::unordered_set<int> refused_;  // nodes that make a tensor of a name that is taken
  std::optional<FreshNames> names_;  // made when a body is first imported
  // The nodes whose bodies are being imported, the outermost first.
  struct Open {
    const onnx::NodeProto& node;
    At at;
  };
  std::vector<Open> open_;
  std::size_t unrolled_ = 0;  // nodes and steps of bodies so far
};

}  // namespace bf_aot
