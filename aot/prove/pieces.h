#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

// Text that several threads write at once, each a piece of it, and that is handed on in its order.

namespace bf_aot::prove {

// A stretch of the text. One thread at a time writes it.
struct Piece {
  std::string bytes;
  bool done = false;
  std::optional<std::uint64_t> subtree;  // the number of the one that it is, of a tree in parts
};

class Pieces {
 public:
  using At = std::list<Piece>::iterator;

  explicit Pieces(std::function<void(const std::string&)> write) : write_(std::move(write)) {
    pieces_.emplace_back();
  }

  At first() { return pieces_.begin(); }

  // Makes two pieces behind the one that is written: one for somebody else, and that in which the
  // writer goes on.
  std::pair<At, At> part(At current) {
    const std::scoped_lock lock(mutex_);
    const Piece empty = {{}, false, current->subtree};
    const At rest = pieces_.insert(std::next(current), empty);
    return {pieces_.insert(rest, empty), rest};
  }

  // Hands on what stands before all that is still written.
  void flush(At current, bool done) {
    const std::scoped_lock lock(mutex_);
    current->done = done;
    while (write_ && !pieces_.empty()) {
      Piece& front = pieces_.front();
      if (!front.done && pieces_.begin() != current) return;
      held_ += front.bytes;
      front.bytes.clear();
      if (held_.size() >= kBuffer) hand_on();
      if (!front.done) return;
      pieces_.pop_front();
    }
  }

  // Hands on what is left, when all pieces are done.
  void finish() {
    if (write_) hand_on();
  }

  // All pieces, where nothing is handed on.
  const std::list<Piece>& all() const { return pieces_; }

 private:
  static constexpr std::size_t kBuffer = 1 << 16;

  void hand_on() {
    write_(held_);
    held_.clear();
  }

  std::mutex mutex_;
  std::list<Piece> pieces_;
  std::string held_;
  std::function<void(const std::string&)> write_;  // empty: the pieces are kept
};

// Tasks that threads take, and that may add others. Ends when all are done, or one has thrown.
template <class Task>
class Tasks {
 public:
  void add(Task task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

  // Whether a thread waits for a task.
  bool is_wanted() {
    const std::scoped_lock lock(mutex_);
    return waiting_ > tasks_.size();
  }

  // Whether a task has thrown.
  bool has_failed() {
    const std::scoped_lock lock(mutex_);
    return failure_ != nullptr;
  }

  // Has `threads` threads, of which this is one, do the tasks; make() makes what does them on each.
  // Rethrows the first exception of any.
  template <class Make>
  void run(std::size_t threads, const Make& make) {
    const auto work = [&]() noexcept {
      try {
        auto doer = make();
        while (std::optional<Task> task = take()) {
          doer(std::move(*task));
          end();
        }
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        changed_.notify_all();
      }
    };
    {
      std::vector<std::jthread> helpers;
      try {
        while (helpers.size() + 1 < threads) helpers.emplace_back(work);
      } catch (const std::system_error&) {  // those that are there do
      }
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::optional<Task> take() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [&] { return !tasks_.empty() || running_ == 0 || failure_; });
    --waiting_;
    if (tasks_.empty() || failure_) return std::nullopt;
    ++running_;
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    return task;
  }

  void end() {
    const std::scoped_lock lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  std::size_t waiting_ = 0, running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace bf_aot::prove
