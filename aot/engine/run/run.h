#pragma once

#include <cstddef>
#include <vector>

#include "aot/engine/run/operations.h"
#include "aot/engine/run/ranges.h"
#include "aot/engine/run/watch.h"
#include "bf/core/parallel.h"
#include "runtime/bf.h"

namespace bf_aot::engine {

// A call of an entry: the caller's arrays and memory, checked.
struct CallMemory {
  const float *lower = nullptr, *upper = nullptr;
  float *out_lower = nullptr, *out_upper = nullptr;
  const float* x = nullptr;
  float *y = nullptr, *coefficients = nullptr, *kept_ranges = nullptr;
  void *workspace = nullptr, *context = nullptr;
  bf::Team team = {nullptr, 1};
  // Of entries of several boxes: how many, and what was found wrong with each.
  std::size_t count = 0;
  const bf_status* statuses = nullptr;
  // By layer: the neurons whose relaxation was not exact, of one box; null: nobody counts them.
  std::vector<int>* open = nullptr;
  // By layer with a relaxation, of one box; null: nobody asks.
  std::vector<Ranges>* ranges = nullptr;
  // By call of the entry: seconds that are added to. Null: nobody measures them.
  std::vector<double>* seconds = nullptr;
  Watch* watch = nullptr;  // null: nobody watches. Not of groups of workers
  int group = -1;          // the only one that is run, counted from 0; -1: all are
};

// Called before each part of a task, and at the end with no part.
using TraceHook = void (*)(int task, const char* part);

// BF_OK, or BF_BAD_EXECUTOR and BF_FLOAT_ENVIRONMENT from workers. Throws: Stopped.
bf_status run(const EntryOperations& entry, const CallMemory& memory, bf::Context* state,
              const bf::CachedCall& call, TraceHook hook);

}  // namespace bf_aot::engine
