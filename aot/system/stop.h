#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace bf_aot::system {

// When work ends and leaves open what is not done: once a token or a function asks for it, a time
// has come, or a signal has arrived. A copy asks the same. Without a function several threads may
// ask at once.
class Stop {
 public:
  using Clock = std::chrono::steady_clock;

  Stop() = default;  // never
  // A stop that this function asks for. What it throws leaves the question.
  template <class Ask>
  requires(!std::same_as<std::remove_cvref_t<Ask>, Stop> && std::is_invocable_r_v<bool, const Ask&>)
      Stop(Ask ask)
      : ask_(std::move(ask)) {}
  // seconds: from now on; 0: no limit.
  explicit Stop(std::stop_token token, double seconds = 0);

  // This stop, and one when so many seconds, from now on, are over.
  Stop within(double seconds) const;
  // This stop, where a question also throws Interrupted after a signal.
  Stop or_interrupt() const;

  // Whether to end now. Throws: what the function throws; Interrupted.
  bool operator()() const;
  bool is_late() const { return has_end() && Clock::now() >= end_; }
  bool is_possible() const { return has_end() || interrupts_ || ask_ || token_.stop_possible(); }

 private:
  bool has_end() const { return end_ != Clock::time_point::max(); }

  std::stop_token token_;
  std::function<bool()> ask_;
  Clock::time_point end_ = Clock::time_point::max();
  bool interrupts_ = false;
};

}  // namespace bf_aot::system
