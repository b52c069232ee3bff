#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

using Offsets = std::vector<std::int64_t>;
using Order = std::vector<int>;

// A buffer as placement sees it. Of all ops only those count at which the set of live buffers is
// largest: any two buffers that live together do so in one of these.
struct Block {
  std::int64_t bytes = 0;
  int first = 0, last = 0;  // such ops, both included
};

// The gap that a block goes to.
enum class Fit : std::uint8_t {
  kLowest,
  kTightest,
  kTwoEnds,  // the lowest; but the highest below the lower bound, if it lives at none of the
             // fullest ops
  kStack,    // the lowest; but the highest below the lower bound, if it dies before the last op
};

// Bytes of the buffers that live at the op where these are most: no arena is smaller.
std::int64_t fullest(const std::vector<Buffer>& buffers);

// An entry's placement problem.
struct Placement {
  std::vector<Block> blocks;                 // as the entry's buffers
  std::vector<std::int64_t> live;            // bytes at each op
  std::vector<std::vector<int>> neighbours;  // of a block: those that live together with it
  std::int64_t lower_bound = 0;

  explicit Placement(const std::vector<Buffer>& buffers);

  std::int64_t height(const Offsets& offsets) const;

  // Blocks in this order, each in a gap between those already placed that live with it.
  Offsets place(const Order& order, Fit fit) const;

 private:
  void find_neighbours();
};

// Indices of blocks sorted by falling key; ties in the given order.
template <typename Key>
Order order_by(const Placement& problem, Key key) {
  Order order(problem.blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return key(static_cast<std::size_t>(a)) > key(static_cast<std::size_t>(b));
  });
  return order;
}

std::string_view to_string(Fit fit);

struct SearchResult {
  Offsets offsets;      // of an arena smaller than `best`; empty: none was found
  bool proven = false;  // there is none smaller than these, or than `best`
};

// Exact, within a budget of work.
SearchResult search_exactly(const Placement& problem, std::int64_t best);

}  // namespace bf_aot
