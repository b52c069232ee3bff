#include "aot/emit/interface/emit_neurons.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/constants/shapes.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/weight_tables.h"

namespace bf_aot::emit {
namespace {

// {0} upper-case name, {1} name, {2} property, {3} bytes on top of the bounds' workspace,
// {4} open nodes, {5} bytes of one.
constexpr const char* kNeuronDeclarations =
    R"(/* Decides the property {2} on a box by splits of neurons: as {1}_verify, but
 * what is undecided is split at the sign of a neuron before its ReLU, over and over, and at an
 * input where no neuron is left. BF_BUDGET: `budget` is spent, of which a node is a box, or more
 * than {4} nodes are open at a time; {0}_OPEN_BOX_BYTES more of workspace is room for one more.
 * BF_UNKNOWN: a node that no float divides is left. budget: see bf.h; null: no limit. search: null,
 * or where to write how far the search came. The same result on every run. */
#define {0}_OPEN_BOX_BYTES {5}
#define {0}_DECIDE_WORKSPACE_BYTES ({0}_WORKSPACE_BYTES + {3})
)";

// {0} upper-case name, {1} name, {2} neurons.
constexpr const char* kRangesComment =
    R"(/* {1}_spec_bounds, and where the neurons lie before their ReLUs: ranges[i] <= z_i <=
 * ranges[{2} + i] for neuron i of {2}, counted over the layers that the rows depend on; written
 * for layers with a ReLU alone. null: not wanted. */
)";

// {0} name, {1} upper-case name, {2} layers, {3} numbers of the network, {4} extents.
constexpr const char* kNeuronBody =
    R"(  if (const bf_status status = bf::check_box(lower, upper, {1}_INPUTS{reach})) return status;

  static_assert({1}_WORKSPACE_BYTES % alignof(double) == 0
                    && {1}_OPEN_BOX_BYTES == bf::open_node_bytes({neurons}, {terms})
                    && {1}_DECIDE_WORKSPACE_BYTES - {1}_WORKSPACE_BYTES
                           >= bf::split_bytes({{{1}_INPUTS, {1}_SPEC_ROWS, {neurons}, {widest}, {count}, {terms}}})
                                  + 2 * {1}_OPEN_BOX_BYTES,
                "the workspace is of another version");
  // map, source, inputs, weights, panel, starts of rows, columns, shape
  const bf::SplitPart parts[{part_count}] = {{
{parts}  }};
  // parts, how many, neurons, the first, bias, neurons that share one, ReLU, errors of weights and
  // bias
  const bf::SplitLayer layers[{count}] = {{
{layers}  }};
  // The rows of the specification, by head: its first neuron, and how many there are.
  static constexpr std::int32_t row_first[{heads}] = {{{firsts}}};
  static constexpr std::int32_t row_count[{heads}] = {{{counts}}};
  const bf::SplitNetwork network = {{layers, {count}, {1}_INPUTS, {neurons}, {widest}, {1}_SPEC_ROWS, {terms},
                                    row_first, row_count, {roundings}, {products}}};
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high, float* ranges) {{
    return {0}_spec_ranges(low, high, row_low, row_high, ranges, workspace, {1}_WORKSPACE_BYTES);
  }};
  return bf::decide_by_neurons(property::tables, network, lower, upper, budget, result, search,
                               at<float>(workspace, {1}_WORKSPACE_BYTES),
                               workspace_bytes - {1}_WORKSPACE_BYTES, bounds);
)";

// The tables of the plan, by what they are of; nullptr for those that it leaves out.
class Tables {
 public:
  explicit Tables(const Plan& plan) : plan_(plan), tables_(weight_tables(plan)) {}

  std::string name(LayerId layer, int term, TableKind kind) const {
    const auto found = std::ranges::find_if(tables_, [&](const WeightTable& each) {
      return each.layer == layer && each.term == term && each.kind == kind;
    });
    return found == tables_.end() ? "nullptr" : table_reference(plan_.weight_storage, *found);
  }

 private:
  const Plan& plan_;
  const std::vector<WeightTable> tables_;
};

std::string shape_of_term(const Plan& plan, LayerId layer, int term) {
  const std::vector<ConvShapeName> shapes = conv_shapes(plan);
  const auto found = std::ranges::find_if(
      shapes, [&](const ConvShapeName& each) { return each.layer == layer && each.term == term; });
  BF_CHECK(found != shapes.end());
  return "&" + found->name;
}

std::string part_text(const Plan& plan, const Tables& tables, LayerId id, int number, int source) {
  const Layer& layer = plan.layer(id);
  const auto text = [&](const char* map, int in, int term, int panel, const std::string& starts,
                        const std::string& columns, const std::string& shape) {
    return fmt::format("      {{bf::SplitMap::{}, {}, {}, {}, {}, {}, {}, {}}},\n", map, source, in,
                       tables.name(id, term, TableKind::kWeight), panel, starts, columns, shape);
  };
  const std::string none = "nullptr";
  if (layer.kind == LayerKind::kDense)
    return text("kDense", layer.in, -1, plan.layout(id).panel, none, none, none);
  const Term& term = layer.term(number);
  if (std::holds_alternative<ConvMap>(term.map))
    return text("kConv", term.in, number, 1, none, none, shape_of_term(plan, id, number));
  if (std::holds_alternative<SparseMap>(term.map))
    return text("kSparse", term.in, number, 1, tables.name(id, number, TableKind::kRowStart),
                tables.name(id, number, TableKind::kColumn), none);
  return text("kGather", term.in, number, 1, none, tables.name(id, number, TableKind::kSource),
              none);
}

struct LayersText {
  std::string parts, layers;
  std::size_t part_count = 0;
};

LayersText layers_text(const Plan& plan) {
  const Tables tables(plan);
  LayersText text;
  for (const SplitLayerPlan& each : plan.decide.network.layers) {
    const Layer& layer = plan.layer(each.layer);
    text.layers += fmt::format(
        "      {{parts + {}, {}, {}, {}, {}, {}, {},\n       {}, {}}},\n", text.part_count,
        each.sources.size(), layer.out, each.first,
        tables.name(each.layer, -1, TableKind::kBiasDouble), bias_run(plan, each.layer), layer.relu,
        double_literal(layer.errors.weight_relative), double_literal(layer.errors.bias_double));
    text.part_count += each.sources.size();
    for (int number = 0; number < static_cast<int>(each.sources.size()); ++number)
      text.parts += part_text(plan, tables, each.layer, number,
                              each.sources[static_cast<std::size_t>(number)]);
  }
  return text;
}

}  // namespace

std::string neurons_comment(const Plan& plan, const Property& property) {
  return fmt::format(fmt::runtime(kNeuronDeclarations), upper_case(plan.name), plan.name,
                     property.file_name, plan.decide.bytes, plan.decide.open_boxes,
                     plan.decide.open_box_bytes);
}

std::string ranges_comment(const Plan& plan) {
  return fmt::format(fmt::runtime(kRangesComment), upper_case(plan.name), plan.name,
                     plan.decide.neurons);
}

FunctionBody neurons_body(const Plan& plan) {
  const DecidePlan& decide = plan.decide;
  const LayersText text = layers_text(plan);
  std::string firsts, counts;
  for (const LayerId head : plan.spec_heads) {
    const auto at = std::ranges::find(decide.network.layers, head, &SplitLayerPlan::layer);
    firsts += fmt::format("{}{}", firsts.empty() ? "" : ", ", at->first);
    counts += fmt::format("{}{}", counts.empty() ? "" : ", ", plan.layer(head).out);
  }
  return {fmt::format(fmt::runtime(kNeuronBody), plan.name, upper_case(plan.name),
                      fmt::arg("reach", reach_argument(plan)), fmt::arg("neurons", decide.neurons),
                      fmt::arg("terms", decide.terms), fmt::arg("widest", decide.widest),
                      fmt::arg("count", decide.network.layers.size()),
                      fmt::arg("part_count", text.part_count), fmt::arg("parts", text.parts),
                      fmt::arg("layers", text.layers), fmt::arg("heads", plan.spec_heads.size()),
                      fmt::arg("firsts", firsts), fmt::arg("counts", counts),
                      fmt::arg("roundings", double_literal(decide.network.roundings)),
                      fmt::arg("products", double_literal(decide.network.products))),
          {}};
}

}  // namespace bf_aot::emit
