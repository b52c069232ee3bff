#include "frontend/graph/model.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "aot/input/json/tokens.h"
#include "aot/library/state.h"
#include "frontend/derivative/derivative.h"
#include "frontend/disturbance/lines_front.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "frontend/read_bytes.h"
#include "frontend/sha256.h"

namespace bf_aot::api {
namespace {

constexpr char kReading[] = "reading the model";

std::vector<Tensor> tensors_of(const Graph& graph, const std::vector<ValueId>& ids,
                               std::size_t& count) {
  std::vector<Tensor> tensors;
  for (const ValueId id : ids) {
    const Value& value = graph.value(id);
    tensors.push_back({value.name, {value.shape.begin(), value.shape.end()}});
    count += static_cast<std::size_t>(element_count(value.shape));
  }
  return tensors;
}

ModelCut read_as(const Cut& cut) {
  ModelCut made{cut.outputs, cut.inputs, cut.shapes, {}};
  for (const auto& [name, sets] : cut.tokens) made.tokens[name] = {sets, false};
  for (const auto& [name, numbers] : cut.fixed) {
    TokenInput& input = made.tokens[name];
    if (!input.sets.empty())
      refuse("BF1029", fmt::format("input '{}'", printable(name)),
             "it is fixed, and has sets of ids");
    for (const std::int64_t number : numbers) input.sets.push_back({number});
    input.fixed = true;
  }
  return made;
}

// The tensor of which the tensor `name` is an index, but for shape and type; empty: it is none.
std::string chosen_by(const std::vector<OnnxNode>& nodes, std::string name) {
  static const std::set<std::string_view> kChoose = {"ArgMax", "ArgMin", "TopK"};
  static const std::set<std::string_view> kKeep = {"Cast",    "Flatten", "Identity",
                                                   "Reshape", "Squeeze", "Unsqueeze"};
  for (std::size_t left = nodes.size(); left > 0; --left) {
    const auto made = std::ranges::find_if(nodes, [&](const OnnxNode& node) {
      return std::ranges::find(node.outputs, name) != node.outputs.end();
    });
    if (made == nodes.end() || made->inputs.empty()) return {};
    if (kChoose.contains(made->type)) return made->inputs[0];
    if (!kKeep.contains(made->type)) return {};
    name = made->inputs[0];
  }
  return {};
}

Model model_of(ImportedModel imported, std::string path, const ModelCut& cut,
               std::shared_ptr<const std::string> bytes) {
  auto state = std::make_shared<Model::State>(
      Model::State{decide::Sampler(std::move(imported.graph)), std::move(imported.info), {}, {}});
  const Graph& graph = state->network.graph();
  state->inputs = tensors_of(graph, graph.inputs, state->input_count);
  state->outputs = tensors_of(graph, graph.outputs, state->output_count);
  for (const Node& node : graph.nodes)
    if (const auto* const literal = std::get_if<Literal>(&node.op))
      state->numbers += literal->value.data.size();
  state->token_sets = graph.one_hot.ids;
  state->derivative = path.empty() && bytes == nullptr;  // it has no origin of its own
  if (state->output_count == 1)
    state->chosen_by = chosen_by(imported.nodes, state->outputs[0].name);
  state->path = std::move(path);
  state->bytes = std::move(bytes);
  state->cut = cut;
  return Library::model(std::move(state));
}

}  // namespace

Result<Model> Model::load(const std::filesystem::path& path, const Cut& cut) {
  return guarded<Model>(kReading, [&] {
    const ModelCut made = read_as(cut);
    return model_of(import_model(path, {}, {}, made), std::filesystem::absolute(path).string(),
                    made, nullptr);
  });
}

Result<Model> Model::from_bytes(std::span<const std::byte> bytes, std::string_view name,
                                const Cut& cut) {
  return guarded<Model>(kReading, [&] {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const ModelCut made = read_as(cut);
    return model_of(import_model_bytes(text, std::string(name), {}, {}, {}, made), {}, made,
                    std::make_shared<const std::string>(text));
  });
}

void expect_unchanged(const Model& model, const std::string& where) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;
  const Model::State& state = Library::state(model);
  if (state.path.empty()) return;
  const ReadBytes read = read_bytes(state.path, kMostBytes, Sources::kFiles);
  if (!read.problem.empty() || sha256(read.bytes) != state.info.sha256)
    refuse("BF3024", where, "the model's file is no longer the one that was read");
}

Model with_hidden(const Model& model, const Property& property, std::size_t network) {
  const Model::State& state = Library::state(model);
  ModelCut cut = state.cut;
  cut.hidden = hidden_tensors(property, network);
  if (cut.hidden.empty()) return model;
  if (state.derivative)
    refuse("BF3410", property.file_name, "a model of derivatives has no hidden tensors");
  if (state.bytes != nullptr)
    return model_of(import_model_bytes(*state.bytes, state.info.file_name, {}, {}, {}, cut), {},
                    cut, state.bytes);
  expect_unchanged(model, "property");
  return model_of(import_model(state.path, {}, {}, cut), state.path, cut, nullptr);
}

Model with_lines(const Model& model, std::size_t parameters) {
  const Model::State& state = Library::state(model);
  return model_of(
      {behind_lines(state.network.graph(), static_cast<std::int64_t>(parameters)), state.info, {}},
      {}, {}, nullptr);
}

Result<Model> Model::derivative(std::span<const std::size_t> inputs) const {
  return guarded<Model>(
      "differentiating the model",
      [&] {
        return model_of({derivative_graph(state_->network.graph(), inputs), state_->info, {}}, {},
                        {}, nullptr);
      },
      state_->numbers);
}

const std::vector<std::vector<std::int64_t>>& Model::token_sets() const noexcept {
  return state_->token_sets;
}

Result<Ends> Model::box_of_ids(const std::vector<std::vector<std::int64_t>>& sets) const {
  return guarded<Ends>("making a box of ids", [&] {
    const OneHot& one_hot = state_->network.graph().one_hot;
    input::FloatBox box = input::box_of_ids(one_hot, sets.empty() ? one_hot.ids : sets, "sets");
    return Ends{std::move(box.lower), std::move(box.upper)};
  });
}

const std::vector<Tensor>& Model::inputs() const noexcept {
  return state_->inputs;
}

const std::vector<Tensor>& Model::outputs() const noexcept {
  return state_->outputs;
}

std::size_t Model::input_count() const noexcept {
  return state_->input_count;
}

std::size_t Model::output_count() const noexcept {
  return state_->output_count;
}

std::size_t Model::parameter_count() const noexcept {
  return state_->numbers;
}

const std::string& Model::sha256() const noexcept {
  return state_->info.sha256;
}

std::string Error::text() const {
  std::string all = bf_aot::to_string(Diagnostic{code, where, message, hint});
  for (const Error& other : others) all += other.text();
  return all;
}

}  // namespace bf_aot::api
