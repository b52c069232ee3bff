#include "aot/engine/run/split_tables.h"

#include <algorithm>
#include <variant>

#include "bf/search/split_curves.h"
#include "frontend/check_scope.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/functions.h"

namespace bf_aot::engine {
namespace {

bf::SplitRole role_of(SplitRole role) {
  switch (role) {
    case SplitRole::kLinear:
      return bf::SplitRole::kLinear;
    case SplitRole::kRelu:
      return bf::SplitRole::kRelu;
    case SplitRole::kFunction:
      return bf::SplitRole::kFunction;
    case SplitRole::kFactor:
      return bf::SplitRole::kFactor;
    case SplitRole::kProduct:
      return bf::SplitRole::kProduct;
  }
  BF_BROKEN("no role of a layer");
}

}  // namespace

template <class Number>
const Number* SplitTables::table(LayerId layer, int term, TableKind kind) const {
  if (find_table(lowered_.tables(), layer, term, kind) == nullptr) return nullptr;
  return static_cast<const Number*>(constants_.table({layer, term, kind}));
}

bf::SplitPart SplitTables::part_of(LayerId id, int number) {
  const Plan& plan = lowered_.plan();
  const Layer& layer = plan.layer(id);
  bf::SplitPart made = {};
  if (layer.kind == LayerKind::kDense) {
    made.map = bf::SplitMap::kDense;
    made.in = layer.in;
    made.panel = plan.layout(id).panel;
    made.weight = table<float>(id, -1, TableKind::kWeight);
    return made;
  }
  const Term& term = layer.term(number);
  made.in = term.in;
  made.weight = table<float>(id, number, TableKind::kWeight);
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    made.map = bf::SplitMap::kConv;
    made.shape = &shapes_.emplace_back(shape_of(conv->geometry));
  } else if (std::holds_alternative<SparseMap>(term.map)) {
    made.map = bf::SplitMap::kSparse;
    made.row_start = table<std::int32_t>(id, number, TableKind::kRowStart);
    made.column = table<std::int32_t>(id, number, TableKind::kColumn);
  } else {
    made.map = bf::SplitMap::kGather;
    made.column = table<std::int32_t>(id, number, TableKind::kSource);
  }
  return made;
}

SplitTables::SplitTables(const Lowered& lowered, const Constants& constants)
    : lowered_(lowered), constants_(constants) {
  const Plan& plan = lowered.plan();
  const DecidePlan& decide = plan.decide;
  SplitPlaces places;
  for (const SplitLayerPlan& each : decide.network.layers) {
    const Layer& layer = plan.layer(each.layer);
    std::vector<bf::SplitPart>& parts = parts_.emplace_back();
    for (const int source : each.sources) {
      parts.push_back(part_of(each.layer, static_cast<int>(parts.size())));
      parts.back().source = source;
    }
    bf::SplitLayer& made = layers_.emplace_back();
    made.role = role_of(each.role);
    if (each.role == SplitRole::kFunction) made.function = views_.of(*layer.function);
    made.parts = parts.data();
    made.part_count = static_cast<std::int32_t>(parts.size());
    made.out = layer.out;
    made.first = each.first;
    made.first_choice = places.choices;
    made.first_curve = places.curves;
    places.add(each.role, layer.out);
    made.bias = table<double>(each.layer, -1, TableKind::kBiasDouble);
    made.bias_run = bias_run(plan, each.layer);
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
  network_.choices = places.choices;
  network_.curves = places.curves;
  network_.multiplies = places.multiplies;
  network_.functions = places.functions ? &bf::kSplitFunctions : nullptr;
  network_.widest = decide.widest;
  network_.rows = plan.spec_rows;
  network_.terms = decide.terms;
  network_.row_first = row_first_.data();
  network_.row_count = row_count_.data();
  network_.roundings = decide.network.roundings;
  network_.products = decide.network.products;
}

}  // namespace bf_aot::engine
