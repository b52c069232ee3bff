#pragma once

#include <functional>
#include <string>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// Copies of expressions in which parts are replaced.

using ExprChange = std::function<ExprPtr(const ExprPtr&)>;
using IndexChange = std::function<Index(const Index&)>;

// Replaces nodes of every value by `change`, operands first.
void change_values(Expression& expression, const ExprChange& change);
void change_values(Statement& statement, const ExprChange& change);

// Replaces every index of loads, stores and sums, and those of their predicates.
void change_indices(Expression& expression, const IndexChange& change);
ExprPtr change_indices(const ExprPtr& value, const IndexChange& change);

// Puts the value of a let of the body or of the epilogue where its name is used, and removes the
// let.
void inline_let(Expression& expression, std::string name);

// The expression with all lets of the body inlined.
Expression without_lets(Expression expression);

}  // namespace bf_aot::loop
