#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// (pass) Bounds the norms of all affine layers' maps where the plan is of balls: BallNorms. Every
// number is proven, with its own roundings: docs/proofs/balls.md, "Norms".
void bound_norms(Plan& plan);

// Norms of the map of a term with `out` outputs, whose exact weights are within `relative` of the
// stored ones.
BallNorms norms_of(const Term& term, int out, double relative);

// Bounds the norms of a dense layer's map.
BallNorms norms_of(const Layer& dense);

}  // namespace bf_aot
