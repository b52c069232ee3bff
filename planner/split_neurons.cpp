#include "planner/split_neurons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/functions/function_facts.h"
#include "planner/network/split_network.h"

namespace bf_aot {
namespace {

constexpr const char* kWhere = "--decide=neurons";

// Sums over so many products are raised by enough, see sum_reaches().
constexpr int kMostProducts = 1 << 20;

[[noreturn]] void refuse(const std::string& why) {
  fail("BF2118", kWhere, why, "--decide=inputs splits boxes instead");
}

// Most products in a row of a layer.
double row_products(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return layer.in;
  double products = 0;
  for (const Term& term : layer.terms) products += term.row_entries;
  return products;
}

// Why the neurons of a network with this layer are not split, or nothing.
std::string problem_of(const Layer& layer) {
  const auto problem = [&](const std::string& what) {
    return fmt::format("layer '{}' ({}) {}", layer.name, layer.origin.text, what);
  };
  switch (layer.kind) {
    case LayerKind::kMax:
      return problem("is a maximum, which ReLUs stand for in real arithmetic alone");
    case LayerKind::kLogSoftmax:
      return problem("is a logarithm of powers, which no line follows");
    case LayerKind::kContraction:
      return problem("multiplies tensors");
    case LayerKind::kDense:
    case LayerKind::kSum:
    case LayerKind::kProduct:
      break;
  }
  if (layer.function && is_staircase(layer.function->kind))
    return problem("rounds, which no split makes a line");
  if (row_products(layer) > kMostProducts) return problem("sums more than 2^20 products");
  return {};
}

PerLayer<bool> layers_that_rows_need(const Plan& plan) {
  PerLayer<bool> needed(plan.layers.size(), false);
  for (const LayerId head : plan.spec_heads) needed[head] = true;
  for (std::size_t i = plan.layers.size(); i-- > 0;)
    if (needed[LayerId(static_cast<int>(i))])
      for (const LayerId source : inputs_of(plan.layers[LayerId(static_cast<int>(i))]))
        if (source.is_layer()) needed[source] = true;
  return needed;
}

// The reason, from layers and options alone, why a plan's neurons are not split; else empty.
std::string problem_of(const Plan& plan) {
  if (plan.spec_rows == 0) return "there are no rows of a property";
  if (plan.config.workers > 1) return "workers do not share its nodes: leave --parallel out";
  for (const LayerId head : plan.spec_heads)
    if (const Layer& layer = plan.layer(head); layer.relu || layer.function || !layer.is_affine())
      return "a row of the property is no sum";
  const PerLayer<bool> needed = layers_that_rows_need(plan);
  bool bends = false;
  for (const LayerId id : plan.layer_ids()) {
    if (!needed[id]) continue;
    if (std::string problem = problem_of(plan.layer(id)); !problem.empty()) return problem;
    const Layer& layer = plan.layer(id);
    bends = bends || layer.relu || layer.function || !layer.is_affine();
  }
  return bends ? "" : "every layer is affine";
}

void check_for_views(const Layer& layer) {
  for (const Term& term : layer.terms)
    if (const auto* const gather = std::get_if<GatherMap>(&term.map)) BF_CHECK(!gather->view);
}

// Lets the step of the entry that relaxes a layer last give the layer's intervals to the caller.
void keep_ranges_of(Entry& entry, const Plan& plan) {
  for (const SplitLayerPlan& each : plan.decide.network.layers) {
    const LayerId id = each.layer;
    Relax* last = nullptr;
    for (Step& step : entry.steps)
      if (auto* const relax = std::get_if<Relax>(&step); relax != nullptr && relax->layer == id)
        last = relax;
    if (last != nullptr) last->kept_position = each.first;
    if (last == nullptr && (plan.layer(id).relu || plan.layer(id).function))
      refuse(fmt::format("method {} keeps no intervals of layer '{}' before its activation",
                         to_string(plan.config.method), plan.layer(id).name));
  }
}

// Inputs of a box that have more than one value. Numbers that are no doubles lie between two.
std::size_t varying_inputs(const Box& box) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::size_t count = 0;
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    count += box.upper[i] > std::nextafter(box.lower[i], kInfinity) ? 1 : 0;
  return count;
}

}  // namespace

void choose_splits(Plan& plan, const std::vector<Box>& boxes) {
  PlannerConfig& config = plan.config;
  if (!config.decide) return;
  if (config.splits != Splits::kAuto) {
    plan.decide.reason = "asked for";
    return;
  }
  std::size_t varying = boxes.empty() ? static_cast<std::size_t>(plan.input_count) : 0;
  for (const Box& box : boxes) varying = std::max(varying, varying_inputs(box));
  config.splits = Splits::kInputs;
  plan.decide.reason = fmt::format("{} inputs vary", varying);
  if (varying <= kMostBranchedInputs) return;
  const bool has_ranges = config.method == Method::kCrown || config.method == Method::kCrownIbp ||
                          config.method == Method::kAlphaCrown;
  const std::string problem =
      has_ranges ? problem_of(plan)
                 : fmt::format("method {} keeps no intervals of neurons", to_string(config.method));
  if (problem.empty())
    config.splits = Splits::kNeurons;
  else
    plan.decide.reason += "; " + problem;
}

void split_neurons(Plan& plan) {
  const PlannerConfig& config = plan.config;
  if (!config.decide || config.splits != Splits::kNeurons) return;
  if (const std::string problem = problem_of(plan); !problem.empty()) refuse(problem);
  const auto entry = std::ranges::find(plan.entries, EntryKind::kSpecBounds, &Entry::kind);
  BF_CHECK(entry != plan.entries.end());
  DecidePlan& decide = plan.decide;
  decide.network = split_network_of(plan, layers_that_rows_need(plan));
  keep_ranges_of(*entry, plan);
  for (const SplitLayerPlan& each : decide.network.layers) {
    const Layer& layer = plan.layer(each.layer);
    check_for_views(layer);
    decide.neurons = each.first + layer.out;
    if (layer.relu) decide.relus += layer.out;
    decide.widest = std::max(decide.widest, layer.out);
  }
  constexpr int kMostTerms = 32;
  decide.terms = std::min(2 * plan.spec_rows, kMostTerms);
}

}  // namespace bf_aot
