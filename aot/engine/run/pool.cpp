#include "aot/engine/run/pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "runtime/host/thread_executor.h"

namespace bf_aot::engine {
namespace {

struct Shared {
  const std::function<void(std::size_t, std::size_t)>& body;
  const std::size_t count;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // of what follows
  std::exception_ptr thrown;
};

void work(void* data, std::size_t worker) noexcept {
  Shared& shared = *static_cast<Shared*>(data);
  try {
    for (std::size_t i = shared.next++; i < shared.count; i = shared.next++) shared.body(i, worker);
  } catch (...) {
    shared.next = shared.count;
    const std::scoped_lock lock(shared.mutex);
    if (!shared.thrown) shared.thrown = std::current_exception();
  }
}

}  // namespace

const bf_executor* pool() noexcept {
  // Never destroyed: a process may end, or a child of it, while threads wait for work.
  static const bf::host::ThreadExecutor* const threads = []() -> const bf::host::ThreadExecutor* {
    try {
      return new bf::host::ThreadExecutor();
    } catch (const std::exception&) {
      return nullptr;
    }
  }();
  return threads == nullptr ? nullptr : threads->get();
}

void share(std::size_t workers, std::size_t count,
           const std::function<void(std::size_t i, std::size_t worker)>& body) {
  Shared shared{body, count, {}, {}, {}};
  const bf_executor* const threads = workers > 1 && count > 1 ? pool() : nullptr;
  if (threads != nullptr) {
    const std::size_t jobs = std::min({workers, threads->workers, count});
    threads->run(threads->self, work, &shared, jobs);
  } else {
    work(&shared, 0);
  }
  if (shared.thrown) std::rethrow_exception(shared.thrown);
}

}  // namespace bf_aot::engine
