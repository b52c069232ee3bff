#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "aot/check/bounds.h"

namespace bf_aot::prove {

// The checker's lines of functions at places that are chosen. They are made for the bounds of the
// last part that was asked about.
class Curves {
 public:
  explicit Curves(const bf_check::Network& network)
      : network_(network), known_(network.functions) {}

  // The line above the function of a row (sign 1), or below it (sign -1).
  bf_check::Line line(const bf_check::Part& part, const bf_check::Layer& layer, std::uint32_t row,
                      int sign, unsigned place);

 private:
  struct Known {
    std::int64_t low = 1, high = 0;  // of the argument
    std::optional<bf_check::Relaxation> relaxation;
    std::map<std::pair<int, unsigned>, bf_check::Line> lines;
  };

  const bf_check::Network& network_;
  std::vector<Known> known_;  // by function
};

}  // namespace bf_aot::prove
