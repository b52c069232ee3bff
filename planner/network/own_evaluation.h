#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Errors of NAME_evaluate, as errors of the plan's layers, for semantics float32-exact; see
// docs/proofs/float32.md.

// Products that one accumulator of an evaluated dense layer takes in.
int evaluation_chunk(int in);

// Float32 roundings that a term of an evaluated dense layer of `in` inputs meets at most, when its
// kernel has a chain of so many.
int evaluation_depth(int in, int kernel_depth);

// The layers that the evaluation goes through, and its arithmetic: float32 throughout where all are
// dense, with ReLU or without; else double, with outputs rounded to float32.
struct OwnEvaluation {
  PerLayer<bool> evaluated;  // the others are rows of the specification
  bool in_float = false;
};
OwnEvaluation own_evaluation(const Plan& plan);

// Under semantics float32-exact, makes the numbers of the evaluation the weights and biases that
// bounds hold for: float32 tables, with errors that hold the evaluation's roundings. Throws:
// CompileError BF2110 for layers whose evaluation is not bounded.
void count_own_roundings(Plan& plan);

}  // namespace bf_aot
