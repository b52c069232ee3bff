#pragma once

#include <cstddef>
#include <vector>

#include "aot/engine/run/operations.h"
#include "aot/engine/run/ranges.h"
#include "aot/engine/run/watch.h"
#include "bf/core/parallel.h"
#include "runtime/bf.h"

namespace bf_aot::engine {

// The caller's arrays and memory in a call of an entry. They have been checked.
struct CallMemory {
  const float *lower = nullptr, *upper = nullptr;
  float *out_lower = nullptr, *out_upper = nullptr;
  const float* x = nullptr;
  float *y = nullptr, *coefficients = nullptr, *kept_ranges = nullptr;
  void *workspace = nullptr, *context = nullptr;
  bf::Team team = {nullptr, 1};     // of tiles, each with a part of the workspace of its own
  bf::Team helpers = {nullptr, 1};  // of sums, which need none
  // The number of boxes in entries of several, and what was found wrong with each.
  std::size_t count = 0;
  const bf_status* statuses = nullptr;
  // Written by layer, for one box: the neurons whose relaxation was not exact. Null: they are not
  // counted.
  std::vector<int>* open = nullptr;
  // Written by layer with a relaxation, for one box. Null: they are not asked for.
  std::vector<Ranges>* ranges = nullptr;
  // Seconds are added to it by call of the entry. Null: they are not measured.
  std::vector<double>* seconds = nullptr;
  Watch* watch = nullptr;  // null: nobody watches. Null in groups of workers
  int group = -1;          // the only group that is run, from 0; -1: all are
};

// Called before each part of a task, and at the end with no part.
using TraceHook = void (*)(int task, const char* part);

// Runs the entry. Returns BF_OK, or with workers BF_BAD_EXECUTOR or BF_FLOAT_ENVIRONMENT. Throws:
// Stopped.
bf_status run(const EntryOperations& entry, const CallMemory& memory, bf::Context* state,
              const bf::CachedCall& call, TraceHook hook);

}  // namespace bf_aot::engine
