#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/verify/verify.h"
#include "planner/verify/verify_layer.h"

namespace bf_aot {
namespace {

bool contains(const SplitNetworkPlan& network, LayerId id) {
  return std::ranges::count(network.layers, id, &SplitLayerPlan::layer) > 0;
}

// Whether a layer of products of the network reads the layer.
bool is_multiplied(const Plan& plan, const SplitNetworkPlan& network, LayerId id) {
  return std::ranges::any_of(network.layers, [&](const SplitLayerPlan& each) {
    return plan.layer(each.layer).kind == LayerKind::kProduct &&
           std::ranges::count(inputs_of(plan.layer(each.layer)), id) > 0;
  });
}

SplitRole true_role(const Plan& plan, const SplitNetworkPlan& network, LayerId id) {
  const Layer& layer = plan.layer(id);
  if (layer.kind == LayerKind::kProduct) return SplitRole::kProduct;
  if (layer.relu) return SplitRole::kRelu;
  if (layer.function) return SplitRole::kFunction;
  return !plan.is_head(id) && is_multiplied(plan, network, id) ? SplitRole::kFactor
                                                               : SplitRole::kLinear;
}

void verify_layers(const Plan& plan, const SplitNetworkPlan& network) {
  int first = 0;
  std::vector<int> readers(network.layers.size());
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const SplitLayerPlan& each = network.layers[i];
    const Layer& layer = plan.layer(each.layer);
    require(layer.kind != LayerKind::kMax, "neurons of layer {} are split", layer.name);
    require(i == 0 || network.layers[i - 1].layer < each.layer, "layer {}: order", layer.name);
    require(each.first == first, "layer {}: its first neuron is {}, not {}", layer.name, each.first,
            first);
    first += layer.out;
    const std::vector<LayerId> inputs = inputs_of(layer);
    require(each.sources.size() == inputs.size(), "layer {}: sources", layer.name);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const int source = each.sources[k];
      const bool found =
          source < 0 ? !inputs[k].is_layer()
                     : source < static_cast<int>(i) &&
                           network.layers[static_cast<std::size_t>(source)].layer == inputs[k];
      require(found, "layer {}: source {}", layer.name, source);
      if (source >= 0) ++readers[static_cast<std::size_t>(source)];
    }
    require(each.role == true_role(plan, network, each.layer), "layer {}: its role", layer.name);
  }
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    require(network.layers[i].is_read == (readers[i] > 0), "layer {}: whether it is read",
            plan.layer(network.layers[i].layer).name);
  for (const LayerId head : plan.spec_heads)
    require(contains(network, head), "rows of layer {} are not split", plan.layer(head).name);
}

// What each neuron's numbers are rounded by: a line's coefficient, its offset, and Lambda b; of a
// function two multipliers' offsets and their coefficients besides, and what the line's coefficient
// loses to them; of a product the coefficients of two factors, two planes each, and four offsets.
std::int64_t numbers_of(SplitRole role) {
  constexpr std::int64_t kLine = 3, kMultiplier = 2, kMeeting = 1, kFactor = 4, kOffsets = 4;
  if (role == SplitRole::kProduct) return 2 * kFactor + kOffsets;
  const bool function = role == SplitRole::kFunction || role == SplitRole::kFactor;
  return kLine + (function ? 2 * kMultiplier + kMeeting : 0);
}

}  // namespace

// Counted anew, in integers: of neurons, of products, and of the coefficients over each tensor.
void verify_split_network(const Plan& plan, const SplitNetworkPlan& network) {
  verify_layers(plan, network);
  constexpr std::int64_t kOfSum = 64, kPartialSums = 4;
  std::int64_t numbers = kOfSum + 3 * std::int64_t{plan.input_count} + plan.spec_rows;
  std::int64_t products = 0;
  for (const SplitLayerPlan& each : network.layers) {
    const Layer& layer = plan.layer(each.layer);
    const bool multiplies = layer.kind == LayerKind::kProduct;
    numbers += numbers_of(each.role) * layer.out;
    if (layer.kind == LayerKind::kDense) {
      products += static_cast<std::int64_t>(layer.weight.size());
      numbers += layer.out + kPartialSums;
    }
    for (const Term& term : layer.terms) {
      numbers += term.column_entries + (multiplies ? 0 : kPartialSums);
      if (!multiplies) products += std::int64_t{layer.out} * term.row_entries;
    }
  }
  require(network.roundings >= static_cast<double>(numbers) &&
              network.products >= static_cast<double>(products),
          "proofs of nodes pay for {} roundings and {} products, not {} and {}", network.roundings,
          network.products, numbers, products);
}

}  // namespace bf_aot
