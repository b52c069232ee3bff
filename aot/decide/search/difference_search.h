#pragma once

#include <memory>

#include "aot/decide/property/decision.h"
#include "aot/decide/request.h"

namespace bf_aot::decide {

// A search by differences, in real arithmetic, of a property whose networks merge_graphs() merged.
// Null where these are not two networks of one structure, or are too large, or where there is no
// verifier of their difference.
std::unique_ptr<CaseSearch> make_difference_search(const Graph& merged, const ModelInfo& info,
                                                   const Property& property,
                                                   const Request& request);

}  // namespace bf_aot::decide
