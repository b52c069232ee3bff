#pragma once

#include "planner/functions/pieces.h"
#include "planner/functions/table_makers.h"

namespace bf_aot {

// How the table of a kind of function is made. What is true of the function itself stands in
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

// By `series` of the row.
Formula formula_of(const Function& function);

// By `pieces` of the row, and what facts_of() says of the function's monotony.
Pieces pieces_of(const Function& function);

}  // namespace bf_aot
