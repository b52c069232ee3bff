#include "planner/storage/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

using Moment = std::pair<int, int>;  // step, op

// Ops after which some buffer dies, just before which another has come to life.
std::vector<Moment> fullest_moments(const std::vector<Buffer>& buffers) {
  std::set<Moment> starts, ends;
  for (const Buffer& b : buffers) {
    starts.insert({b.first, b.first_op});
    ends.insert({b.last, b.last_op});
  }
  // In each run of starts without an end between them the last is the fullest: all that lives at
  // the others lives there as well.
  std::vector<Moment> moments;
  for (auto start = starts.begin(); start != starts.end(); ++start) {
    const auto next = std::next(start);
    const auto end = ends.lower_bound(*start);
    if (next == starts.end() || (end != ends.end() && *end < *next)) moments.push_back(*start);
  }
  return moments;
}

// The offset at which a block goes between the sorted ranges that are taken.
std::int64_t find_gap(const std::vector<std::pair<std::int64_t, std::int64_t>>& taken,
                      std::int64_t bytes, std::int64_t bound, Fit fit, bool high) {
  std::int64_t end = 0;  // of what is taken so far
  std::int64_t best = -1;
  std::int64_t best_width = std::numeric_limits<std::int64_t>::max();
  for (const auto& [begin, stop] : taken) {
    const std::int64_t width = begin - end;
    const bool fits = width >= bytes;
    if (fits && high) {
      best = begin - bytes;
    } else if (fits && (best < 0 || (fit == Fit::kTightest && width < best_width))) {
      best = end;
      best_width = width;
    }
    end = std::max(end, stop);
  }
  if (high && bound - end >= bytes) return bound - bytes;
  return best >= 0 ? best : end;
}

}  // namespace

std::string_view to_string(Fit fit) {
  switch (fit) {
    case Fit::kLowest:
      return "first fit";
    case Fit::kTightest:
      return "best fit";
    case Fit::kTwoEnds:
      return "from both ends";
    case Fit::kStack:
      return "stack";
  }
  BF_CHECK(!"a Fit");
  return {};
}

std::int64_t fullest(const std::vector<Buffer>& buffers) {
  std::map<Moment, std::int64_t> change;
  for (const Buffer& b : buffers) {
    change[{b.first, b.first_op}] += b.bytes;
    change[{b.last, b.last_op + 1}] -= b.bytes;
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [moment, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

Placement::Placement(const std::vector<Buffer>& buffers) {
  const std::vector<Moment> moments = fullest_moments(buffers);
  live.assign(moments.size() + 1, 0);  // first: what changes
  for (const Buffer& b : buffers) {
    const auto begin =
        std::lower_bound(moments.begin(), moments.end(), Moment{b.first, b.first_op});
    const auto end = std::upper_bound(begin, moments.end(), Moment{b.last, b.last_op});
    blocks.push_back({b.bytes, static_cast<int>(begin - moments.begin()),
                      static_cast<int>(end - moments.begin()) - 1});
    live[static_cast<std::size_t>(begin - moments.begin())] += b.bytes;
    live[static_cast<std::size_t>(end - moments.begin())] -= b.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  for (const std::int64_t bytes : live) lower_bound = std::max(lower_bound, bytes);
  find_neighbours();
}

// Each block with those that live when its own life begins.
void Placement::find_neighbours() {
  neighbours.resize(blocks.size());
  const auto block = [&](int i) -> const Block& { return blocks[static_cast<std::size_t>(i)]; };
  std::vector<int> alive;
  for (const int i : order_by(*this, [&](std::size_t at) { return -blocks[at].first; })) {
    std::erase_if(alive, [&](int j) { return block(j).last < block(i).first; });
    for (const int j : alive) {
      neighbours[static_cast<std::size_t>(i)].push_back(j);
      neighbours[static_cast<std::size_t>(j)].push_back(i);
    }
    alive.push_back(i);
  }
}

std::int64_t Placement::height(const Offsets& offsets) const {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) end = std::max(end, offsets[i] + blocks[i].bytes);
  return end;
}

Offsets Placement::place(const Order& order, Fit fit) const {
  const auto is_high = [&](const Block& block) {
    if (fit == Fit::kStack) return block.last + 1 < static_cast<int>(live.size());
    if (fit != Fit::kTwoEnds) return false;
    return std::find(live.begin() + block.first, live.begin() + block.last + 1, lower_bound) ==
           live.begin() + block.last + 1;
  };
  constexpr std::int64_t kUnplaced = -1;
  Offsets offsets(blocks.size(), kUnplaced);
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // [begin, end)
  for (const int index : order) {
    const auto current = static_cast<std::size_t>(index);
    taken.clear();
    for (const int other : neighbours[current]) {
      const auto j = static_cast<std::size_t>(other);
      if (offsets[j] >= 0) taken.emplace_back(offsets[j], offsets[j] + blocks[j].bytes);
    }
    std::sort(taken.begin(), taken.end());
    const bool high = is_high(blocks[current]);
    offsets[current] = find_gap(taken, blocks[current].bytes, lower_bound, fit, high);
  }
  return offsets;
}

}  // namespace bf_aot
