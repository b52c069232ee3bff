#include <algorithm>

#include "planner/verify/steps/verify_steps.h"

// Rows that pass by dead neurons, docs/proofs/live-pixels.md: who reads a layer's
// coefficients knows which are there. Written apart from live_pixels.cpp.
namespace bf_aot {
namespace {

bool has_list(const BackwardRows& step, LayerId tensor) {
  const auto link = std::ranges::find(step.links, tensor, &BackwardLink::layer);
  return link != step.links.end() && link->live != BufferId::kNone;
}

// Returns true if the layer's convolutions make the very image that the convolution reads.
bool makes_what_is_read(const Layer& layer, const ConvGeometry& g) {
  return std::ranges::all_of(layer.terms, [&](const Term& term) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    if (conv == nullptr) return true;
    const ConvGeometry& made = conv->geometry;
    return made.batch == g.batch && made.out_channels == g.in_channels &&
           made.out_size == g.in_size && made.out == g.in;
  });
}

bool has_window(const BackwardRows& step, LayerId tensor) {
  return std::ranges::find(step.images, tensor, &RowImage::tensor) != step.images.end();
}

}  // namespace

std::int64_t live_list(const Layer& layer) {
  BF_CHECK(layer.kind == LayerKind::kSum);
  const ConvGeometry* first = nullptr;
  for (const Term& term : layer.terms) {
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    if (conv == nullptr) continue;
    const ConvGeometry& g = conv->geometry;
    if (first == nullptr) first = &g;
    BF_CHECK(g.batch == first->batch && g.out_channels == first->out_channels &&
             g.out_size == first->out_size && g.out == first->out);
  }
  BF_CHECK(first != nullptr);
  const Extent& size = first->out_size;
  // The list has a number that says whether all are live, then those of each pixel, then what
  // vectors read beyond.
  return 1 + first->batch * size[0] * size[1] * size[2] * (1 + first->out_channels) + 15;
}

bool read_by_one(const Plan& plan, LayerId tensor) {
  const auto is = [&](LayerId head) { return head == tensor; };
  if (std::ranges::any_of(plan.output_heads, is) || std::ranges::any_of(plan.spec_heads, is))
    return false;
  int readers = 0;
  for (const Layer& layer : plan.layers) {
    if (layer.kind == LayerKind::kDense) readers += layer.input == tensor ? 1 : 0;
    for (const Term& term : layer.terms) readers += term.input == tensor ? 1 : 0;
  }
  return readers == 1;
}

void check_live(const Plan& plan, const BackwardRows& step, const BackwardLink& link) {
  const bool own = link.live != BufferId::kNone;
  const Layer& layer = checked_layer(plan, link.layer);
  if (own) BF_CHECK(layer.kind == LayerKind::kSum && step.iterations == 0 && link.remake.empty());
  for (const BackwardOut& out : link.outs) {
    const Term& term = layer.term(out.term);
    const bool of_input = has_list(step, term.input);
    if (!out.live) continue;  // reads zeros of dead channels, writes all
    BF_CHECK(own || of_input);
    if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
      const ConvGeometry& g = conv->geometry;
      BF_CHECK(g.groups == 1 || (!own && g.in_group() == 1));
      BF_CHECK(g.out_channels / g.groups * g.taps() <= 2560);  // in a list of products
      BF_CHECK(!of_input || makes_what_is_read(checked_layer(plan, term.input), g));
      continue;
    }
    const auto* const gather = std::get_if<GatherMap>(&term.map);
    BF_CHECK(own && gather != nullptr && gather->source.empty() && has_window(step, link.layer));
  }
}

}  // namespace bf_aot
