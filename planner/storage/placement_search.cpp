#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "planner/storage/placement.h"

// Exact: in an arena where nothing can sink, every block rests on those below it. Placing blocks by
// rising offset, each on top of what its lifetime already holds, therefore reaches a smallest
// arena. A branch ends when some op can no longer hold what it still must. As all that is left goes
// at or above the block placed last, no block may be left below it that would fit there: it could
// sink, and another branch has it there.

namespace bf_aot {
namespace {

// Elementary operations in all: a fraction of a second.
constexpr std::int64_t kWork = 40'000'000;

// Numbers the blocks such that equal ones have equal numbers, below their count.
std::vector<std::size_t> kinds_of(const std::vector<Block>& blocks) {
  std::map<std::tuple<std::int64_t, int, int>, std::size_t> known;
  std::vector<std::size_t> kinds;
  for (const Block& block : blocks)
    kinds.push_back(
        known.insert({{block.bytes, block.first, block.last}, known.size()}).first->second);
  return kinds;
}

class Search {
 public:
  // Looks for arenas of at most `limit` bytes; with `first`, for the first one.
  Search(const Placement& problem, Order order, std::int64_t limit, bool first, std::int64_t work)
      : blocks_(problem.blocks),
        lower_bound_(first ? limit : problem.lower_bound),
        limit_(limit),
        work_(work),
        top_(problem.live.size(), 0),
        missing_(problem.live),
        lowest_(blocks_.size(), 0),
        kinds_(kinds_of(blocks_)),
        placed_(blocks_.size(), false),
        offsets_(blocks_.size(), 0),
        order_(std::move(order)) {}

  SearchResult run() {
    descend(0, 0);
    return {found_, work_ > 0};
  }

 private:
  struct Candidate {
    std::int64_t offset = 0;
    std::size_t block = 0;
  };

  bool done() const { return work_ <= 0 || (!found_.empty() && best_ <= lower_bound_); }

  void descend(std::size_t placed, std::int64_t floor) {
    if (placed == blocks_.size()) {
      best_ = 0;
      for (std::size_t i = 0; i < blocks_.size(); ++i)
        best_ = std::max(best_, offsets_[i] + blocks_[i].bytes);
      found_ = offsets_;
      limit_ = best_ - 1;
      return;
    }
    for (const Candidate& candidate : candidates(floor)) {
      if (done()) return;
      try_block(candidate, placed);
    }
  }

  // The lowest place of each block that is left, lowest first; of equal blocks one stands for all.
  std::vector<Candidate> candidates(std::int64_t floor) {
    std::vector<Candidate> list;
    std::vector<bool> seen(blocks_.size());
    std::int64_t lowest_end = std::numeric_limits<std::int64_t>::max();
    for (int index : order_) {
      const auto i = static_cast<std::size_t>(index);
      --work_;
      if (placed_[i]) continue;
      const Block& block = blocks_[i];
      work_ -= static_cast<std::int64_t>(list.size()) + block.last - block.first;
      if (seen[kinds_[i]]) continue;
      seen[kinds_[i]] = true;
      lowest_end = std::min(lowest_end, lowest_[i] + block.bytes);
      if (lowest_[i] >= floor) list.push_back({lowest_[i], i});
    }
    std::erase_if(list, [&](const Candidate& c) { return c.offset >= lowest_end; });
    std::ranges::stable_sort(list, {}, &Candidate::offset);
    return list;
  }

  void try_block(const Candidate& candidate, std::size_t placed) {
    const Block& block = blocks_[candidate.block];
    const std::int64_t end = candidate.offset + block.bytes;
    const auto first = top_.begin() + block.first, last = top_.begin() + block.last + 1;
    const std::vector<std::int64_t> saved(first, last), lowest = lowest_;
    std::fill(first, last, end);
    add_missing(block, -block.bytes);
    // Whatever the lifetime held before ends at or below `end`.
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i].first <= block.last && block.first <= blocks_[i].last)
        lowest_[i] = std::max(lowest_[i], end);
    placed_[candidate.block] = true;
    offsets_[candidate.block] = candidate.offset;
    if (fits(candidate.offset)) descend(placed + 1, candidate.offset);
    placed_[candidate.block] = false;
    std::copy(saved.begin(), saved.end(), first);
    add_missing(block, block.bytes);
    lowest_ = lowest;
  }

  void add_missing(const Block& block, std::int64_t bytes) {
    for (auto at = missing_.begin() + block.first; at <= missing_.begin() + block.last; ++at)
      *at += bytes;
  }

  // Returns true if every op can end within the limit when blocks left go at or above `floor`.
  bool fits(std::int64_t floor) {
    work_ -= static_cast<std::int64_t>(top_.size());
    for (std::size_t at = 0; at < top_.size(); ++at) {
      const std::int64_t base = missing_[at] > 0 ? std::max(top_[at], floor) : top_[at];
      if (base + missing_[at] > limit_) return false;
    }
    return true;
  }

  const std::vector<Block>& blocks_;
  const std::int64_t lower_bound_;
  std::int64_t limit_;
  std::int64_t best_ = 0;
  std::int64_t work_;
  std::vector<std::int64_t> top_;      // per op: end of what is placed
  std::vector<std::int64_t> missing_;  // per op: bytes still to place
  std::vector<std::int64_t> lowest_;   // per block: the largest top_ of its lifetime
  const std::vector<std::size_t> kinds_;
  std::vector<bool> placed_;
  Offsets offsets_, found_;
  const Order order_;
};

// Blocks of equal lifetimes as one, which leaves fewer to place. An arrangement of these is one of
// all, but not the other way round.
class Groups {
 public:
  explicit Groups(const Placement& problem) : problem_(problem), joined_(problem) {
    joined_.blocks.clear();
    std::map<std::pair<int, int>, std::size_t> known;
    for (const Block& block : problem.blocks) {
      const auto [at, is_new] = known.insert({{block.first, block.last}, joined_.blocks.size()});
      if (is_new) joined_.blocks.push_back({0, block.first, block.last});
      joined_.blocks[at->second].bytes += block.bytes;
      group_.push_back(at->second);
    }
  }

  const Placement& joined() const { return joined_; }

  Offsets split(Offsets next) const {
    Offsets offsets;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      offsets.push_back(next[group_[i]]);
      next[group_[i]] += problem_.blocks[i].bytes;
    }
    return offsets;
  }

 private:
  const Placement& problem_;
  Placement joined_;
  std::vector<std::size_t> group_;  // of each block
};

std::vector<Order> orders_of(const Placement& problem) {
  const std::vector<Block>& blocks = problem.blocks;
  const auto length = [&](std::size_t i) { return blocks[i].last - blocks[i].first; };
  return {order_by(problem, [&](std::size_t i) { return std::pair(blocks[i].bytes, length(i)); }),
          order_by(problem, [&](std::size_t i) { return std::pair(length(i), blocks[i].bytes); }),
          order_by(problem, [&](std::size_t i) { return blocks[i].bytes * (length(i) + 1); })};
}

// An arena of the lower bound: no slack at the fullest op, which ends most branches early.
SearchResult reach_bound(const Placement& problem, std::int64_t work) {
  const std::vector<Order> orders = orders_of(problem);
  const auto share = work / static_cast<std::int64_t>(orders.size());
  for (const Order& order : orders) {
    SearchResult found = Search(problem, order, problem.lower_bound, true, share).run();
    if (!found.offsets.empty() || found.proven) return found;
  }
  return {};
}

}  // namespace

SearchResult search_exactly(const Placement& problem, std::int64_t best) {
  const Groups groups(problem);
  const SearchResult joined = reach_bound(groups.joined(), kWork / 4);
  if (!joined.offsets.empty()) return {groups.split(joined.offsets), true};
  SearchResult found = reach_bound(problem, kWork / 4);
  if (!found.offsets.empty()) return found;
  return Search(problem, orders_of(problem)[0], best - 1, false, kWork / 2).run();
}

}  // namespace bf_aot
