#include "planner/build_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "frontend/diagnostic.h"
#include "planner/error_terms.h"

namespace bf {
namespace {

// A C identifier from an ONNX tensor name, unique among `taken`.
std::string layer_name(std::string_view text, std::set<std::string>& taken) {
  std::string base;
  for (const char c : text) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (keep) base += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!keep && !base.empty() && base.back() != '_') base += '_';
  }
  while (!base.empty() && base.back() == '_') base.pop_back();
  if (base.size() > 40) base = base.substr(base.size() - 40);
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base.front())) != 0)
    base = "layer_" + base;
  std::string name = base;
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

class LayerBuilder {
 public:
  LayerBuilder(const Graph& graph, Plan& plan)
      : graph_(graph),
        plan_(plan),
        producer_(producers(graph)),
        layer_of_value_(graph.values.size(), kUnmade) {}

  void run() {
    if (graph_.inputs.size() != 1)
      problem(
          "",
          fmt::format("the model has {} inputs but only one is supported", graph_.inputs.size()),
          "concatenate the inputs in the exported model");
    else
      layer_of_value_[index_of(graph_.inputs[0])] = -1;
    for (const Node& node : graph_.nodes) visit_node(node);
    if (!problems_.empty()) throw CompileError(std::move(problems_));
  }

  int head_of(ValueId output) const { return layer_of_value_[index_of(output)]; }

 private:
  static constexpr int kUnmade = -2;
  // Over all layers, inputs and outputs: keeps n u of every float32 sum below 1/2 (gamma_float).
  static constexpr std::int64_t kMaxNeurons = std::int64_t{1} << 22;

  void problem(const std::string& where, const std::string& message, const std::string& hint) {
    problems_.push_back({"BF2102", where, message, hint});
  }

  // An affine value that a node other than Relu reads, or that is an output, needs its own layer.
  bool needs_plain_layer(ValueId value) const {
    if (std::ranges::count(graph_.outputs, value) > 0) return true;
    return std::ranges::any_of(graph_.nodes, [&](const Node& reader) {
      return !std::holds_alternative<Relu>(reader.op) &&
             std::ranges::count(reader.inputs, value) > 0;
    });
  }

  void visit_node(const Node& node) {
    if (std::holds_alternative<Affine>(node.op)) {
      if (needs_plain_layer(node.output)) add_layer(node, nullptr);
      return;
    }
    if (std::holds_alternative<Relu>(node.op)) {
      const int made_by = producer_[index_of(node.inputs[0])];
      if (made_by >= 0) {
        const Node& affine = graph_.nodes[static_cast<std::size_t>(made_by)];
        if (std::holds_alternative<Affine>(affine.op)) return add_layer(affine, &node);
      }
    }
    problem(node.origin, fmt::format("operator '{}' cannot be planned", op_name(node.op)),
            "only networks of affine and ReLU layers are supported");
  }

  void add_layer(const Node& affine_node, const Node* relu) {
    const auto& affine = std::get<Affine>(affine_node.op);
    const int input = layer_of_value_[index_of(affine_node.inputs[0])];
    if (input == kUnmade) return;  // follows from a problem that was reported
    Layer layer;
    layer.name = layer_name(graph_.value(affine_node.output).name, names_);
    layer.origin = affine_node.origin + (relu != nullptr ? " + " + relu->origin : "");
    layer.input = input;
    layer.out = static_cast<int>(affine.weight.shape.at(0));
    layer.in = static_cast<int>(affine.weight.shape.at(1));
    layer.relu = relu != nullptr;
    neurons_ += affine.weight.shape.at(0) + affine.weight.shape.at(1);
    if (neurons_ > kMaxNeurons) {
      problem(layer.origin, fmt::format("the network has more than {} neurons", kMaxNeurons),
              "float32 sums of so many terms have no useful error bound");
      return;
    }
    try {
      round_weights(affine, layer);
    } catch (const CompileError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) problems_.push_back(diagnostic);
    }
    const ValueId made = relu != nullptr ? relu->output : affine_node.output;
    layer_of_value_[index_of(made)] = static_cast<int>(plan_.layers.size());
    plan_.layers.push_back(std::move(layer));
  }

  const Graph& graph_;
  Plan& plan_;
  std::vector<int> producer_;
  std::vector<int> layer_of_value_;  // -1: the network's input
  std::set<std::string> names_;
  std::int64_t neurons_ = 0;
  std::vector<Diagnostic> problems_;
};

int total_count(const std::vector<Value>& values) {
  std::int64_t total = 0;
  for (const Value& value : values) total += element_count(value.shape);
  return static_cast<int>(total);
}

}  // namespace

void build_layers(const Graph& graph, bool has_spec, Plan& plan) {
  LayerBuilder builder(graph, plan);
  builder.run();
  const std::size_t outputs = graph.outputs.size() - (has_spec ? 1 : 0);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const int head = builder.head_of(graph.outputs[i]);
    BF_CHECK(head >= 0);
    (i < outputs ? plan.output_heads : plan.spec_heads).push_back(head);
  }
  for (const ValueId id : graph.inputs) plan.inputs.push_back(graph.value(id));
  for (std::size_t i = 0; i < outputs; ++i) plan.outputs.push_back(graph.value(graph.outputs[i]));
  plan.input_count = total_count(plan.inputs);
  plan.output_count = total_count(plan.outputs);
  for (const int head : plan.spec_heads)
    plan.spec_rows += plan.layers[static_cast<std::size_t>(head)].out;
}

}  // namespace bf
