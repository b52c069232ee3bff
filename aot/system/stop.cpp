#include "aot/system/stop.h"

#include <algorithm>

#include "aot/system/interrupt.h"

namespace bf_aot::system {

Stop::Stop(std::stop_token token, double seconds) : token_(std::move(token)) {
  if (seconds > 0) *this = within(seconds);
}

Stop Stop::within(double seconds) const {
  constexpr double kLongest = 1e9;  // seconds that a clock certainly counts
  Stop made = *this;
  if (seconds < kLongest)
    made.end_ =
        std::min(end_, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(std::max(seconds, 0.0))));
  return made;
}

Stop Stop::or_interrupt() const {
  Stop made = *this;
  made.interrupts_ = true;
  return made;
}

bool Stop::operator()() const {
  if (interrupts_) throw_if_interrupted();
  return is_late() || token_.stop_requested() || (ask_ && ask_());
}

}  // namespace bf_aot::system
