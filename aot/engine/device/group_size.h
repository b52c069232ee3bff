#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace bf_aot::engine {

// The boxes that go to a device together, so that a call takes about a tenth of a second: few at
// first, then by the time of the calls before. Several threads may ask and tell at once.
class GroupSize {
 public:
  // least: the boxes that the device bounds side by side, of which fewer take as long. most: those
  // that it has room for.
  std::size_t boxes(std::size_t least, std::size_t most) const {
    const std::size_t room = std::max<std::size_t>(most, 1);
    return std::clamp<std::size_t>(size_, std::clamp<std::size_t>(least, 1, room), room);
  }

  // Notes the time of a call: after short ones there are twice as many boxes, after long ones half.
  void took(std::size_t boxes, double seconds) {
    constexpr double kShort = 0.05, kLong = 0.15;
    if (seconds < kShort && boxes >= size_) size_ = 2 * boxes;
    if (seconds > kLong) size_ = std::max<std::size_t>(boxes / 2, 1);
  }

 private:
  std::atomic<std::size_t> size_ = 1;
};

}  // namespace bf_aot::engine
