#pragma once

#include <functional>
#include <string>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// Copies of expressions with other parts.

using ExprChange = std::function<ExprPtr(const ExprPtr&)>;
using IndexChange = std::function<Index(const Index&)>;

// `change` replaces nodes of every value: operands first.
void change_values(Expression& expression, const ExprChange& change);
void change_values(Statement& statement, const ExprChange& change);

// Every index of loads, stores and sums, and those of their predicates.
void change_indices(Expression& expression, const IndexChange& change);
ExprPtr change_indices(const ExprPtr& value, const IndexChange& change);

// Value `name` of the body or of the epilogue where it is used, in place of its let.
void inline_let(Expression& expression, std::string name);

// All lets of the body inlined.
Expression without_lets(Expression expression);

}  // namespace bf_aot::loop
