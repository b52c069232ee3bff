#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/request.h"

namespace bf_aot::decide {

// An element of the state: an input of a step, and the output that is its next value.
struct StateElement {
  std::size_t input = 0, output = 0;
};

struct InvariantSettings {
  double seconds = 20;
  double shrink_seconds = 2;  // of which so many may make the box smaller
};

// A box of inputs whose elements that are the state hold their own next values.
struct Invariant {
  // Has an interval for each input; the state's ends are float32 numbers. Where no box was found,
  // it is the last one that was tried.
  Box box;
  bool found = false;
  bool by_bounds = false;       // one call of bounds proves it; else a decision of obligation()
  std::optional<Witness> last;  // a point of `box` that leaves it, where none was found
  std::size_t rounds = 0;       // boxes that were tried
  double seconds = 0;
};

// Searches a box of states that a step of a network, with the other inputs anywhere in `box`, maps
// into itself. It holds the states of `box`, where steps begin. The search begins with states that
// are reached, and widens the box by what leaves it, until bounds or a decision say that nothing
// does; then it makes the box smaller while that still holds.
// Throws: as decide().
Invariant find_invariant(const Sampler& network, const ModelInfo& info, const Box& box,
                         const std::vector<StateElement>& state, const Request& request,
                         const InvariantSettings& settings, const RequestCalls& calls);

// Returns what never holds where a step keeps the state in the box: an output of it is outside.
Property obligation(const Box& box, const std::vector<StateElement>& state, std::int64_t outputs);

// Returns the same as a VNN-LIB 1.0 file.
std::string obligation_text(const Box& box, const std::vector<StateElement>& state,
                            std::int64_t outputs);

}  // namespace bf_aot::decide
