#include "planner/lowering/dead_zeros.h"

#include <algorithm>

#include "runtime/bf/contract/tiles.h"

namespace bf_aot {

DeadZeros dead_zeros(const Plan& plan, const BackwardRows& step, const BackwardLink& link) {
  DeadZeros zeros = DeadZeros::kNever;
  for (const BackwardOut& out : link.outs) {
    if (!out.live) return DeadZeros::kAlways;
    const Term& term = plan.layer(link.layer).term(out.term);
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    const auto target = std::ranges::find(step.links, term.input, &BackwardLink::layer);
    const bool listed = target != step.links.end() && target->live != BufferId::kNone;
    if (conv != nullptr && !listed &&
        conv->geometry.in_channels < bf::most_tile_columns(plan.config.target.vector_bytes))
      zeros = DeadZeros::kWhereMany;
  }
  return zeros;
}

}  // namespace bf_aot
