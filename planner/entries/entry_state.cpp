#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/entries/entry_builder.h"
#include "planner/functions/float_table.h"
#include "planner/network/linear_terms.h"
#include "planner/network/live_neurons.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot {

EntryState::EntryState(Plan& plan, LoweringPlanner& lowering, EntryKind kind, int boxes)
    : plan_(plan), config_(plan.config), lowering_(lowering) {
  entry_.kind = kind;
  entry_.boxes = boxes;
}

BufferId EntryState::buffer(std::string name, Element element, std::int64_t count) {
  Buffer made;
  while (!buffer_names_.insert(name).second) name += "_";
  made.name = std::move(name);
  made.element = element;
  made.count = count * entry_.boxes;
  entry_.buffers.push_back(std::move(made));
  return static_cast<BufferId>(entry_.buffers.size() - 1);
}

// Neurons of a layer as the lanes of its kernels write them: padded to whole panels, when lanes are
// neurons.
int EntryState::padded(LayerId index) const {
  if (entry_.boxes > 1) return layer(index).out;
  const int panel = plan_.layout(index).panel;
  return (layer(index).out + panel - 1) / panel * panel;
}

// Heads are copied to the caller in order; `position_` is where each starts.
void EntryState::mark_needed(const std::vector<LayerId>& heads) {
  needed_.assign(plan_.layers.size(), false);
  position_.assign(plan_.layers.size(), -1);
  readers_ = PerTensor<int>(plan_.layers.size(), 0);
  int position = 0;
  for (const LayerId head : heads) {
    position_[head] = position;
    position += layer(head).out;
    needed_[head] = true;
  }
  for (const LayerId i : plan_.layer_ids().reversed()) {
    if (!is_needed(i)) continue;
    for (const LayerId input : read_by(layer(i))) {
      ++readers_[input];
      if (input >= 0) needed_[input] = true;
    }
  }
}

std::vector<LayerId> EntryState::read_by(const Layer& reader) const {
  std::vector<LayerId> inputs = inputs_of(reader);
  if (reader.scores && !keeps_tables()) inputs.front() = reader.scores->layer;
  return inputs;
}

// Dense layers alone, with ReLU or with functions in float32, and heads that copy such a layer:
// kernels in float32 throughout serve intervals and inference.
bool EntryState::is_dense() const {
  const bool functions = has_float_functions();
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i) || (functions && is_head(i) && copied_layer(layer(i)))) continue;
    if (layer(i).kind != LayerKind::kDense || (layer(i).function && !functions)) return false;
  }
  return true;
}

bool EntryState::has_float_functions() const {
  if (config_.target.hardware_double() || config_.semantics == Semantics::kFloat32Exact)
    return false;
  std::vector<Function> known;
  for (const LayerId i : plan_.layer_ids()) {
    const std::optional<Function>& function = layer(i).function;
    if (!is_needed(i) || !function || std::ranges::count(known, *function) > 0) continue;
    if (!has_float_table(*function)) return false;
    known.push_back(*function);
  }
  return true;
}

bool EntryState::is_evaluation() const {
  return entry_.kind == EntryKind::kEvaluate;
}

// ReLU layers, dense ones and sums with a convolution: what float32 sums make faster; and maxima.
// Where doubles are a library, intervals go through all sums, functions and products in float32.
bool EntryState::has_float_intervals() const {
  if (is_dense()) return true;
  const bool functions = has_float_functions();
  bool convolves = functions;
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i)) continue;
    if (layer(i).kind == LayerKind::kMax) continue;
    if (layer(i).kind == LayerKind::kProduct && functions && layer(i).most == 0) continue;
    if (!layer(i).is_affine() || (layer(i).function && !functions)) return false;
    for (const Term& term : layer(i).terms)
      convolves = convolves || std::holds_alternative<ConvMap>(term.map);
  }
  return convolves;
}

void EntryState::list_live(LayerId index) {
  const Layer& region = layer(index);
  if (!region.live_list || is_evaluation()) return;
  bool pays = pays_backward(row_products(index));
  for (const LayerId i : layer_range(index.next(), layer_count()))
    pays = pays || (is_needed(i) && layer(i).kind == LayerKind::kDense && layer(i).input == index &&
                    pays_forward_alone(layer(i).out));
  if (!pays) return;
  const BufferId list = buffer(region.name + "_live", Element::kInt32, 1);
  entry_.buffer(list).count = bf::live_list_size(region.out);
  const Activation& of = activation(index);
  entry_.steps.push_back(ListLive{index, of.centre, of.radius, list});
  live_[index] = list;
}

// Products of backward rows with one neuron of a dense layer, half of the hidden rows' neurons
// being unstable.
double EntryState::row_products(LayerId index) const {
  if (layer(index).kind != LayerKind::kDense || !keeps_tables()) return 0;
  double rows = 0, weights = layer(index).in;
  for (const LayerId i : layer_range(index.next(), layer_count())) {
    if (!is_needed(i)) continue;
    if (layer(i).kind == LayerKind::kDense && layer(i).input == index) weights += layer(i).out;
    const Domain domain = choice(i).domain;
    if (domain == Domain::kBackward || domain == Domain::kOptimised)
      rows += (is_head(i) ? 2.0 : 1.0) * layer(i).out;
  }
  return rows * weights;
}

// The list of live inputs that a forward product of a dense layer reads; kNone where none pays.
BufferId EntryState::live_inputs(LayerId index) const {
  return pays_forward(layer(index).out) ? live(layer(index).input) : BufferId::kNone;
}

// Roundings of one float32 sum over a layer's inputs.
int EntryState::interval_depth(LayerId index) const {
  if (layer(index).kind == LayerKind::kSum) return LoweringPlanner::interval_depth(layer(index));
  return lowering_.forward_depth(KernelKind::kIntervalAffine, index);
}

// Rounding of one float32 dot product over this layer's inputs, with its weights' own rounding.
double EntryState::product_gamma(LayerId index, int depth, ErrorTerm which) const {
  return drop(which, gamma_float(depth)) +
         drop(ErrorTerm::kWeightRounding, layer(index).errors.weight_relative);
}

// What the float32 biases of a layer miss relative to themselves, where the worst of them misses so
// much that other neurons would notice; else 0, and the worst one is counted for all.
double EntryState::float_bias(LayerId index) const {
  constexpr double kNoticed = 0x1p-12;  // beside the largest row of weights
  const AffineErrors& errors = layer(index).errors;
  if (errors.bias_float <= kNoticed * errors.row_norm) return 0;
  return drop(ErrorTerm::kBiasRounding, errors.float_bias_relative) * (1 + 0x1p-10);
}

// The gamma that every interval reader of `index` (-1: the box) needs folded into the radius;
// maxima and products sum nothing.
double EntryState::reader_gamma(LayerId index) {
  double gamma = 0;
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i) || layer(i).kind == LayerKind::kMax || layer(i).kind == LayerKind::kProduct)
      continue;
    const std::vector<LayerId> inputs = inputs_of(layer(i));
    if (std::ranges::count(inputs, index) == 0) continue;
    gamma =
        std::max(gamma, product_gamma(i, interval_depth(i), ErrorTerm::kSummation) + float_bias(i));
  }
  return gamma * (1 + 8 * kUnitFloat);
}

// reader_gamma(), and the rounding of the centre of two ends.
double EntryState::centre_gamma(LayerId index) {
  return reader_gamma(index) + drop(ErrorTerm::kScalar, kUnitFloat) * (1 + 8 * kUnitFloat);
}

bool EntryState::keeps_tables() const {
  return !is_evaluation() && !plan_.intervals_only(entry_);
}

// The factor that undoes the rounding of a layer's computed interval radius.
double EntryState::radius_inflate(LayerId index) {
  const Layer& region = layer(index);
  if (region.kind != LayerKind::kDense)
    return (1 + drop(ErrorTerm::kRadiusSummation, gamma_double(most_products(region) + 4))) *
           (1 + 0x1p-40);
  const int depth = lowering_.forward_depth(KernelKind::kCentreAffine, index);
  return (1 + drop(ErrorTerm::kRadiusSummation, inflate_float(depth) - 1)) * (1 + 0x1p-40);
}

EntryState::Activation EntryState::add_activation(LayerId index) {
  const Layer& region = layer(index);
  return {buffer(region.name + "_activation", Element::kFloat64, region.out),
          buffer(region.name + "_activation_radius", Element::kFloat32, region.out)};
}

}  // namespace bf_aot
