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
/// One object serves any number of callers, and jobs that call it in their turn: their runs share
/// the threads, the newest first. A caller does jobs of its own run until all are taken, so
/// threads that are busy hold no run up. The destructor waits for its threads; no call may be
/// running then.
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

  // The jobs of a call, in the memory of its caller.
  struct Run {
    bf_job job;
    void* data;
    std::size_t jobs;
    std::size_t next;               // the first that nobody has taken
    std::size_t number;             // of runs that began before
    Run* older;                     // the next run in the list
    std::atomic<std::size_t> left;  // jobs that have not returned
  };

  void run(bf_job job, void* data, std::size_t jobs) {
    if (threads_.empty() || jobs < 2) {
      for (std::size_t i = 0; i < jobs; ++i) job(data, i);
      return;
    }
    Run own{job, data, jobs, 0, 0, nullptr, {jobs}};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      own.older = newest_;
      newest_ = &own;
      own.number = runs_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    while (work(&own)) {
    }
    // Jobs that others do may have begun runs, which are newer.
    const auto done = [&] { return own.left.load(std::memory_order_acquire) == 0; };
    while (!done())
      if (!work(nullptr, own.number + 1) && !watch(done)) std::this_thread::yield();
  }

  // Takes a job of `own`, or where that is null of the newest run with at least that number, and
  // does it; false when none is left. The last job that is taken takes its run from the list: from
  // then on its caller may return as soon as `left` is 0.
  bool work(Run* own, std::size_t least = 0) {
    bf_job job = nullptr;
    void* data = nullptr;
    std::size_t index = 0;
    Run* from = own;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (from == nullptr) from = newest_;
      if (from == nullptr || from->number < least || from->next == from->jobs) return false;
      job = from->job;
      data = from->data;
      index = from->next++;
      if (from->next == from->jobs) remove(from);
    }
    job(data, index);
    from->left.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

  void remove(Run* run) {
    Run** at = &newest_;
    while (*at != run) at = &(*at)->older;
    *at = run->older;
  }

  void wait_for_jobs() {
    while (true) {
      const std::size_t seen = runs_.load(std::memory_order_acquire);
      while (work(nullptr)) {
      }
      if (watch([&] { return runs_.load(std::memory_order_acquire) != seen; })) continue;
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || runs_.load(std::memory_order_relaxed) != seen; });
      if (stop_) return;
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
  std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  Run* newest_ = nullptr;  // of the runs that have jobs nobody has taken
  bool stop_ = false;
  std::atomic<std::size_t> runs_{0};  // so far
  std::vector<std::thread> threads_;
};

}  // namespace bf::host
