#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aot/reach/numbers/interval.h"
#include "frontend/evaluate/scalar_program.h"

namespace bf_aot::reach {

// How far solutions of x' = f(x, held) from one start may come apart within `seconds`, by element
// of the state, where some of what is held changes at any time within its range for the one, and
// stays at a number of it for the other. within: ranges that both stay in; held: ranges of what is
// held; radius: how far each may be from that number, 0 where it is held for both. None where no
// bound was found. Proof: docs/proofs/closed-loops.md.
std::optional<std::vector<double>> deviation(const ScalarProgram& plant,
                                             const std::vector<Range>& within,
                                             const std::vector<Range>& held,
                                             const std::vector<double>& radius, double seconds);

}  // namespace bf_aot::reach
