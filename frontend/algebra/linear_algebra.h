#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/graph.h"

// The linear operators (Affine, Conv, SparseAffine, IndexMap, Scale) as one: what they cost, their
// entries row by row, and their compositions. Errors and BF2005 as in affine_algebra.h.

namespace bf_aot {

bool is_linear(const Op& op);

// No pass makes a SparseAffine with more entries (1 GB).
constexpr std::int64_t kMaxEntries = std::int64_t{64} << 20;

// Products of one evaluation, in those of a dense matrix: a sparse entry counts as four, which is
// where is_worth_dense() draws the line. in_count: elements of the operator's input.
std::int64_t cost_of(const Op& op, std::int64_t in_count);

// Products of a convolution; positions outside of the image are none.
std::int64_t product_count(const ConvGeometry& geometry);

// Entries of a linear operator: product_count for a Conv, all elements for an Affine.
std::int64_t entry_count(const Op& op);

// The operator written out row by row. Zero weights that are exact are left out.
SparseAffine to_sparse(const Op& op);

// An Affine when that is no worse: is_worth_dense().
Op densified(SparseAffine sparse, std::int64_t in_count);

// outer(inner(x)), or nullopt when it has more than `limit` entries.
std::optional<SparseAffine> compose(const SparseAffine& outer, const SparseAffine& inner,
                                    std::int64_t in_count, std::int64_t limit,
                                    std::string_view where);

// a(x) + b(x), of equally many rows.
SparseAffine add(const SparseAffine& a, const SparseAffine& b, std::string_view where);

// outer(inner(x)) for a Scale on either side.
SparseAffine compose(const SparseAffine& outer, const Scale& inner, std::string_view where);
SparseAffine compose(const Scale& outer, const SparseAffine& inner, std::string_view where);

// outer(map(x)): columns move, those of elements that the map repeats add up.
SparseAffine compose(const SparseAffine& outer, const IndexMap& map, std::string_view where);

// map(inner(x)): rows move.
SparseAffine compose(const IndexMap& map, const SparseAffine& inner);
GroupMax compose(const IndexMap& map, const GroupMax& inner);

// outer(map(x)).
GroupMax compose(const GroupMax& outer, const IndexMap& map);
// Nothing where the map gives some row an element twice.
std::optional<LogSoftmax> compose(const LogSoftmax& outer, const IndexMap& map);

}  // namespace bf_aot
