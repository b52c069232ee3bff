#include <algorithm>
#include <map>

#include "frontend/diagnostic.h"
#include "planner/entries/entry_builder.h"

// Relaxation tables that rows make anew instead of finding them stored: DomainChoice::remade. The
// steps that made a table are repeated from the box on, on scratch buffers. They are functions of
// what they read: on the same box and the same tightened bounds they make the same bits.

namespace bf_aot {
// The scratch buffers of one BackwardRows, as large as the largest tensor that they hold in turn.
class BackwardSteps::Repeats {
 public:
  Repeats(BackwardSteps& builder, std::string name) : builder_(builder), name_(std::move(name)) {}

  // The steps that make a layer's table.
  std::vector<RepeatedStep> of(LayerId index) {
    PerLayer<bool> cone = builder_.cone_of(index);
    cone[index] = true;
    std::map<LayerId, int> readers;
    for (const LayerId i : layer_range(0, index.next()))
      if (cone[i])
        for (const LayerId input : inputs_of(builder_.layer(i))) ++readers[input];
    std::vector<RepeatedStep> steps;
    for (const LayerId i : layer_range(0, index.next())) {
      if (!cone[i]) continue;
      steps.push_back(centre(i));
      for (const LayerId input : inputs_of(builder_.layer(i)))
        if (--readers[input] == 0 && input >= 0) release(input);
      steps.emplace_back(relax(i, i == index));
    }
    return steps;
  }

  BufferId table() const { return table_; }

 private:
  struct Slot {
    Activation buffers;
    bool busy = false;
  };

  BufferId grown(BufferId& id, const std::string& what, Element element, std::int64_t count) {
    if (id == BufferId::kNone) id = builder_.buffer(name_ + "_again_" + what, element, count);
    std::int64_t& holds = builder_.entry_.buffer(id).count;
    holds = std::max(holds, count);
    return id;
  }

  Activation input(LayerId index) const {
    return index < 0 ? builder_.box_ : slots_[of_layer_.at(index)].buffers;
  }

  Activation acquire(LayerId index) {
    std::size_t slot = 0;
    while (slot < slots_.size() && slots_[slot].busy) ++slot;
    if (slot == slots_.size()) slots_.emplace_back();
    slots_[slot].busy = true;
    of_layer_[index] = slot;
    const int count = builder_.layer(index).out;
    const std::string suffix = slot == 0 ? "" : "_" + std::to_string(slot + 1);
    Activation& made = slots_[slot].buffers;
    grown(made.centre, "activation" + suffix, Element::kFloat64, count);
    grown(made.radius, "activation_radius" + suffix, Element::kFloat32, count);
    return made;
  }

  void release(LayerId index) {
    slots_[of_layer_.at(index)].busy = false;
    of_layer_.erase(index);
  }

  // Sets the results of a repeated step. Both bounds are the interval around the centre, so that
  // they share a buffer.
  template <typename CentreStep>
  void outputs(LayerId index, CentreStep& step) {
    const int count = builder_.padded(index);
    step.centre_out = grown(centre_, "centre", Element::kFloat64, count);
    step.radius_out = grown(radius_, "radius", Element::kFloat32, count);
    step.below = step.above = grown(interval_, "interval", Element::kFloat32, count);
    if (step.magnitudes) {
      step.magnitudes->in = grown(magnitude_in_, "magnitude_in", Element::kFloat32,
                                  builder_.entry_.buffer(step.magnitudes->in).count);
      step.magnitudes->out = grown(magnitude_, "magnitude", Element::kFloat32, count);
    }
    step.slack = grown(slack_, "slack", Element::kFloat64, bf::kSlack);
    step.row_slack = grown(row_slack_, "row_slack", Element::kFloat64, builder_.layer(index).out);
  }

  RepeatedStep centre(LayerId index) {
    const Step& first = builder_.entry_.step(builder_.centre_step_[index]);
    if (const auto* dense = std::get_if<CentreAffine>(&first)) {
      CentreAffine step = *dense;
      const Activation in = input(builder_.layer(index).input);
      step.centre_in = in.centre;
      step.radius_in = in.radius;
      outputs(index, step);
      return step;
    }
    CentreSum step = std::get<CentreSum>(first);
    for (std::size_t t = 0; t < step.parts.size(); ++t) {
      const Activation in = input(builder_.layer(index).terms[t].input);
      step.parts[t].centre_in = in.centre;
      step.parts[t].radius_in = in.radius;
    }
    outputs(index, step);
    return step;
  }

  // Relaxes a layer again. The last layer is relaxed for its table alone: its activation overwrites
  // the centre and radius that it is made from.
  Relax relax(LayerId index, bool last) {
    const Layer& region = builder_.layer(index);
    Relax step = std::get<Relax>(builder_.entry_.step(builder_.relax_step_[index]));
    const bool tightened = builder_.choice(index).domain != Domain::kInterval ||
                           builder_.relaxed_[index].reach != BufferId::kNone;
    step.centre = centre_;
    step.radius = radius_;
    step.slack = slack_;
    step.row_slack = row_slack_;
    if (!tightened) step.below = step.above = interval_;
    step.table =
        grown(table_, "relaxation", Element::kFloat32, std::int64_t{bf::kRelaxRows} * region.out);
    step.slopes = BufferId::kNone;
    const Activation out = last ? Activation{centre_, radius_} : acquire(index);
    step.centre_out = out.centre;
    step.radius_out = out.radius;
    return step;
  }

  BackwardSteps& builder_;
  std::string name_;
  BufferId centre_ = BufferId::kNone, radius_ = BufferId::kNone, interval_ = BufferId::kNone;
  BufferId slack_ = BufferId::kNone, row_slack_ = BufferId::kNone, table_ = BufferId::kNone;
  BufferId magnitude_in_ = BufferId::kNone, magnitude_ = BufferId::kNone;
  std::vector<Slot> slots_;  // activations of the layers before
  std::map<LayerId, std::size_t> of_layer_;
};

void BackwardSteps::remake_tables(const std::string& name, BackwardRows& step) {
  Repeats repeats(*this, name);
  for (BackwardLink& link : step.links) {
    if (!choice(link.layer).remade) continue;
    link.remake = repeats.of(link.layer);
    link.table = repeats.table();
  }
}

}  // namespace bf_aot
