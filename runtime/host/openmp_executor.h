#pragma once

#include <omp.h>

#include <cstddef>

#include "bf.h"

// A bf_executor of OpenMP's threads. Header-only; compile with -fopenmp (or what your compiler
// calls it), else there is one thread.

namespace bf::host {

inline void run_openmp(void*, bf_job job, void* data, std::size_t jobs) {
  const auto count = static_cast<long>(jobs);
#pragma omp parallel for num_threads(static_cast <int>(count)) schedule(dynamic, 1)
  for (long i = 0; i < count; ++i) job(data, static_cast<std::size_t>(i));
}

/// workers = 0: as many as OpenMP would take.
inline bf_executor openmp_executor(std::size_t workers = 0) {
  if (workers == 0) workers = static_cast<std::size_t>(omp_get_max_threads());
  return {run_openmp, nullptr, workers};
}

}  // namespace bf::host
