#pragma once

#include "planner/functions/function_table.h"

// The ways in which tables are made; each row of function_recipes.cpp names one.
namespace bf_aot {

// Makes a table of the row's pieces: lines as they are, polynomials over cells of smooth ones.
FunctionTable table_of_pieces(const Function& function);

FunctionTable exponential_table(const Function& function);
FunctionTable capped_exponential_table(const Function& function);
FunctionTable logarithm_table(const Function& function);

// Makes the table of x^a.
FunctionTable table_of_power(const Function& function, double a);

// Makes the table of a function that rounds x / step to an integer.
FunctionTable staircase(const Function& function, FunctionForm form, double step);

}  // namespace bf_aot
