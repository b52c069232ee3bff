#pragma once

#include <cstddef>
#include <functional>

#include "runtime/bf.h"

namespace bf_aot::engine {

// The threads of this process that share the work of calls: as many workers as the machine has
// cores, the caller among them. They are started by the first call. Calls of several callers share
// them, and so do calls within calls: there are never more threads. Null where no thread can be
// started.
const bf_executor* pool() noexcept;

// Calls body(i, worker) once for each i < count, by at most `workers` workers of the pool, the
// caller among them: two calls at a time have other numbers worker < workers. Which worker does
// what is left to chance. wait: called on the caller's thread about every millisecond while it
// waits for others; may be empty. Throws the first of what body and wait throw; pieces that are not
// begun are then left out.
void share(std::size_t workers, std::size_t count,
           const std::function<void(std::size_t i, std::size_t worker)>& body,
           const std::function<void()>& wait = {});

}  // namespace bf_aot::engine
