#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/functions/function_facts.h"
#include "planner/entries/build_entries.h"

namespace bf_aot {
namespace {

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

// Returns true if each row of a layer without activation reads one number at most, as far as its
// maps say.
bool reads_one_number_a_row(const Layer& layer) {
  if (layer.terms.size() != 1 || layer.relu || layer.function) return false;
  if (layer.kind != LayerKind::kSum && layer.kind != LayerKind::kMax) return false;
  const Term& term = layer.terms[0];
  return std::holds_alternative<GatherMap>(term.map) ||
         (std::holds_alternative<SparseMap>(term.map) && term.row_entries == 1);
}

bool takes_steps(const Function& function) {
  return facts_of(function.kind).integers || is_staircase(function.kind);
}

// Returns true if the layer is made of single values of step functions, whose arguments have
// backward bounds wherever a value is not known. A row's backward bound is a value of a plane of
// its step at an end of that argument, so that it is no closer than the interval.
bool copies_steps(const Plan& plan, const PerLayer<DomainChoice>& domains, const Layer& layer) {
  if (!reads_one_number_a_row(layer)) return false;
  const LayerId input = layer.terms[0].input;
  if (input < 0) return false;
  const Layer& maker = plan.layer(input);
  if (!maker.function) return copies_steps(plan, domains, maker);
  return takes_steps(*maker.function) && domains[input].domain != Domain::kInterval;
}

// Returns true if the layer's function is the first one on its paths that takes steps, and behind
// it come sums, maxima and steps alone. Lines say little about a step, so that outputs are as good
// as the steps that are decided, whatever slopes their own rows choose.
bool takes_first_steps(const Plan& plan, LayerId index) {
  const auto takes = [](const Layer& layer) {
    return layer.function && takes_steps(*layer.function);
  };
  if (!takes(plan.layer(index))) return false;
  PerLayer<bool> below(plan.layers.size(), false), behind(plan.layers.size(), false);
  below[index] = true;
  for (const LayerId i : layer_range(0, index.next()).reversed()) {
    if (!below[i]) continue;
    if (i != index && takes(plan.layer(i))) return false;
    for (const LayerId input : inputs_of(plan.layer(i)))
      if (input >= 0) below[input] = true;
  }
  behind[index] = true;
  for (const LayerId i : plan.layer_ids()) {
    const Layer& layer = plan.layer(i);
    if (i <= index || std::ranges::none_of(inputs_of(layer), [&](LayerId input) {
          return input >= 0 && behind[input];
        }))
      continue;
    behind[i] = true;
    const bool bends = layer.relu || (layer.function && !takes(layer));
    if (bends || !(layer.is_affine() || layer.kind == LayerKind::kMax)) return false;
  }
  return true;
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

bool has_one_reader(const Plan& plan, LayerId index) {
  return std::ranges::count_if(plan.layers, [&](const Layer& reader) {
           return std::ranges::count(inputs_of(reader), index) > 0;
         }) == 1;
}

// The convolution whose neurons an output has in another order, as DepthToSpace makes them: at
// least half of them, each once. Its rows are bounded in place of the output's, since windows
// follow from a convolution's own neurons (row_images.h). Rows move its interval's ends, which
// other readers may count on (exact_centre.h): there is none.
std::optional<LayerId> copied_rows(const Plan& plan, LayerId output) {
  const Layer& layer = plan.layer(output);
  if (!plan.is_head(output) || layer.kind != LayerKind::kSum || layer.terms.size() != 1 ||
      layer.relu || layer.function ||
      std::ranges::any_of(layer.bias, [](double b) { return b != 0; }))
    return std::nullopt;
  const Term& term = layer.terms[0];
  const auto* const gather = std::get_if<GatherMap>(&term.map);
  if (gather == nullptr || gather->source.empty() || term.input < 0) return std::nullopt;
  const Layer& maker = plan.layer(term.input);
  if (!maker.is_affine() || maker.relu || maker.function || plan.is_head(term.input) ||
      !has_one_reader(plan, term.input) || layer.out < maker.out / 2 ||
      std::ranges::none_of(maker.terms,
                           [](const Term& of) { return std::holds_alternative<ConvMap>(of.map); }))
    return std::nullopt;
  std::vector<bool> read(static_cast<std::size_t>(maker.out), false);
  for (const std::int32_t source : gather->source) {
    if (source < 0 || read[static_cast<std::size_t>(source)]) return std::nullopt;
    read[static_cast<std::size_t>(source)] = true;
  }
  return term.input;
}

bool has_copied_rows(const Plan& plan, LayerId index) {
  for (const LayerId output : plan.layer_ids())
    if (copied_rows(plan, output) == index) return true;
  return false;
}

// domains: of the layers before.
DomainChoice choose(const Plan& plan, Method method, const PerLayer<DomainChoice>& domains,
                    LayerId index) {
  const Layer& layer = plan.layer(index);
  if (method == Method::kForward) {
    check_forward(layer);
    if (is_exact(plan, layer)) return interval(index, "affine in the box: the interval is exact");
    return {index, Domain::kForward, false, "lines that go forward, and intervals", 0};
  }
  // The rows of an output are bounded here.
  const bool head =
      (plan.is_head(index) && !copied_rows(plan, index)) || has_copied_rows(plan, index);
  if (!layer.is_affine()) return interval(index, "its box follows from its operands'");
  const bool active = layer.relu || layer.function;
  const bool factor = !active && feeds_nonlinear(plan, index);
  switch (method) {
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
  if (!head && !is_of_one_hot(plan, layer) && copies_steps(plan, domains, layer))
    return interval(index, "copies of steps: backward bounds are not closer");
  const bool optimised = method == Method::kAlphaCrown && has_slopes(plan, index);
  if (optimised && head)
    return {index, Domain::kOptimised, false, "lines chosen for each of its rows", 0};
  if (optimised && active &&
      (plan.config.alpha == AlphaRows::kAll || takes_first_steps(plan, index)))
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
  for (const Method method : plan.config.cheaper) {
    CheaperMethod& made = plan.cheaper.emplace_back(CheaperMethod{method, {}});
    for (const LayerId i : plan.layer_ids())
      made.domains.push_back(choose(plan, method, made.domains, i));
  }
  for (const LayerId i : plan.layer_ids()) {
    plan.domains.push_back(choose(plan, plan.config.method, plan.domains, i));
    const DomainChoice& choice = plan.domains.back();
    const Domain other = choice.domain == Domain::kInterval ? Domain::kBackward : Domain::kInterval;
    plan.rejected.push_back(
        {"domain", fmt::format("{}: {}", plan.layer(i).name, to_string(other)), choice.reason});
  }
}

}  // namespace bf_aot
