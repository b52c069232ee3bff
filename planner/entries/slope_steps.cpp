#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/diagnostic.h"
#include "planner/entries/entry_builder.h"

// Steps of rows that choose slopes, beyond those of other rows: docs/proofs/optimised-slopes.md.

namespace bf_aot {

// Values of tensors while they are walked through. Buffers are as large as the largest tensor that
// they hold in turn.
class BackwardSteps::ValueSlots {
 public:
  ValueSlots(BackwardSteps& builder, std::string name, int tile)
      : builder_(builder), name_(std::move(name)), tile_(tile) {}

  // A buffer that is not in use.
  BufferId acquire(LayerId tensor) {
    const std::size_t slot = take(builder_.elements(tensor));
    of_tensor_[tensor] = slot;
    return slots_[slot].id;
  }

  void release(LayerId tensor) {
    slots_[of_tensor_.at(tensor)].busy = false;
    of_tensor_.erase(tensor);
  }

 private:
  struct Slot {
    BufferId id;
    bool busy = false;
  };

  std::int64_t& count_of(const Slot& slot) { return builder_.entry_.buffer(slot.id).count; }

  // The free buffer that must grow least; of those that need not grow the smallest.
  std::size_t take(int elements) {
    const std::int64_t wanted = std::int64_t{elements} * tile_;
    std::size_t best = slots_.size();
    const auto cost = [&](std::size_t i) {
      const std::int64_t count = count_of(slots_[i]);
      return std::pair(std::max<std::int64_t>(0, wanted - count), count);
    };
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (!slots_[i].busy && (best == slots_.size() || cost(i) < cost(best))) best = i;
    if (best == slots_.size()) {
      const std::string suffix = best == 0 ? "" : fmt::format("_{}", best + 1);
      slots_.push_back({builder_.buffer(name_ + suffix, Element::kFloat32, wanted)});
    }
    slots_[best].busy = true;
    count_of(slots_[best]) = std::max(count_of(slots_[best]), wanted);
    return best;
  }

  BackwardSteps& builder_;
  std::string name_;
  int tile_;
  std::vector<Slot> slots_;
  std::map<LayerId, std::size_t> of_tensor_;
};

void BackwardSteps::mark_free_slopes() {
  free_slopes_.assign(plan_.layers.size(), false);
  if (is_evaluation()) return;
  for (const LayerId i : plan_.layer_ids()) {
    if (!is_needed(i) || choice(i).domain != Domain::kOptimised) continue;
    const PerLayer<bool> cone = cone_of(i);
    for (const LayerId below : layer_range(0, i))
      if (cone[below] && has_choices(layer(below))) free_slopes_[below] = true;
  }
}

void BackwardSteps::choose_slopes(const std::string& name, BackwardRows& step) {
  std::int64_t widest = 0;
  for (const BackwardLink& link : step.links)
    if (layer(link.layer).is_affine())
      widest = std::max<std::int64_t>(widest, elements(link.layer));
  const BufferId relaxed = widest == 0
                               ? BufferId::kNone
                               : buffer(name + "_relaxed", Element::kFloat32, widest * step.tile);
  for (BackwardLink& link : step.links) {
    const Layer& region = layer(link.layer);
    if (region.is_affine()) link.relaxed = relaxed;
    const KernelId relax = has_choices(region)
                               ? lowering_.relax_free_rows(link.layer, step.tile, step.wide)
                               : lowering_.relax_rows(link.layer, step.tile, step.wide);
    if (region.kind == LayerKind::kDense) {
      link.relax = relax;
      link.kernel = lowering_.backward(link.layer, step.tile, {.wide = step.wide, .plain = true});
    } else {
      link.kernel = relax;
    }
    if (!has_choices(region)) continue;
    const std::int64_t count = choice_count(region) * step.tile;
    const std::string prefix = name + "_" + region.name;
    link.slopes.table = relaxed_[link.layer].slopes;
    link.slopes.slope = buffer(prefix + "_slope", Element::kFloat32, count);
    if (step.iterations == 1) continue;
    link.slopes.mean = buffer(prefix + "_mean", Element::kFloat32, count);
    link.slopes.square = buffer(prefix + "_square", Element::kFloat32, count);
  }
}

// Adds the walk of each row's own point from the box up to the last layer with slopes.
void BackwardSteps::walk_forward(const std::string& name, BackwardRows& step) {
  PerTensor<int> readers(plan_.layers.size(), 0);  // that are walked through
  for (const BackwardLink& link : step.links) {
    const bool walked = link.slopes.table != BufferId::kNone || readers[link.layer] > 0;
    if (!walked) continue;
    for (const LayerId input : inputs_of(layer(link.layer))) ++readers[input];
  }
  ValueSlots slots(*this, name + "_values", step.tile);
  step.input_values = slots.acquire(kNetworkInput);
  for (auto link = step.links.rbegin(); link != step.links.rend(); ++link) {
    const LayerId index = link->layer;
    const bool chosen = link->slopes.table != BufferId::kNone;
    if (!chosen && readers[index] == 0) continue;
    link->values = slots.acquire(index);
    if (layer(index).kind == LayerKind::kDense)
      link->forward = {lowering_.forward_rows(index, -1, step.tile)};
    else if (layer(index).kind == LayerKind::kSum)
      for (int t = 0; t < static_cast<int>(layer(index).terms.size()); ++t)
        link->forward.push_back(lowering_.forward_rows(index, t, step.tile));
    link->step = lowering_.step_slopes(index, step.tile, chosen);
    for (const LayerId input : inputs_of(layer(index)))
      if (--readers[input] == 0) slots.release(input);
    if (readers[index] == 0) slots.release(index);
  }
}

}  // namespace bf_aot
