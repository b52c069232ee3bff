#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/entries/build_entries.h"

namespace bf_aot {
namespace {

// Products and maxima relax on the boxes of what they read.
bool feeds_nonlinear(const Plan& plan, LayerId index) {
  return std::ranges::any_of(plan.layers, [&](const Layer& reader) {
    return !reader.is_affine() && std::ranges::count(inputs_of(reader), index) > 0;
  });
}

bool reads_inputs_once(const Layer& layer) {
  const std::vector<LayerId> inputs = inputs_of(layer);
  return inputs.size() == 1 && inputs[0] < 0;
}

// Returns true if the layer's interval is its exact range: over the box, each input read once.
bool is_exact(const Plan& plan, const Layer& layer) {
  return plan.is_of_boxes() && reads_inputs_once(layer);
}

// Affine in the inputs, of which only a row's end knows that they are a part of the box.
bool is_of_part(const Plan& plan, const Layer& layer) {
  return !plan.is_of_boxes() && reads_inputs_once(layer);
}

// Affine in one-hot inputs: their box has all rows of a set at once, so that the layer's interval
// grows with the ids of the set. Later intervals begin at it, whether a function bends it or not.
bool is_of_one_hot(const Plan& plan, const Layer& layer) {
  return plan.one_hot.size > 0 && reads_inputs_once(layer);
}

DomainChoice interval(LayerId index, const char* reason) {
  return {index, Domain::kInterval, true, reason, 0};
}

// Lines go forward through dense layers with ReLU or without alone.
void check_forward(const Layer& layer) {
  if (layer.kind == LayerKind::kDense && !layer.function) return;
  const std::string what = layer.function ? "has the function " + to_string(*layer.function)
                                          : fmt::format("is a {} layer", to_string(layer.kind));
  fail("BF2107", "--method forward",
       fmt::format("layer '{}' ({}) {}; lines go forward through dense layers with ReLU or "
                   "without alone",
                   layer.name, layer.origin.text, what),
       "--method crown-ibp or crown bounds all layers");
}

DomainChoice choose(const Plan& plan, LayerId index) {
  const Layer& layer = plan.layer(index);
  if (plan.config.method == Method::kForward) {
    check_forward(layer);
    if (is_exact(plan, layer)) return interval(index, "affine in the box: the interval is exact");
    return {index, Domain::kForward, false, "lines that go forward, and intervals", 0};
  }
  const bool head = plan.is_head(index);
  if (!layer.is_affine()) return interval(index, "its box follows from its operands'");
  const bool active = layer.relu || layer.function;
  const bool factor = !active && feeds_nonlinear(plan, index);
  switch (plan.config.method) {
    case Method::kIbp:
      return interval(index, "ibp keeps intervals everywhere");
    case Method::kCrownIbp:
      if (!head && !is_of_part(plan, layer)) return interval(index, "crown-ibp: hidden layer");
      if (!head && !active && !factor && !is_of_one_hot(plan, layer))
        return interval(index, "nothing relaxes on its bounds");
      break;
    case Method::kCrown:
    case Method::kAlphaCrown:
    case Method::kAuto:  // a search goes on from here
      if (!head && !active && !factor && !is_of_one_hot(plan, layer))
        return interval(index, "nothing relaxes on its bounds");
      break;
    case Method::kForward:
      break;
  }
  if (is_exact(plan, layer)) return interval(index, "affine in the box: the interval is exact");
  const bool optimised = plan.config.method == Method::kAlphaCrown && has_slopes(plan, index);
  if (optimised && head)
    return {index, Domain::kOptimised, false, "lines chosen for each of its rows", 0};
  if (optimised && active && plan.config.alpha == AlphaRows::kAll)
    return {index, Domain::kOptimised, true,
            layer.relu ? "lines chosen for each of its unstable neurons"
                       : "lines chosen for each of the neurons that its function bends",
            0};
  if (head || factor || is_of_one_hot(plan, layer))
    return {index, Domain::kBackward, false, "backward bounds of its rows", 0};
  return {index, Domain::kBackward, true,
          layer.relu ? "backward bounds of its unstable neurons"
                     : "backward bounds of the neurons that its function bends",
          0};
}

}  // namespace

bool has_slopes(const Plan& plan, LayerId index) {
  PerLayer<bool> cone(plan.layers.size(), false);
  cone[index] = true;
  for (const LayerId i : layer_range(0, index.next()).reversed()) {
    if (!cone[i]) continue;
    const Layer& layer = plan.layer(i);
    if (i != index && has_choices(layer)) return true;
    for (const LayerId input : inputs_of(layer))
      if (input >= 0) cone[input] = true;
  }
  return false;
}

void assign_domains(Plan& plan) {
  for (const LayerId i : plan.layer_ids()) {
    plan.domains.push_back(choose(plan, i));
    const DomainChoice& choice = plan.domains.back();
    const Domain other = choice.domain == Domain::kInterval ? Domain::kBackward : Domain::kInterval;
    plan.rejected.push_back(
        {"domain", fmt::format("{}: {}", plan.layer(i).name, to_string(other)), choice.reason});
  }
}

}  // namespace bf_aot
