#pragma once

#include "frontend/functions/composite/composite.h"
#include "planner/functions/pieces.h"

namespace bf_aot::pieces {

// The pieces of a composite function: its parts, smooth ones with the Taylor arithmetic of their
// steps on the branches that they are on.
List of_composite(const Composite& composite);

}  // namespace bf_aot::pieces
