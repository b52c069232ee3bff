#pragma once

#include "planner/functions/pieces.h"
#include "planner/functions/table_makers.h"

namespace bf_aot {

// The recipe for the tables of a kind of function. Facts about the function itself stand in
// frontend/functions/function_facts.h.
struct FunctionRecipe {
  FunctionKind kind{};
  // Null in tables that are not made of pieces.
  pieces::List (*pieces)(const Function&, const Formula&) = nullptr;
  // The Taylor coefficients inside smooth pieces; those of ELU-like functions on their side x < 0,
  // of hard-swish on [-3, 3]; kLog, kSqrt, kReciprocal and kPower: on x > 0. Null in functions of
  // lines and steps.
  Series (*series)(const Function&, const Series& x) = nullptr;
  int degree = 7;  // of the polynomials; 1 without `series`
  FunctionTable (*table)(const Function&) = table_of_pieces;
};

// The row of the table in function_recipes.cpp.
const FunctionRecipe& recipe_of(FunctionKind kind);

// The Taylor coefficients of a function, by `series` of its row.
Formula formula_of(const Function& function);

// The pieces of a function, by `pieces` of its row and its monotony as facts_of() says it.
Pieces pieces_of(const Function& function);

}  // namespace bf_aot
