#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "bf.h"

// A bf_executor of std::threads. C++17, header-only; for programs, not for verifiers.

namespace bf::host {

/// Keeps workers - 1 threads, which wait between calls; the caller's thread works as well.
///
///     bf::host::ThreadExecutor threads(4);
///     NAME_bounds_parallel(lower, upper, out_lower, out_upper, workspace, bytes, threads.get());
///
/// One object serves any number of callers: while it is busy, others do their jobs themselves.
/// The destructor waits for its threads; no call may be running then.
class ThreadExecutor {
 public:
  /// workers = 0: as many as the machine runs at the same time. Throws what std::thread throws.
  explicit ThreadExecutor(std::size_t workers = 0) {
    if (workers == 0) workers = std::thread::hardware_concurrency();
    if (workers == 0) workers = 1;
    executor_ = {run, this, workers};
    try {
      for (std::size_t i = 1; i < workers; ++i) threads_.emplace_back([this] { wait_for_jobs(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadExecutor() { stop(); }
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  const bf_executor* get() const { return &executor_; }

 private:
  // A thread looks for work for so long before it sleeps: runs of a call follow each other within
  // that time, and waking up takes tens of microseconds, or more on a busy machine.
  static constexpr std::chrono::microseconds kPatience{200};

  // Looks until `done()` is true, or patience ends; returns whether it was true.
  template <typename Done>
  static bool watch(const Done& done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      for (int look = 0; look < 64; ++look)
        if (done()) return true;
      if (std::chrono::steady_clock::now() > end) return false;
    }
  }

  static void run(void* self, bf_job job, void* data, std::size_t jobs) {
    static_cast<ThreadExecutor*>(self)->run(job, data, jobs);
  }

  void run(bf_job job, void* data, std::size_t jobs) {
    const std::unique_lock<std::mutex> caller(callers_, std::try_to_lock);
    if (!caller.owns_lock() || threads_.empty() || jobs < 2) {
      for (std::size_t i = 0; i < jobs; ++i) job(data, i);
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = job;
      data_ = data;
      jobs_ = jobs;
      next_ = 0;
      left_.store(jobs, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    while (work()) {
    }
    const auto done = [this] { return left_.load(std::memory_order_acquire) == 0; };
    if (!watch(done))
      while (!done()) std::this_thread::yield();
  }

  // Takes a job and does it; false when none is left.
  bool work() {
    bf_job job = nullptr;
    void* data = nullptr;
    std::size_t index = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (next_ == jobs_) return false;
      job = job_;
      data = data_;
      index = next_++;
    }
    job(data, index);
    left_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

  void wait_for_jobs() {
    std::size_t seen = 0;
    while (true) {
      watch([&] { return round_.load(std::memory_order_acquire) != seen; });
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || round_.load(std::memory_order_relaxed) != seen; });
        if (stop_) return;
        seen = round_.load(std::memory_order_relaxed);
      }
      while (work()) {
      }
    }
  }

  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  bf_executor executor_ = {};
  std::mutex callers_;  // whoever holds it uses the threads
  std::mutex mutex_;    // of what follows
  std::condition_variable wake_;
  bf_job job_ = nullptr;
  void* data_ = nullptr;
  std::size_t jobs_ = 0, next_ = 0;
  bool stop_ = false;
  std::atomic<std::size_t> round_{0};  // runs so far
  std::atomic<std::size_t> left_{0};   // jobs that have not returned
  std::vector<std::thread> threads_;
};

}  // namespace bf::host
