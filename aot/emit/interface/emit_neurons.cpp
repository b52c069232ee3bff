#include "aot/emit/interface/emit_neurons.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/constants/shapes.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/literals.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/functions.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kNeuronDeclarations =
    R"(/* Decides the property @property@ on a box by splits of neurons: as @name@_verify, but
 * what is undecided is split at a neuron or at an input, over and over, whichever gains more.
 * BF_BUDGET: `budget` is spent, of which a node is a box, or more
 * than @open_nodes@ nodes are open at a time; @NAME@_OPEN_BOX_BYTES more of workspace is room for one more.
 * BF_UNKNOWN: a node that no float divides is left. budget: see bf.h; null: no limit. search: null,
 * or where to write how far the search came. The same result on every run. */
#define @NAME@_OPEN_BOX_BYTES @node_bytes@
#define @NAME@_DECIDE_WORKSPACE_BYTES (@NAME@_WORKSPACE_BYTES + @bytes@)
)";

constexpr std::string_view kRangesComment =
    R"(/* @name@_spec_bounds, and where the neurons lie before their ReLUs: ranges[i] <= z_i <=
 * ranges[@neurons@ + i] for neuron i of @neurons@, counted over the layers that the rows depend on; written
 * for layers with an activation alone. null: not wanted. */
)";

constexpr std::string_view kNeuronBody =
    R"(  if (const bf_status status = bf::check_box(lower, upper, @NAME@_INPUTS@reach@)) return status;

  static_assert(@NAME@_WORKSPACE_BYTES % alignof(double) == 0
                    && @NAME@_OPEN_BOX_BYTES == bf::open_node_bytes(@choices@, @terms@)
                    && @NAME@_DECIDE_WORKSPACE_BYTES - @NAME@_WORKSPACE_BYTES
                           >= bf::split_bytes({@NAME@_INPUTS, @NAME@_SPEC_ROWS, @neurons@, @widest@, @layer_count@, @terms@, @choices@, @curves@, @activations@})
                                  + 2 * @NAME@_OPEN_BOX_BYTES,
                "the workspace is of another version");
  // map, source, inputs, weights, panel, starts of rows, columns, shape
  const bf::SplitPart parts[@part_count@] = {
@parts@  };
  // role, function, parts, how many, neurons, the first neuron, choice and curve, bias,
  // neurons that share one, errors of weights and bias
  const bf::SplitLayer layers[@layer_count@] = {
@layers@  };
  // The rows of the specification, by head: its first neuron, and how many there are.
  static constexpr std::int32_t row_first[@heads@] = {@firsts@};
  static constexpr std::int32_t row_count[@heads@] = {@counts@};
  const bf::SplitNetwork network = {layers, @layer_count@, @NAME@_INPUTS, @neurons@, @choices@, @curves@, @multiplies@,
                                    @functions@, @widest@, @NAME@_SPEC_ROWS, @terms@,
                                    row_first, row_count, @roundings@, @products@};
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high, float* ranges) {
    return @name@_spec_ranges(low, high, row_low, row_high, ranges, workspace, @NAME@_WORKSPACE_BYTES);
  };
  return bf::decide_by_neurons(property::tables, network, lower, upper, budget, result, search,
                               at<float>(workspace, @NAME@_WORKSPACE_BYTES),
                               workspace_bytes - @NAME@_WORKSPACE_BYTES, bounds);
)";

// nullptr for a table that the plan leaves out.
std::string table_name(const Lowered& lowered, LayerId layer, int term, TableKind kind) {
  const WeightTable* const found = find_table(lowered.tables(), layer, term, kind);
  return found == nullptr ? "nullptr" : table_reference(lowered.plan().weight_storage, *found);
}

std::string shape_of_term(const Plan& plan, LayerId layer, int term) {
  const std::vector<ConvShapeName> shapes = conv_shapes(plan);
  const auto found = std::ranges::find_if(
      shapes, [&](const ConvShapeName& each) { return each.layer == layer && each.term == term; });
  BF_CHECK(found != shapes.end());
  return "&" + found->name;
}

std::string part_text(const Lowered& lowered, LayerId id, int number, int source) {
  const Plan& plan = lowered.plan();
  const Layer& layer = plan.layer(id);
  const auto table = [&](int term, TableKind kind) { return table_name(lowered, id, term, kind); };
  const auto text = [&](const char* map, int in, int term, int panel, const std::string& starts,
                        const std::string& columns, const std::string& shape) {
    return fmt::format("      {{bf::SplitMap::{}, {}, {}, {}, {}, {}, {}, {}}},\n", map, source, in,
                       table(term, TableKind::kWeight), panel, starts, columns, shape);
  };
  const std::string none = "nullptr";
  if (layer.kind == LayerKind::kDense)
    return text("kDense", layer.in, -1, plan.layout(id).panel, none, none, none);
  const Term& term = layer.term(number);
  if (std::holds_alternative<ConvMap>(term.map))
    return text("kConv", term.in, number, 1, none, none, shape_of_term(plan, id, number));
  if (std::holds_alternative<SparseMap>(term.map))
    return text("kSparse", term.in, number, 1, table(number, TableKind::kRowStart),
                table(number, TableKind::kColumn), none);
  return text("kGather", term.in, number, 1, none, table(number, TableKind::kSource), none);
}

const char* role_name(SplitRole role) {
  switch (role) {
    case SplitRole::kLinear:
      return "kLinear";
    case SplitRole::kRelu:
      return "kRelu";
    case SplitRole::kFunction:
      return "kFunction";
    case SplitRole::kFactor:
      return "kFactor";
    case SplitRole::kProduct:
      return "kProduct";
  }
  BF_BROKEN("no role of a layer");
}

struct LayersText {
  std::string parts, layers;
  std::size_t part_count = 0;
  SplitPlaces places;
};

LayersText layers_text(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  LayersText text;
  for (const SplitLayerPlan& each : plan.decide.network.layers) {
    const Layer& layer = plan.layer(each.layer);
    const std::string function =
        each.role == SplitRole::kFunction
            ? "&" + function_table_name(plan, calls::FunctionOf{*layer.function, false})
            : "nullptr";
    text.layers += fmt::format(
        "      {{bf::SplitRole::{}, {}, parts + {}, {}, {}, {}, {}, {},\n       {}, {}, {}, "
        "{}}},\n",
        role_name(each.role), function, text.part_count, each.sources.size(), layer.out, each.first,
        text.places.choices, text.places.curves,
        table_name(lowered, each.layer, -1, TableKind::kBiasDouble), bias_run(plan, each.layer),
        double_literal(layer.errors.weight_relative), double_literal(layer.errors.bias_double));
    text.part_count += each.sources.size();
    text.places.add(each.role, layer.out);
    for (int number = 0; number < static_cast<int>(each.sources.size()); ++number)
      text.parts +=
          part_text(lowered, each.layer, number, each.sources[static_cast<std::size_t>(number)]);
  }
  return text;
}

}  // namespace

std::string neurons_comment(const Plan& plan, const HeaderBytes& bytes, const Property& property) {
  return fill_in(kNeuronDeclarations,
                 {{"property", property.file_name},
                  {"bytes", bytes.decide},
                  {"open_nodes", plan.decide.open_boxes},
                  {"node_bytes", bytes.open_box}},
                 names_of(plan));
}

std::string ranges_comment(const Plan& plan) {
  return fill_in(kRangesComment, {{"neurons", plan.decide.neurons}}, names_of(plan));
}

FunctionBody neurons_body(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  const DecidePlan& decide = plan.decide;
  const LayersText text = layers_text(lowered);
  std::string firsts, counts;
  for (const LayerId head : plan.spec_heads) {
    const auto at = std::ranges::find(decide.network.layers, head, &SplitLayerPlan::layer);
    firsts += fmt::format("{}{}", firsts.empty() ? "" : ", ", at->first);
    counts += fmt::format("{}{}", counts.empty() ? "" : ", ", plan.layer(head).out);
  }
  return {fill_in(kNeuronBody,
                  {{"neurons", decide.neurons},
                   {"terms", decide.terms},
                   {"choices", text.places.choices},
                   {"curves", text.places.curves},
                   {"activations", text.places.multiplies ? decide.neurons : 0},
                   {"multiplies", text.places.multiplies},
                   {"functions", text.places.functions ? "&bf::kSplitFunctions" : "nullptr"},
                   {"widest", decide.widest},
                   {"layer_count", decide.network.layers.size()},
                   {"part_count", text.part_count},
                   {"parts", text.parts},
                   {"layers", text.layers},
                   {"heads", plan.spec_heads.size()},
                   {"firsts", firsts},
                   {"counts", counts},
                   {"roundings", double_literal(decide.network.roundings)},
                   {"products", double_literal(decide.network.products)}},
                  names_of(plan)),
          {}};
}

}  // namespace bf_aot::emit
