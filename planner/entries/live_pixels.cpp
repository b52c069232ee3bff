#include "planner/entries/live_pixels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/entries/row_images.h"
#include "runtime/bf/contract/lists.h"
#include "runtime/bf/contract/tiles.h"

namespace bf_aot {
namespace {

class LivePixels {
 public:
  LivePixels(const Plan& plan, Entry& entry) : plan_(plan), entry_(entry) {}

  void run() {
    for (Step& step : entry_.steps)
      if (auto* const rows = std::get_if<BackwardRows>(&step)) pass_by(*rows);
    for (Step& step : entry_.steps) {
      if (auto* const relax = std::get_if<Relax>(&step))
        if (!chooser_of(plan_, relax->layer)) relax->live = made_list(relax->layer);
      if (auto* const chosen = std::get_if<RelaxMax>(&step)) {
        const LayerId from = plan_.layer(chosen->layer).terms[0].input;
        if (chooser_of(plan_, from) == chosen->layer) chosen->live = made_list(from);
      }
    }
  }

 private:
  void pass_by(BackwardRows& step) {
    if (step.iterations > 0) return;    // the walk forward reads all coefficients
    std::map<LayerId, BufferId> lists;  // of the layers whose dead neurons these rows pass by
    for (const BackwardLink& link : step.links)
      if (can_pass(link)) lists[link.layer] = list_of(link.layer);
    mark(step, lists);
    for (BackwardRows& last : step.last) mark(last, lists);
  }

  void mark(BackwardRows& step, const std::map<LayerId, BufferId>& lists) const {
    for (BackwardLink& link : step.links) {
      const auto own = lists.find(link.layer);
      if (own != lists.end()) link.live = own->second;
      const Layer& layer = plan_.layer(link.layer);
      for (BackwardOut& out : link.outs) {
        const Term& term = layer.term(out.term);
        out.live = goes_by_lists(step, link, term, lists.contains(term.input));
      }
    }
  }

  // Returns true if a term passes coefficients on from, or to, live channels alone.
  bool goes_by_lists(const BackwardRows& step, const BackwardLink& link, const Term& term,
                     bool listed) const {
    const bool own = link.live != BufferId::kNone;
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    if (conv == nullptr)
      return own && is_identity(term.map) && find_image(step, link.layer) != nullptr;
    const ConvGeometry& g = conv->geometry;
    if (g.out_channels / g.groups * g.taps() > bf::kMostProducts) return false;
    if (listed && image_read(g, term.input) != image_made(plan_.layer(term.input), term.input))
      return false;  // the list is of other pixels
    if (g.groups > 1) return listed && !own && g.in_group() == 1;
    return own || listed;
  }

  bool can_pass(const BackwardLink& link) const {
    const Layer& layer = plan_.layer(link.layer);
    return layer.kind == LayerKind::kSum && (layer.relu || layer.function) && link.remake.empty() &&
           live_pixels_size(layer).has_value();
  }

  BufferId made_list(LayerId index) const {
    const auto found = lists_.find(index);
    return found == lists_.end() ? BufferId::kNone : found->second;
  }

  BufferId list_of(LayerId index) {
    const auto found = lists_.find(index);
    if (found != lists_.end()) return found->second;
    const Layer& layer = plan_.layer(index);
    Buffer buffer;
    buffer.name = layer.name + "_live";
    while (std::ranges::find(entry_.buffers, buffer.name, &Buffer::name) != entry_.buffers.end())
      buffer.name += "_";
    buffer.element = Element::kInt32;
    buffer.count = *live_pixels_size(layer);
    entry_.buffers.push_back(std::move(buffer));
    return lists_[index] = static_cast<BufferId>(entry_.buffers.size() - 1);
  }

  const Plan& plan_;
  Entry& entry_;
  std::map<LayerId, BufferId> lists_;
};

}  // namespace

std::optional<std::int64_t> live_pixels_size(const Layer& layer) {
  const std::optional<RowImage> image = image_made(layer, 0);
  if (!image) return std::nullopt;
  return bf::live_pixels_size(layer.out, layer.out / image->channels);
}

std::optional<LayerId> chooser_of(const Plan& plan, LayerId layer) {
  for (const std::vector<LayerId>& heads : {plan.output_heads, plan.spec_heads})
    if (std::ranges::find(heads, layer) != heads.end()) return std::nullopt;
  int readers = 0;
  std::optional<LayerId> chooser;
  for (const LayerId i : plan.layer_ids()) {
    const Layer& reader = plan.layer(i);
    if (reader.kind == LayerKind::kDense && reader.input == layer) return std::nullopt;
    for (const Term& term : reader.terms) {
      if (term.input != layer) continue;
      ++readers;
      chooser = reader.kind == LayerKind::kMax ? std::optional(i) : std::nullopt;
    }
  }
  return readers == 1 ? chooser : std::nullopt;
}

void list_live_pixels(Plan& plan) {
  if (plan.config.target.vector_bytes == 4 && !is_of_device(plan.config.language)) return;
  for (Entry& entry : plan.entries)
    if (entry.boxes == 1) LivePixels(plan, entry).run();
}

}  // namespace bf_aot
