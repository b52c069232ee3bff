#include "planner/split_neurons.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr const char* kWhere = "--decide=neurons";

// Sums over so many products are raised by enough, see sum_reaches().
constexpr int kMostProducts = 1 << 20;

[[noreturn]] void refuse(const std::string& why) {
  fail("BF2118", kWhere, why, "--decide=inputs splits boxes instead");
}

// Products in a row of a layer at most, and of a coefficient over what a part reads.
double row_products(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return layer.in;
  double products = 0;
  for (const Term& term : layer.terms) products += term.row_entries;
  return products;
}

double column_products(const Layer& layer) {
  constexpr int kPartialSums = 4;
  if (layer.kind == LayerKind::kDense) return layer.out + kPartialSums;
  double products = 0;
  for (const Term& term : layer.terms) products += term.column_entries + kPartialSums;
  return products;
}

void check_layer(const Layer& layer) {
  const auto refuse_as = [&](const std::string& what) {
    refuse(
        fmt::format("layer '{}' ({}) {}: neurons are split in networks of affine layers and "
                    "ReLUs",
                    layer.name, layer.origin.text, what));
  };
  if (layer.function) refuse_as("has another activation than ReLU");
  if (!layer.is_affine()) refuse_as("is not affine");
  for (const Term& term : layer.terms)
    if (const auto* const gather = std::get_if<GatherMap>(&term.map)) BF_CHECK(!gather->view);
  if (row_products(layer) > kMostProducts) refuse_as("sums more than 2^20 products");
}

// The layers that rows of the specification depend on.
std::vector<SplitLayerPlan> layers_of_rows(const Plan& plan) {
  PerLayer<bool> needed(plan.layers.size(), false);
  for (const LayerId head : plan.spec_heads) needed[head] = true;
  for (std::size_t i = plan.layers.size(); i-- > 0;)
    if (needed[i])
      for (const LayerId source : inputs_of(plan.layers[i]))
        if (source.is_layer()) needed[source] = true;
  std::vector<SplitLayerPlan> layers;
  PerTensor<int> places(plan.layers.size(), -1);
  int first = 0;
  for (const LayerId id : plan.layer_ids()) {
    if (!needed[id]) continue;
    const Layer& layer = plan.layer(id);
    check_layer(layer);
    const auto place = static_cast<int>(layers.size());
    SplitLayerPlan& made = layers.emplace_back(SplitLayerPlan{id, {}, first});
    for (const LayerId source : inputs_of(layer)) made.sources.push_back(places[source]);
    places[id] = place;
    first += layer.out;
  }
  return layers;
}

// Where the entry relaxes each of the layers last.
void keep_ranges_of(Entry& entry, const Plan& plan) {
  for (const auto& [id, sources, first] : plan.decide.layers) {
    Relax* last = nullptr;
    for (Step& step : entry.steps)
      if (auto* const relax = std::get_if<Relax>(&step); relax != nullptr && relax->layer == id)
        last = relax;
    if (last != nullptr) last->kept_position = first;
    if (last == nullptr && plan.layer(id).relu)
      refuse(fmt::format("method {} keeps no intervals of layer '{}' before its ReLU",
                         to_string(plan.config.method), plan.layer(id).name));
  }
}

}  // namespace

void split_neurons(Plan& plan) {
  const PlannerConfig& config = plan.config;
  if (!config.decide || config.splits != Splits::kNeurons) return;
  if (plan.spec_rows == 0) refuse("there are no rows of a property");
  if (config.workers > 1) refuse("workers do not share its nodes: leave --parallel out");
  const auto entry = std::ranges::find(plan.entries, EntryKind::kSpecBounds, &Entry::kind);
  BF_CHECK(entry != plan.entries.end());
  for (const LayerId head : plan.spec_heads)
    if (plan.layer(head).relu) refuse("a row of the property is a ReLU");
  DecidePlan& decide = plan.decide;
  decide.reason = "asked for";
  decide.layers = layers_of_rows(plan);
  keep_ranges_of(*entry, plan);
  double most_products = 0;
  for (const auto& [id, sources, first] : decide.layers) {
    const Layer& layer = plan.layer(id);
    decide.neurons = first + layer.out;
    if (layer.relu) decide.relus += layer.out;
    decide.widest = std::max(decide.widest, layer.out);
    decide.products += layer.out * row_products(layer);
    most_products += column_products(layer);
  }
  constexpr int kMostTerms = 32;
  if (decide.relus == 0) refuse("there is no ReLU");
  decide.terms = std::min(2 * plan.spec_rows, kMostTerms);
  // Of each neuron's line, of each input, of each row, and a few of their sum.
  decide.roundings =
      64 + 3.0 * decide.neurons + 3.0 * plan.input_count + plan.spec_rows + most_products;
}

}  // namespace bf_aot
