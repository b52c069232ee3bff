#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "frontend/check_scope.h"

namespace bf_aot::api {

// Runs work(i) for each i on up to `threads` threads. Rethrows the first thing that was thrown.
template <class Work>
void for_each_index(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&]() noexcept {
    const ThrowingChecks checks;
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < std::min(static_cast<std::size_t>(threads), count))
        helpers.emplace_back(run);
    } catch (const std::system_error&) {  // the helpers that were started do the work
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace bf_aot::api
