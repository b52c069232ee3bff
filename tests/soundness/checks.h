#pragma once

#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

// Bounds against exact arithmetic on networks whose every number is known. All report fatal
// failures of googletest.
namespace bf_aot::soundness {

// Bounds are numbers in order, and finite where no magnitude of the network comes near overflow.
void check_form(const Net& net, const FloatBox& box, const Outcome& outcome);

// Method ibp: the interval method without rounding lies inside.
void check_intervals(const ExactNet& exact, const FloatBox& box, const Outcome& outcome);

// The values at a point of the box lie inside; `what` the point is.
void check_point(const ExactNet& exact, const Numbers& x, const Outcome& outcome, const char* what);

// The same of the rows of a specification.
void check_rows(const ExactNet& exact, const LinearSpec& spec, const Numbers& x,
                const Outcome& outcome, const char* what);

}  // namespace bf_aot::soundness
