#include "aot/engine/run/pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "aot/engine/run/recording.h"
#include "frontend/float_environment.h"
#include "runtime/host/thread_executor.h"

namespace bf_aot::engine {
namespace {

using Body = std::function<void(std::size_t i, std::size_t worker)>;

// The state that the workers of a call of share() have in common.
class Shared {
 public:
  Shared(std::size_t count, const Body& body, const std::function<void()>& wait)
      : count_(count), body_(body), wait_(wait) {}

  static void work(void* data, std::size_t worker) noexcept {
    static_cast<Shared*>(data)->work(worker);
  }
  void work(std::size_t worker) noexcept {
    guarded([&] { do_pieces(worker); });
    if (wait_ && std::this_thread::get_id() == caller_) wait_for_others();
  }

  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  void do_pieces(std::size_t worker) {
    const Working working(working_);
    expect_float_environment();
    for (std::size_t i = next_++; i < count_; i = next_++)
      recorder_.time([&] { body_(i, worker); });
  }

  // Pieces that are left belong to workers that are at work.
  void wait_for_others() noexcept {
    constexpr std::chrono::milliseconds kPause{1};
    while (working_ > 0) {
      guarded(wait_);
      std::this_thread::sleep_for(kPause);
    }
  }

  template <class Call>
  void guarded(const Call& call) noexcept {
    try {
      call();
    } catch (...) {
      next_ = count_;
      const std::scoped_lock lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
  }

  // Counts a worker while it lives.
  class Working {
   public:
    explicit Working(std::atomic<std::size_t>& count) : count_(count) { ++count_; }
    ~Working() { --count_; }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    std::atomic<std::size_t>& count_;
  };

  const std::size_t count_;
  const Body& body_;
  const std::function<void()>& wait_;
  const std::thread::id caller_ = std::this_thread::get_id();
  RoundRecorder recorder_{RoundKind::kPieces};
  std::atomic<std::size_t> next_ = 0, working_ = 0;
  std::mutex mutex_;  // of what follows
  std::exception_ptr thrown_;
};

}  // namespace

const bf_executor* pool() noexcept {
  if (const Recording* const asked = recording()) return asked->executor();
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

void share(std::size_t workers, std::size_t count, const Body& body,
           const std::function<void()>& wait) {
  expect_float_environment();  // of the caller, even where others take all pieces
  Shared shared(count, body, wait);
  const bf_executor* const threads = workers > 1 && count > 1 ? pool() : nullptr;
  if (threads != nullptr)
    threads->run(threads->self, Shared::work, &shared,
                 std::min({workers, threads->workers, count}));
  else
    shared.work(0);
  shared.rethrow();
}

}  // namespace bf_aot::engine
