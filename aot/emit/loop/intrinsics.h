#pragma once

#include <string>
#include <vector>

#include "aot/emit/loop/access.h"
#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// A function that computes what its expression says: over one axis "i" of any length, elements next
// to each other. Sums are chains in the axis' order, as a loop makes them.
struct Intrinsic {
  std::string name;
  std::vector<std::string> parameters;  // buffers of the expression in the function's order
  Expression expression;
  std::string text;  // C++ of the function, whose last parameter is the length
};

const std::vector<Intrinsic>& intrinsics();

// None of that name: nullptr.
const Intrinsic* find_intrinsic(const std::string& name);

// Why the nest's innermost loop, with all that is computed in it, is not the intrinsic.
Reason why_not_matching(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic);

// Where the function's buffers begin: what the expression's index 0 is in the nest, by parameter.
// The nest matches.
std::vector<Access> arguments(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic);

}  // namespace bf_aot::loop
