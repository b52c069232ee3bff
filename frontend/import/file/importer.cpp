#include "frontend/import/file/importer.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <new>
#include <set>
#include <unordered_map>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/graph/model.h"
#include "frontend/gzip.h"
#include "frontend/import/file/functions.h"
#include "frontend/import/file/names.h"
#include "frontend/import/file/nnet.h"
#include "frontend/import/graph/graph_importer.h"
#include "frontend/import/operators/operators.h"
#include "frontend/import/operators/versions.h"
#include "frontend/sha256.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 31;  // of token ids
constexpr int kMaxNesting = 64;  // messages within messages; a plain model has 5

onnx::ModelProto parse(std::string_view bytes, const std::string& where,
                       const ImportLimits& limits) {
  constexpr std::uint64_t kProtobufLimit = 0x7fff'ffff;
  if (bytes.size() > std::min(limits.file_bytes, kProtobufLimit))
    fail("BF1002", where,
         fmt::format("the model has {} bytes, the limit is {}", bytes.size(),
                     std::min(limits.file_bytes, kProtobufLimit)),
         "store the weights as external data beside a smaller model file");
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kMaxNesting);
  onnx::ModelProto model;
  if (bytes.empty() || !model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    fail("BF1004", where, "not an ONNX model, or a damaged one",
         "give the .onnx file as it was exported");
  return model;
}

bool is_nnet(std::string_view file_name) {
  return file_name.ends_with(".nnet") || file_name.ends_with(".nnet.gz");
}

// Throws: BF1002 when more than the limit comes out, BF1003 when it is damaged.
std::string unpack(std::string_view bytes, const std::string& where, const ImportLimits& limits) {
  Unpacked unpacked = unpack_gzip(bytes, limits.file_bytes);
  if (unpacked.state == Unpacked::State::kTooLarge)
    fail("BF1002", where,
         fmt::format("the unpacked model is over the limit of {} bytes", limits.file_bytes));
  if (unpacked.state == Unpacked::State::kDamaged)
    fail("BF1003", where, "the gzip file is damaged", "compress the model again");
  return std::move(unpacked.bytes);
}

void check_counts(const onnx::GraphProto& graph, const ImportLimits& limits) {
  const auto check = [&](int count, std::string_view what) {
    if (static_cast<std::size_t>(count) > limits.nodes)
      fail("BF1005", "", fmt::format("{} {}, the limit is {}", count, what, limits.nodes));
  };
  check(graph.node_size(), "nodes");
  check(graph.initializer_size(), "initializers");
  check(graph.sparse_initializer_size(), "sparse initializers");
  check(graph.input_size(), "inputs");
  check(graph.output_size(), "outputs");
}

// A model all of whose nodes are of other domains, as ONNX Runtime may leave it, needs none of
// domain ai.onnx: the newest. Throws: BF1007 when the model lacks one, or it is not supported.
OpsetSpan opsets_of(const onnx::ModelProto& model) {
  const OpsetSpan found = find_opsets(model.opset_import(), "");
  const bool needs_none = std::ranges::none_of(
      model.graph().node(),
      [](const onnx::NodeProto& node) { return is_standard_domain(node.domain()); });
  if (found.last == 0 && needs_none && model.opset_import_size() > 0)
    return {kNewestOpset, kNewestOpset};
  if (found.last == 0)
    fail("BF1007", "", "the model imports no operator set of domain ai.onnx",
         fmt::format("export with opset {} to {}", kOldestOpset, kNewestOpset));
  return found;
}

ModelInfo describe(const onnx::ModelProto& model, std::string_view bytes,
                   const std::string& file_name) {
  ModelInfo info;
  info.file_name = printable(file_name);
  info.sha256 = sha256(bytes);
  info.producer = printable(model.producer_name());
  if (!model.producer_version().empty())
    info.producer += (info.producer.empty() ? "" : " ") + printable(model.producer_version());
  info.ir_version = model.ir_version();
  return info;
}

// Makes these tensors the graph's outputs. Throws: BF1017 when no node makes one of them.
void set_outputs(onnx::GraphProto& graph, const std::vector<std::string>& outputs) {
  std::set<std::string_view> made;
  for (const onnx::NodeProto& node : graph.node())
    made.insert(node.output().begin(), node.output().end());
  graph.clear_output();
  for (const std::string& name : outputs) {
    if (name.empty() || !made.contains(name))
      fail("BF1017", fmt::format("output '{}'", printable(name)), "no node makes such a tensor",
           graph.node_size() == 0
               ? ""
               : fmt::format("the last node makes '{}'",
                             printable(graph.node(graph.node_size() - 1).output_size() > 0
                                           ? graph.node(graph.node_size() - 1).output(0)
                                           : "")));
    graph.add_output()->set_name(name);
  }
}

// Returns the tensor of this name, or the output of the node of this name. Throws: BF1017 there is
// none, or several nodes have the name.
std::string hidden_tensor(const onnx::GraphProto& graph, const std::string& name) {
  std::vector<const onnx::NodeProto*> named;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!name.empty() && std::ranges::find(node.output(), name) != node.output().end()) return name;
    if (node.name() == name) named.push_back(&node);
  }
  if (named.size() == 1 && named[0]->output_size() == 1) return named[0]->output(0);
  fail("BF1017", fmt::format("hidden tensor '{}'", printable(name)),
       named.size() > 1 ? fmt::format("{} nodes have this name", named.size())
                        : "no node makes such a tensor",
       "declare-hidden takes the name of a tensor, or of a node with one output");
}

// Makes these tensors outputs, too, at their places. Throws: BF1017 when no node makes one of them,
// or there is no such place.
void add_hidden(onnx::GraphProto& graph, const std::map<std::size_t, std::string>& hidden) {
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> all;
  int own = 0;
  const auto add_own = [&](std::size_t end) {
    while (own < graph.output_size() && static_cast<std::size_t>(all.size()) < end)
      *all.Add() = graph.output(own++);
  };
  for (const auto& [place, name] : hidden) {
    add_own(place);
    const std::string tensor = hidden_tensor(graph, name);
    if (static_cast<std::size_t>(all.size()) < place)
      fail("BF1017", fmt::format("hidden tensor '{}'", printable(name)),
           fmt::format("{} outputs come before it, but the model has {}", place, own),
           "it belongs to another network");
    all.Add()->set_name(tensor);
  }
  add_own(SIZE_MAX);
  *graph.mutable_output() = std::move(all);
}

// The description of a tensor in the file, or one with its name alone.
onnx::ValueInfoProto described(const onnx::GraphProto& graph, const std::string& name) {
  for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()})
    for (const onnx::ValueInfoProto& info : *list)
      if (info.name() == name && info.type().has_tensor_type()) return info;
  onnx::ValueInfoProto made;
  made.set_name(name);
  made.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return made;
}

void set_shape(onnx::ValueInfoProto& info, const Shape& shape) {
  auto& dims = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  dims.clear_dim();
  for (const std::int64_t dim : shape) dims.add_dim()->set_dim_value(dim);
}

// Takes an initializer out of the graph, where there is one of this name, and describes it.
bool take_initializer(onnx::GraphProto& graph, const std::string& name,
                      onnx::ValueInfoProto& info) {
  auto& all = *graph.mutable_initializer();
  const auto found = std::ranges::find(all, name, &onnx::TensorProto::name);
  if (name.empty() || found == all.end()) return false;
  info.mutable_type()->mutable_tensor_type()->set_elem_type(found->data_type());
  set_shape(info, {found->dims().begin(), found->dims().end()});
  all.erase(found);
  auto& inputs = *graph.mutable_input();  // older files list initializers there, too
  const auto own = std::ranges::find(inputs, name, &onnx::ValueInfoProto::name);
  if (own != inputs.end()) inputs.erase(own);
  return true;
}

// Makes these tensors inputs: those that nodes make before the model's own, and initializers, which
// are constants no longer, behind them. The nodes make tensors of other names, which nothing reads.
// Throws: BF1008 when there is no such tensor, or one is named twice.
void set_inputs(onnx::GraphProto& graph, const std::vector<std::string>& inputs) {
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> all, last;
  std::set<std::string_view> seen;
  for (const std::string& name : inputs) {
    const std::string place = fmt::format("input '{}'", printable(name));
    if (!seen.insert(name).second) fail("BF1008", place, "it is named twice");
    onnx::ValueInfoProto info = described(graph, name);
    if (take_initializer(graph, name, info)) {
      *last.Add() = std::move(info);
      continue;
    }
    bool made = false;
    for (onnx::NodeProto& node : *graph.mutable_node())
      for (std::string& output : *node.mutable_output())
        if (!name.empty() && output == name) {
          made = true;
          output += "/cut";
        }
    if (!made)
      fail("BF1008", place, "there is no such tensor within the network",
           "--input-tensor takes the name of a tensor that a node makes, or of an initializer");
    *all.Add() = std::move(info);
  }
  for (const auto* const list : {&graph.input(), &std::as_const(last)})
    for (const onnx::ValueInfoProto& each : *list) *all.Add() = each;
  *graph.mutable_input() = std::move(all);
}

// Throws: BF1009 when there is no such input, or a dimension is not positive.
void set_shapes(onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    const std::string place = fmt::format("input '{}'", printable(name));
    onnx::ValueInfoProto* found = nullptr;
    for (onnx::ValueInfoProto& info : *graph.mutable_input())
      if (info.name() == name) found = &info;
    if (found == nullptr || !found->type().has_tensor_type())
      fail("BF1009", place, "a shape is given, but the model has no such input");
    for (const std::int64_t dim : shape)
      if (dim <= 0) fail("BF1009", place, fmt::format("a dimension of {}", dim));
    set_shape(*found, shape);
  }
}

// The names of the model's inputs: "ids, mask".
std::string input_names(const onnx::GraphProto& graph) {
  std::string names;
  for (const onnx::ValueInfoProto& info : graph.input())
    names += (names.empty() ? "" : ", ") + info.name();
  return names;
}

// Says how long an input of token ids is where its file leaves one dimension open. Throws: BF1029
// when there is no such input.
void set_token_shapes(onnx::GraphProto& graph, const std::map<std::string, TokenInput>& tokens) {
  for (const auto& [name, given] : tokens) {
    const auto found = std::ranges::find(*graph.mutable_input(), name, &onnx::ValueInfoProto::name);
    if (found == graph.mutable_input()->end())
      fail("BF1029", fmt::format("input '{}'", printable(name)),
           "token ids are given, but the model has no such input",
           fmt::format("its inputs are {}", printable(input_names(graph))));
    if (!found->type().tensor_type().has_shape()) continue;
    auto& dims = *found->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    std::int64_t known = 1;
    std::vector<onnx::TensorShapeProto::Dimension*> open;
    for (int i = 0; i < dims.size(); ++i)
      if (dims[i].has_dim_value() && dims[i].dim_value() > 0)
        known = std::min(known, kMostPositions) * std::min(dims[i].dim_value(), kMostPositions);
      else if (i > 0)
        open.push_back(&dims[i]);
    const auto positions = static_cast<std::int64_t>(given.sets.size());
    if (open.size() == 1 && positions > 0 && positions % known == 0)
      open[0]->set_dim_value(positions / known);
  }
}

// Leaves out the inputs that neither a wanted node nor an output reads.
void drop_inputs(onnx::GraphProto& graph, const std::vector<bool>& wanted) {
  std::set<std::string> read;
  for (int i = 0; i < graph.node_size(); ++i)
    if (wanted[static_cast<std::size_t>(i)])
      for_each_read(graph.node(i), [&](const std::string& name) { read.insert(name); });
  for (const onnx::ValueInfoProto& output : graph.output()) read.insert(output.name());
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> kept;
  for (const onnx::ValueInfoProto& info : graph.input())
    if (read.contains(info.name())) *kept.Add() = info;
  *graph.mutable_input() = std::move(kept);
}

// Marks the nodes that the tensors depend on.
std::vector<bool> nodes_behind(const onnx::GraphProto& graph,
                               const std::vector<std::string>& tensors) {
  std::unordered_map<std::string_view, std::vector<int>> makers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& name : graph.node(i).output()) makers[name].push_back(i);
  std::vector<bool> wanted(static_cast<std::size_t>(graph.node_size()), false);
  std::vector<std::string> open(tensors.begin(), tensors.end());
  while (!open.empty()) {
    const auto found = makers.find(open.back());
    open.pop_back();
    if (found == makers.end()) continue;
    for (const int i : found->second) {
      if (wanted[static_cast<std::size_t>(i)]) continue;
      wanted[static_cast<std::size_t>(i)] = true;
      for_each_read(graph.node(i), [&](const std::string& name) { open.push_back(name); });
    }
  }
  return wanted;
}

std::vector<OnnxNode> nodes_of(const onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, std::int32_t> maker;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& name : graph.node(i).output())
      if (!name.empty()) maker.emplace(name, i);
  std::set<std::string_view> network_outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) network_outputs.insert(output.name());
  std::vector<OnnxNode> nodes;
  for (const onnx::NodeProto& node : graph.node()) {
    OnnxNode made{printable(node.op_type()), printable(node.name()), {}, {}, {}, false};
    std::set<std::int32_t> makers;
    for_each_read(node, [&](const std::string& name) {
      made.inputs.push_back(printable(name));
      if (const auto found = maker.find(name); found != maker.end()) makers.insert(found->second);
    });
    for (const std::string& name : node.output()) {
      made.outputs.push_back(printable(name));
      made.is_output = made.is_output || network_outputs.contains(name);
    }
    made.makers.assign(makers.begin(), makers.end());
    nodes.push_back(std::move(made));
  }
  return nodes;
}

// file: what holds the bytes, or null; emptied when the model is parsed, which copies them.
ImportedModel import_parsed(std::string_view bytes, std::string* file, const std::string& file_name,
                            const std::filesystem::path& folder, const ImportLimits& limits,
                            const InputBindings& bindings, const ModelCut& cut) {
  expect_float_environment();
  const std::string place = printable(file_name);
  if (bytes.size() > limits.file_bytes)
    fail("BF1002", place,
         fmt::format("the model has {} bytes, the limit is {}", bytes.size(), limits.file_bytes),
         "store the weights as external data beside a smaller model file");
  const auto read = [&](std::string_view plain) {
    return is_nnet(file_name) ? read_nnet(plain, place, limits) : parse(plain, place, limits);
  };
  onnx::ModelProto model = is_gzip(bytes) ? read(unpack(bytes, place, limits)) : read(bytes);
  if (!model.has_graph())
    fail("BF1006", printable(file_name), "the model has no graph",
         "give the .onnx file as it was exported");
  check_counts(model.graph(), limits);
  ImportedModel result;
  result.info = describe(model, bytes, file_name);
  const OpsetSpan own = opsets_of(model);
  result.info.opset = own.last;
  if (file != nullptr) std::string().swap(*file);
  const std::vector<OpsetSpan> opsets = inline_functions(model, own, limits);
  ImportState state{
      {}, {limits, folder}, own.last, own.first, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  std::vector<bool> wanted(static_cast<std::size_t>(model.graph().node_size()), true);
  onnx::GraphProto& graph = *model.mutable_graph();
  set_inputs(graph, cut.inputs);
  set_shapes(graph, cut.shapes);
  set_token_shapes(graph, cut.tokens);
  if (!cut.outputs.empty()) set_outputs(graph, cut.outputs);
  if (!cut.hidden.empty()) add_hidden(graph, cut.hidden);
  if (!cut.outputs.empty() || !cut.inputs.empty()) {
    std::vector<std::string> ends;
    for (const onnx::ValueInfoProto& output : graph.output()) ends.push_back(output.name());
    wanted = nodes_behind(graph, ends);
  }
  if (!cut.inputs.empty()) drop_inputs(graph, wanted);
  result.nodes = nodes_of(model.graph());
  result.graph = import_graph(*model.mutable_graph(), std::move(state), bindings, cut.tokens,
                              {wanted, opsets}, result.info);
  return result;
}

ImportedModel import_bytes(std::string_view bytes, std::string* file, const std::string& file_name,
                           const std::filesystem::path& folder, const ImportLimits& limits,
                           const InputBindings& bindings, const ModelCut& cut) {
  try {
    return import_parsed(bytes, file, file_name, folder, limits, bindings, cut);
  } catch (const std::bad_alloc&) {
    fail("BF1005", printable(file_name), "the model needs more memory than there is");
  }
}

}  // namespace

ImportedModel import_model(const std::filesystem::path& path, const ImportLimits& limits,
                           const InputBindings& bindings, const ModelCut& cut) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::string file = read_file(path, limits.file_bytes, "model");
  return import_bytes(file, &file, path.filename().string(), folder, limits, bindings, cut);
}

ImportedModel import_model_bytes(std::string_view bytes, const std::string& file_name,
                                 const std::filesystem::path& folder, const ImportLimits& limits,
                                 const InputBindings& bindings, const ModelCut& cut) {
  return import_bytes(bytes, nullptr, file_name, folder, limits, bindings, cut);
}

namespace {

// folder: of external data.
TensorFile tensor_file(const onnx::TensorProto& tensor, const std::string& where,
                       const std::filesystem::path& folder, bool any_number) {
  expect_float_environment();
  const ImportLimits limits;
  TensorReader reader{limits, folder};
  reader.any_number = any_number;
  TensorFile file;
  file.name = printable(tensor.name());
  file.is_narrow = tensor.data_type() == onnx::TensorProto::FLOAT16 ||
                   tensor.data_type() == onnx::TensorProto::BFLOAT16;
  Tensor value = reader.read(tensor, where);
  if (auto* constant = std::get_if<Constant>(&value)) {
    file.shape = constant->shape;
    file.data = std::move(constant->data);
  } else {
    const auto& integers = std::get<IntegerTensor>(value);
    file.is_integer = true;
    file.shape = integers.shape;
    file.data.assign(integers.data.begin(), integers.data.end());
  }
  return file;
}

}  // namespace

TensorFile read_tensor(std::string_view bytes, const std::string& where) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail("BF1021", where, "not a tensor", "give a serialized TensorProto");
  return tensor_file(tensor, where, {}, true);
}

TensorFile read_initializer(const std::filesystem::path& path, const std::string& name) {
  const ImportLimits limits;
  const std::string bytes = read_file(path, limits.file_bytes, "model");
  const std::string place = printable(path.filename().string());
  const onnx::ModelProto model = is_gzip(bytes) ? parse(unpack(bytes, place, limits), place, limits)
                                                : parse(bytes, place, limits);
  const auto& all = model.graph().initializer();
  const auto found = std::ranges::find(all, name, &onnx::TensorProto::name);
  const std::string where = fmt::format("initializer '{}'", printable(name));
  if (name.empty() || found == all.end()) {
    constexpr int kNamed = 16;
    std::string names;
    for (int i = 0; i < std::min(all.size(), kNamed); ++i)
      names += (names.empty() ? "" : ", ") + printable(all[i].name());
    fail("BF1008", where, "the model has no such initializer",
         names.empty() ? "it has none" : "it has " + names);
  }
  if (std::ranges::count(all, name, &onnx::TensorProto::name) > 1)
    fail("BF1008", where, "the model has several of this name", "export it anew");
  const auto reads = [&](const onnx::NodeProto& node) {
    return std::ranges::find(node.input(), name) != node.input().end();
  };
  if (std::ranges::none_of(model.graph().node(), reads))
    fail("BF1008", where, "no node of the model reads it", "name one that a node reads");
  return tensor_file(*found, where, path.has_parent_path() ? path.parent_path() : ".", false);
}

std::string tensor_bytes(const TensorFile& tensor, bool in_float) {
  onnx::TensorProto made;
  made.set_name(tensor.name);
  made.set_data_type(in_float ? onnx::TensorProto::FLOAT : onnx::TensorProto::DOUBLE);
  for (const std::int64_t dimension : tensor.shape) made.add_dims(dimension);
  for (const double element : tensor.data) {
    if (in_float)
      made.add_float_data(static_cast<float>(element));
    else
      made.add_double_data(element);
  }
  return made.SerializeAsString();
}

}  // namespace bf_aot
