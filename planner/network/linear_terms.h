#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// The most nonzero products in one output and of one input, and max_j sum_k |w_jk|: fills
// term.row_entries, column_entries and row_norm from its map and weights.
void measure_term(int out, Term& term);

// Input channels that the same taps read, which runtime/bf/conv/conv_backward.h takes in turn:
// those of a group, or, where each group has one, all.
std::int64_t tiled_channels(const ConvGeometry& g);

// Products that a term computes.
std::int64_t term_products(int out, const Term& term);

// Terms of linear graph nodes over tensor `input` of `in` elements. Weights are rounded to float32;
// `errors` is enlarged by what that needs.
// Throws: CompileError BF2103 when a weight is beyond float32.
Term conv_term(const Conv& conv, LayerId input, const std::string& origin, AffineErrors& errors);
Term sparse_term(const SparseAffine& sparse, LayerId input, int in, const std::string& origin,
                 AffineErrors& errors);
Term gather_term(const std::vector<std::int64_t>& source, LayerId input, int in);
Term identity_term(LayerId input, int in);
Term diagonal_term(const Constant& factor, LayerId input, const std::string& origin,
                   AffineErrors& errors);

// The layer that a sum layer copies, element by element, and nothing else; if any.
std::optional<LayerId> copied_layer(const Layer& layer);

// The nonzero weights of a dense map, in compressed rows.
SparseAffine to_sparse(const Affine& affine);

// Share of the weights that are not zero.
double density(const Affine& affine);

}  // namespace bf_aot
