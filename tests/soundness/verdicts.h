#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/property/property.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/random_net.h"

// Random properties, and functions of verifiers that judge them.
namespace bf_aot::soundness {

// Exact values of the outputs at a point.
using Values = std::function<std::vector<mpq_class>(const std::vector<mpq_class>& x)>;

// Of one or two cases in the box or around it, with limits before, at and behind what a few of
// its points reach. Has conditions on inputs now and then, and ends that are no floats.
Property random_property(Random& random, const FloatBox& box, int outputs, const Values& values);

// What a call left of one box: numbers that no call writes where it wrote nothing.
struct Judged {
  bf_status status = BF_OK;
  bf_result result = {};
  std::vector<float> point;
};

struct Verdicts {
  bf_status status = BF_OK;
  std::vector<Judged> boxes;
  bf_search search = {71, 72, 73, 74, 75};  // of NAME_decide
};

// One call of NAME_verify in any of its forms, or of NAME_decide within so many boxes. Throws when
// there is a write outside the memory that it asks for.
Verdicts call_verdicts(const Plan& plan, const Callee& callee, const Signature& signature,
                       const std::vector<FloatBox>& boxes, const CallWith& with = {},
                       std::uint64_t budget = 0);

// "" or how they differ: the bits of all that a caller sees.
std::string difference(const Verdicts& a, const Verdicts& b);

}  // namespace bf_aot::soundness
