#include "tests/fuzz/mutate_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "onnx_schema/bf_aot_onnx.pb.h"

namespace bf_aot::test {
namespace {

constexpr std::array<std::int64_t, 14> kIntegers = {0,
                                                    1,
                                                    2,
                                                    3,
                                                    4,
                                                    7,
                                                    -1,
                                                    -2,
                                                    16,
                                                    255,
                                                    65'536,
                                                    -2'147'483'648LL,
                                                    std::int64_t{1} << 40,
                                                    std::numeric_limits<std::int64_t>::max()};
constexpr std::array<float, 10> kFloats = {0,
                                           1,
                                           -1,
                                           0.5F,
                                           1e-30F,
                                           1e30F,
                                           3e38F,
                                           -0.0F,
                                           std::numeric_limits<float>::infinity(),
                                           std::numeric_limits<float>::quiet_NaN()};
constexpr std::array<const char*, 24> kOperators = {
    "Add",     "Mul",     "Div",       "Concat", "Gather",
    "Slice",   "Reshape", "Transpose", "Split",  "Conv",
    "MatMul",  "Gemm",    "Pad",       "Resize", "TopK",
    "Softmax", "MaxPool", "Expand",    "Tile",   "ConstantOfShape",
    "Where",   "Einsum",  "ReduceMax", "Cast"};

class ModelMutator {
 public:
  explicit ModelMutator(unsigned seed) : random_(seed) {}

  void run(onnx::ModelProto& model) {
    onnx::GraphProto& graph = *model.mutable_graph();
    for (int count = 1 + below(4); count > 0; --count) step(model, graph);
  }

 private:
  int below(int limit) {
    return limit <= 0 ? 0 : static_cast<int>(random_() % static_cast<unsigned>(limit));
  }
  template <typename Choices>
  auto pick(const Choices& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<int>(choices.size())))];
  }
  template <typename Field>
  auto* pick_from(Field* field) {
    return field->size() == 0 ? nullptr : field->Mutable(below(field->size()));
  }

  void step(onnx::ModelProto& model, onnx::GraphProto& graph) {
    switch (below(8)) {
      case 0:
        return change_nodes(*graph.mutable_node());
      case 1:
      case 2:
        if (auto* const node = pick_from(graph.mutable_node())) change_names(graph, *node);
        return;
      case 3:
      case 4:
        if (auto* const node = pick_from(graph.mutable_node())) change_attributes(*node);
        return;
      case 5:
        if (auto* const tensor = pick_from(graph.mutable_initializer())) change_tensor(*tensor);
        return;
      case 6:
        if (auto* const input = pick_from(graph.mutable_input())) change_input(*input);
        return;
      default:
        if (auto* const set = pick_from(model.mutable_opset_import()))
          set->set_version(6 + below(22));
    }
  }

  void change_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    if (nodes.empty()) return;
    const int a = below(nodes.size()), b = below(nodes.size());
    switch (below(4)) {
      case 0:
        return nodes.DeleteSubrange(a, 1);
      case 1:
        return nodes.SwapElements(a, b);
      case 2: {
        const onnx::NodeProto copy = nodes.Get(a);
        *nodes.Add() = copy;
        return;
      }
      default:
        nodes.Mutable(a)->set_op_type(below(2) == 0 ? pick(kOperators)
                                                    : nodes.Get(b).op_type().c_str());
    }
  }

  std::string any_name(const onnx::GraphProto& graph) {
    std::vector<std::string> names = {""};
    for (const onnx::NodeProto& node : graph.node())
      names.insert(names.end(), node.output().begin(), node.output().end());
    for (const onnx::TensorProto& tensor : graph.initializer()) names.push_back(tensor.name());
    for (const onnx::ValueInfoProto& input : graph.input()) names.push_back(input.name());
    return pick(names);
  }

  void change_names(const onnx::GraphProto& graph, onnx::NodeProto& node) {
    auto& inputs = *node.mutable_input();
    switch (below(5)) {
      case 0:
        *inputs.Add() = any_name(graph);
        return;
      case 1:
        if (!inputs.empty()) inputs.RemoveLast();
        return;
      case 2:
        if (!inputs.empty()) inputs.Mutable(below(inputs.size()))->clear();
        return;
      case 3:
        *node.mutable_output()->Add() = "made" + std::to_string(below(4));
        return;
      default:
        if (!inputs.empty()) *inputs.Mutable(below(inputs.size())) = any_name(graph);
    }
  }

  void change_attributes(onnx::NodeProto& node) {
    auto* const attribute = pick_from(node.mutable_attribute());
    if (attribute == nullptr) return;
    switch (below(6)) {
      case 0:
        return node.mutable_attribute()->DeleteSubrange(below(node.attribute_size()), 1);
      case 1: {
        const onnx::AttributeProto copy = *attribute;
        *node.add_attribute() = copy;
        return;
      }
      case 2:
        return attribute->set_type(static_cast<onnx::AttributeProto::AttributeType>(below(9)));
      default:
        change_value(*attribute);
    }
  }

  void change_value(onnx::AttributeProto& attribute) {
    if (attribute.has_t() && below(2) == 0) return change_tensor(*attribute.mutable_t());
    switch (below(4)) {
      case 0:
        return attribute.set_i(pick(kIntegers));
      case 1:
        return attribute.set_f(pick(kFloats));
      case 2:
        if (attribute.ints_size() > 0 && below(3) > 0)
          return attribute.set_ints(below(attribute.ints_size()), pick(kIntegers));
        return attribute.add_ints(pick(kIntegers));
      default:
        if (attribute.ints_size() > 0) attribute.mutable_ints()->RemoveLast();
    }
  }

  // With data that still fits, where only the shape is another order of the same dimensions.
  void change_tensor(onnx::TensorProto& tensor) {
    switch (below(6)) {
      case 0:
        if (tensor.dims_size() > 1)
          tensor.mutable_dims()->SwapElements(below(tensor.dims_size()), below(tensor.dims_size()));
        return;
      case 1:
        if (tensor.dims_size() > 0) tensor.set_dims(below(tensor.dims_size()), pick(kIntegers));
        return;
      case 2:
        return tensor.add_dims(below(3));
      case 3:
        return tensor.set_data_type(below(24));
      case 4:
        if (tensor.float_data_size() > 0)
          tensor.set_float_data(below(tensor.float_data_size()), pick(kFloats));
        return;
      default:
        if (tensor.int64_data_size() > 0)
          tensor.set_int64_data(below(tensor.int64_data_size()), pick(kIntegers));
    }
  }

  void change_input(onnx::ValueInfoProto& input) {
    auto& type = *input.mutable_type()->mutable_tensor_type();
    auto& dims = *type.mutable_shape()->mutable_dim();
    switch (below(4)) {
      case 0:
        return type.set_elem_type(below(24));
      case 1:
        return dims.Add()->set_dim_value(1 + below(4));
      case 2:
        if (!dims.empty()) dims.RemoveLast();
        return;
      default:
        if (!dims.empty()) dims.Mutable(below(dims.size()))->set_dim_value(pick(kIntegers));
    }
  }

  std::mt19937 random_;
};

}  // namespace

std::string mutate_model(std::string_view bytes, unsigned seed) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return std::string(bytes);
  ModelMutator(seed).run(model);
  return model.SerializeAsString();
}

}  // namespace bf_aot::test
