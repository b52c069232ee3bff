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

// The intrinsic of that name, or nullptr.
const Intrinsic* find_intrinsic(const std::string& name);

// The reason why the nest's innermost loop, with all that is computed in it, is not the intrinsic.
Reason why_not_matching(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic);

// The places in the nest where the function's buffers begin, that is, where the expression's index
// is 0, by parameter. Requires that the nest matches.
std::vector<Access> arguments(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic);

}  // namespace bf_aot::loop
