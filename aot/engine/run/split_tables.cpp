#include "aot/engine/run/split_tables.h"

#include <algorithm>
#include <variant>

namespace bf_aot::engine {
namespace {

using Known = std::vector<WeightTable>;

// Tables that a plan leaves out are null.
template <class Number>
const Number* table_of(const Known& known, const Constants& constants, LayerId layer, int term,
                       TableKind kind) {
  const bool exists = std::ranges::any_of(known, [&](const WeightTable& each) {
    return each.layer == layer && each.term == term && each.kind == kind;
  });
  if (!exists) return nullptr;
  return static_cast<const Number*>(constants.table({layer, term, kind}));
}

}  // namespace

bf::SplitPart SplitTables::part_of(const std::vector<WeightTable>& known,
                                   const Constants& constants, LayerId id, int number) {
  const Layer& layer = plan_.layer(id);
  bf::SplitPart made = {};
  if (layer.kind == LayerKind::kDense) {
    made.map = bf::SplitMap::kDense;
    made.in = layer.in;
    made.panel = plan_.layout(id).panel;
    made.weight = table_of<float>(known, constants, id, -1, TableKind::kWeight);
    return made;
  }
  const Term& term = layer.term(number);
  made.in = term.in;
  made.weight = table_of<float>(known, constants, id, number, TableKind::kWeight);
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    made.map = bf::SplitMap::kConv;
    made.shape = &shapes_.emplace_back(shape_of(conv->geometry));
  } else if (std::holds_alternative<SparseMap>(term.map)) {
    made.map = bf::SplitMap::kSparse;
    made.row_start = table_of<std::int32_t>(known, constants, id, number, TableKind::kRowStart);
    made.column = table_of<std::int32_t>(known, constants, id, number, TableKind::kColumn);
  } else {
    made.map = bf::SplitMap::kGather;
    made.column = table_of<std::int32_t>(known, constants, id, number, TableKind::kSource);
  }
  return made;
}

SplitTables::SplitTables(const Plan& plan, const Constants& constants) : plan_(plan) {
  const DecidePlan& decide = plan.decide;
  const Known known = weight_tables(plan);
  for (const SplitLayerPlan& each : decide.network.layers) {
    const Layer& layer = plan.layer(each.layer);
    std::vector<bf::SplitPart>& parts = parts_.emplace_back();
    for (const int source : each.sources) {
      parts.push_back(part_of(known, constants, each.layer, static_cast<int>(parts.size())));
      parts.back().source = source;
    }
    bf::SplitLayer& made = layers_.emplace_back();
    made.parts = parts.data();
    made.part_count = static_cast<std::int32_t>(parts.size());
    made.out = layer.out;
    made.first = each.first;
    made.bias = table_of<double>(known, constants, each.layer, -1, TableKind::kBiasDouble);
    made.bias_run = bias_run(plan, each.layer);
    made.relu = layer.relu;
    made.weight_error = layer.errors.weight_relative;
    made.bias_error = layer.errors.bias_double;
  }
  for (const LayerId head : plan.spec_heads) {
    row_first_.push_back(
        std::ranges::find(decide.network.layers, head, &SplitLayerPlan::layer)->first);
    row_count_.push_back(plan.layer(head).out);
  }
  network_.layers = layers_.data();
  network_.count = static_cast<std::int32_t>(layers_.size());
  network_.inputs = plan.input_count;
  network_.neurons = decide.neurons;
  network_.widest = decide.widest;
  network_.rows = plan.spec_rows;
  network_.terms = decide.terms;
  network_.row_first = row_first_.data();
  network_.row_count = row_count_.data();
  network_.roundings = decide.network.roundings;
  network_.products = decide.network.products;
}

}  // namespace bf_aot::engine
