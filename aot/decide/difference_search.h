#pragma once

#include <memory>

#include "aot/decide/request.h"
#include "aot/decide/search/search.h"

namespace bf_aot::decide {

// A search by differences, in real arithmetic, of a property whose networks merge_graphs() merged.
// Null where these are not two networks of one structure, or are too large, or where there is no
// verifier of their difference; with `only_if_it_splits` also where more inputs vary than are
// split. property: the whole one; cases: of the decision, which may be without inputs that do not
// vary. Both must outlive the search.
std::unique_ptr<Search> make_difference_search(const Graph& merged, const ModelInfo& info,
                                               const Property& property, const Request& request,
                                               const Cases& cases, bool only_if_it_splits);

}  // namespace bf_aot::decide
