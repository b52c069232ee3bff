#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/property/decision.h"
#include "aot/decide/property/sample.h"
#include "frontend/graph/graph.h"
#include "frontend/property/property.h"

// Properties of networks that read token ids: docs/proofs/one-hot.md.

namespace bf_aot::decide {

// A property whose inputs X are token ids, as one of the one-hot inputs that a network reads.
struct OneHotProperty {
  Property property;
  // The place of each case of `property` among the cases of the property of ids. Cases in which no
  // id may stand at some position are left out.
  std::vector<std::size_t> origin;
};

// Throws: BF3408 where the property is about other numbers of positions or outputs.
OneHotProperty property_of_one_hot(const Property& of_ids, const Graph& graph);

// Decides a property of token ids by halving the sets of ids that stand at a position, down to one
// id at each: complete, where the network can be evaluated in rational arithmetic, or where no
// output is as near to its limit as rounding. A witness has the ids. Otherwise as decide() of
// decision.h; the method is crown where none is given.
Outcome decide_tokens(const Sampler& network, const Property& of_ids,
                      const DecisionSettings& settings, const DecisionCalls& calls);

}  // namespace bf_aot::decide
