#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "aot/decide/request.h"
#include "aot/disturb/cells.h"

// Questions about all pictures that disturbances make of one. Proof: docs/proofs/disturbances.md.

namespace bf_aot::decide {

struct DisturbedInput {
  disturb::Subject subject;
  std::string identity;  // a text of all that the pictures depend on
};

// Decides whether the property holds for every disturbed picture: it is violated where one of them
// lies in a case's box and satisfies a clause there. Parts of the ranges are bounded behind lines
// and halved. The point of a witness is a disturb::Position, x has the doubles next to its picture.
// Throws: BF2117 semantics, norms, token ids, conditions on inputs or derived values, and several
// networks; BF3007; as decide().
Outcome decide_disturbed(const Sampler& network, const ModelInfo& info, const Property& property,
                         const DisturbedInput& disturbed, const Request& request,
                         const RequestCalls& calls);

struct DisturbedBounds {
  engine::Bounds outputs;
  std::optional<engine::Bounds> rows;  // of request.compile.spec
  std::size_t parts = 0;               // of the ranges
};

// Bounds outputs over all disturbed pictures: the hull over at most `parts` parts of the ranges, of
// which the one with the widest outputs is halved next. Throws: as decide_disturbed().
DisturbedBounds bound_disturbed(const Sampler& network, const ModelInfo& info,
                                const DisturbedInput& disturbed, const Request& request,
                                std::size_t parts);

}  // namespace bf_aot::decide
