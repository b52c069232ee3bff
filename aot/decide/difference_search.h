#pragma once

#include <memory>

#include "aot/decide/request.h"
#include "aot/decide/search/search.h"

namespace bf_aot::decide {

// A search by differences, in real arithmetic, of a property whose networks merge_graphs() merged.
// Null where these are not two networks of one structure, or are too large, or where there is no
// verifier of their difference; alone: no other search has turns, so that it also bounds by both
// networks, and is null where more inputs vary than are split. property: the whole one; cases: of
// the decision, which may be without inputs that do not vary. Both must outlive the search.
std::unique_ptr<Search> make_difference_search(const Graph& merged, const ModelInfo& info,
                                               const Property& property, const Request& request,
                                               const Cases& cases, bool alone);

}  // namespace bf_aot::decide
