#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aot/reach/numbers/form.h"
#include "frontend/evaluate/scalar_program.h"

namespace bf_aot::reach {

// One step of a solution of x' = f(x, held).
struct ValidatedStep {
  std::vector<Form> end;      // of the state at the end of the step
  std::vector<Form> during;   // at any time of it; over one more symbol, which is the time
  std::vector<Range> within;  // every solution stays in these ranges
};

// Encloses all solutions from `state` for `seconds` by Taylor's series of this order with the
// remainder of Lagrange, on ranges that Picard's iteration proves. time_symbol: which no form has.
// Nothing where no such ranges were found: solutions may grow beyond all bounds within the step.
// Proof: docs/proofs/closed-loops.md.
// changing: none, or ranges of all that is held. What changes at any time within its range has the
// form of one number of it; the range of what does not is that of its form.
std::optional<ValidatedStep> validated_step(const ScalarProgram& plant,
                                            const std::vector<Form>& state,
                                            const std::vector<Form>& held, const Bounded& seconds,
                                            std::size_t order, std::size_t time_symbol,
                                            const std::vector<Range>& changing = {});

}  // namespace bf_aot::reach
