#pragma once

#include <string_view>
#include <vector>

#include "planner/plan/routine.h"

namespace bf_aot::calls {

// The parameters of a routine of the runtime, written like a declaration:
//   in, out, inout float NAME[EXTENT]   an array that it reads, writes, or both; in any: of floats
//                                       or doubles; ? after it: may be null
//   int, bool, real NAME                a number; the other words name kinds of Argument
// An extent is a sum of products of integers among the parameters and template parameters, of
// shape.in, shape.out, shape.weights, image.size, image.pixels, and of numbers; / rounds up.
struct Signature {
  Routine routine = Routine::kBindFloat;
  std::string_view name;       // "bind_box"
  std::string_view header;     // that declares it
  std::string_view constants;  // template parameters
  std::string_view parameters;
};

const std::vector<Signature>& signatures();

inline const Signature& signature_of(Routine routine) {
  return signatures().at(static_cast<std::size_t>(routine));
}

}  // namespace bf_aot::calls
