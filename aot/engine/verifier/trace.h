#pragma once

#include <functional>
#include <vector>

#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// Measures where the time of a call goes. call(hook) makes one call, whose verifier calls the hook
// before each part of a task and at its end, or not at all if it is null. See
// HostVerifier::trace().
std::vector<TracedPart> traced_parts(
    const std::function<void(void (*hook)(int task, const char* part))>& call, int repeats);

}  // namespace bf_aot::engine
