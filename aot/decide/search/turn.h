#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "aot/decide/search/search.h"

namespace bf_aot::decide {

// A search that has turns. It is made for its first one, since that takes time.
struct Turn {
  using Make = std::function<std::unique_ptr<Search>()>;

  Turn() = default;
  explicit Turn(Make makes, const char* because, double of_round = 1, bool second = false)
      : make(std::move(makes)), why(because), share(of_round), from_second(second) {}

  bool is_over() const { return search != nullptr ? search->is_over() : make == nullptr; }

  Make make;                 // returns null where there is none; empty: there is none to be made
  const char* why = "";      // it was chosen, in words
  double share = 1;          // of a round's seconds
  bool from_second = false;  // it has no turn in the first round
  std::unique_ptr<Search> search;
};

}  // namespace bf_aot::decide
