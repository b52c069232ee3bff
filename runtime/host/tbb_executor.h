#pragma once

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>

#include "bf.h"

// A bf_executor of oneTBB's threads: those of the arena that the caller is in. Header-only; link
// TBB::tbb.

namespace bf::host {

inline void run_tbb(void*, bf_job job, void* data, std::size_t jobs) {
  tbb::parallel_for(std::size_t{0}, jobs, [=](std::size_t i) { job(data, i); });
}

/// workers = 0: as many as the arena has.
inline bf_executor tbb_executor(std::size_t workers = 0) {
  if (workers == 0) workers = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  return {run_tbb, nullptr, workers};
}

}  // namespace bf::host
