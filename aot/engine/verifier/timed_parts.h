#pragma once

#include <functional>
#include <vector>

#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// Where the time of a call goes; call(hook): one call, whose verifier calls the hook before each
// part of a task and at its end; a null hook: not at all. See HostVerifier::time_parts().
std::vector<TimedPart> timed_parts(
    const std::function<void(void (*hook)(int task, const char* part))>& call, int repeats);

}  // namespace bf_aot::engine
