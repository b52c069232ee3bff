#include "planner/network/split_network.h"

#include <algorithm>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "planner/network/error_terms.h"

namespace bf_aot {
namespace {

// Roundings that neurons cost apart from their coefficients' sums: of a coefficient, and of each
// number that is added to the bound. An affine neuron or a ReLU has a line and a bias; a function a
// line, the ends that splits keep it at and a bias; a product two coefficients and the four
// products in its planes.
double roundings_of_neuron(SplitRole role) {
  switch (role) {
    case SplitRole::kLinear:
    case SplitRole::kRelu:
      return 3;
    case SplitRole::kFunction:
    case SplitRole::kFactor:
      return 8;
    case SplitRole::kProduct:
      return 12;
  }
  return 0;
}

bool may_be_factor(const Plan& plan, LayerId id) {
  if (!id.is_layer() || plan.is_head(id)) return false;
  const Layer& layer = plan.layer(id);
  return layer.is_affine() && !layer.relu && !layer.function;
}

PerLayer<SplitRole> roles_of(const Plan& plan, const PerLayer<bool>& taken) {
  PerLayer<SplitRole> roles(plan.layers.size(), SplitRole::kLinear);
  for (const LayerId id : plan.layer_ids()) {
    const Layer& layer = plan.layer(id);
    if (!taken[id]) continue;
    if (layer.kind == LayerKind::kProduct) {
      roles[id] = SplitRole::kProduct;
      for (const LayerId factor : inputs_of(layer))
        if (may_be_factor(plan, factor)) roles[factor] = SplitRole::kFactor;
    } else if (layer.relu) {
      roles[id] = SplitRole::kRelu;
    } else if (layer.function) {
      roles[id] = SplitRole::kFunction;
    }
  }
  return roles;
}

void count_layer(const Layer& layer, SplitRole role, SplitCounts& counts) {
  counts.add_neurons(role, layer.out);
  if (layer.kind == LayerKind::kDense)
    counts.add_map(static_cast<double>(layer.out) * layer.in, layer.out);
  for (const Term& term : layer.terms) {
    if (role == SplitRole::kProduct)
      counts.add_factor(term.column_entries);
    else
      counts.add_map(static_cast<double>(layer.out) * term.row_entries, term.column_entries);
  }
}

// Products and pairs of elements that a layer has where neurons are split.
double elements_apart(const Layer& layer) {
  if (layer.kind == LayerKind::kContraction)
    return static_cast<double>(layer.contraction.products());
  if (layer.kind != LayerKind::kLogSoftmax) return 0;
  return static_cast<double>(layer.out) * layer.term(0).row_entries;
}

}  // namespace

void SplitCounts::add_neurons(SplitRole role, double count) {
  numbers_ += roundings_of_neuron(role) * count;
}

// Its products, and the additions of partial sums to each other and to what is there.
void SplitCounts::add_map(double products, double column_products) {
  constexpr double kPartialSums = 4;
  products_ += products;
  coefficients_ += column_products + kPartialSums;
}

// Of neurons, of each input a product, its addition and the corner, of each row, and a few of the
// sum of all.
double SplitCounts::roundings() const {
  constexpr double kOfSum = 64;
  return kOfSum + numbers_ + 3 * inputs_ + coefficients_ + rows_;
}

// Every product of the coefficients, and of numbers, loses at most 2^-1074, times what it meets.
double SplitCounts::underflow(double largest) const {
  return (products_ + 4 * roundings()) * (1 + largest) * 0x1p-1074 * (1 + 0x1p-30);
}

SplitErrors split_errors(const PlannerConfig& config, const SplitCounts& counts, double largest) {
  const double gamma = 0x1p-52 * counts.roundings();  // twice
  return {term(config, ErrorTerm::kNodeCoefficient, gamma),
          term(config, ErrorTerm::kNodeRow, gamma), term(config, ErrorTerm::kNodeSum, gamma),
          term(config, ErrorTerm::kNodeUnderflow, counts.underflow(largest))};
}

bool can_split_neurons(const Plan& plan) {
  return can_split_but_for_maxima(plan) && std::ranges::none_of(plan.layers, [](const Layer& each) {
           return each.kind == LayerKind::kMax || each.kind == LayerKind::kLogSoftmax ||
                  each.kind == LayerKind::kContraction;
         });
}

bool can_split_but_for_maxima(const Plan& plan) {
  constexpr double kMostApart = 0x1p22;
  bool bends = false;
  for (const Layer& layer : plan.layers) {
    if (elements_apart(layer) > kMostApart) return false;
    if (layer.function && is_staircase(layer.function->kind)) return false;
    bends = bends || layer.relu || layer.function || !layer.is_affine();
  }
  return bends && plan.spec_rows > 0 && std::ranges::none_of(plan.spec_heads, [&](LayerId id) {
           const Layer& head = plan.layer(id);
           return !head.is_affine() || head.relu || head.function;
         });
}

SplitNetworkPlan split_network_of(const Plan& plan, const PerLayer<bool>& taken) {
  SplitNetworkPlan network;
  const PerLayer<SplitRole> roles = roles_of(plan, taken);
  SplitCounts counts(plan.input_count, plan.spec_rows);
  PerTensor<int> places(plan.layers.size(), -1);
  int first = 0;
  for (const LayerId id : plan.layer_ids()) {
    if (!taken[id]) continue;
    const Layer& layer = plan.layer(id);
    SplitLayerPlan made = {id, roles[id], {}, first, false};
    for (const LayerId source : inputs_of(layer)) {
      made.sources.push_back(places[source]);
      if (source.is_layer())
        network.layers[static_cast<std::size_t>(places[source])].is_read = true;
    }
    places[id] = static_cast<int>(network.layers.size());
    network.layers.push_back(std::move(made));
    first += layer.out;
    count_layer(layer, roles[id], counts);
  }
  network.roundings = counts.roundings();
  network.products = counts.products();
  return network;
}

SplitNetworkPlan split_network_of(const Plan& plan) {
  return split_network_of(plan, PerLayer<bool>(plan.layers.size(), true));
}

}  // namespace bf_aot
