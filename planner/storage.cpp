#include "planner/storage.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf {
namespace {

using Offsets = std::vector<std::int64_t>;
using Order = std::vector<int>;

// Nodes that the exact search may visit; a few milliseconds on the plans of real networks.
constexpr int kSearchNodes = 50'000;

// Steps of the climb.
constexpr int kClimbSteps = 2'000;

bool in_arena(const Buffer& buffer) {
  return buffer.scope == CacheScope::kRun;
}

// Sizes, then lifetimes, from the steps alone.
void measure(Entry& entry, int align) {
  for (Buffer& buffer : entry.buffers) {
    const std::int64_t bytes = buffer.count * static_cast<std::int64_t>(size_of(buffer.element));
    buffer.bytes = (bytes + align - 1) / align * align;
    buffer.first = -1;
    buffer.last = -1;
  }
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i) {
    const Access access = access_of(entry.steps[static_cast<std::size_t>(i)]);
    for (const auto& list : {access.reads, access.writes}) {
      for (BufferId id : list) {
        Buffer& buffer = entry.buffers.at(static_cast<std::size_t>(id));
        if (buffer.first < 0) buffer.first = i;
        buffer.last = i;
      }
    }
  }
  for (const Buffer& buffer : entry.buffers) BF_CHECK(buffer.first >= 0 && buffer.bytes > 0);
}

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Bytes of all buffers alive, per step.
std::vector<std::int64_t> live_bytes(const Entry& entry) {
  std::vector<std::int64_t> live(entry.steps.size(), 0);
  for (const Buffer& buffer : entry.buffers)
    for (int step = buffer.first; step <= buffer.last; ++step)
      live[static_cast<std::size_t>(step)] += buffer.bytes;
  return live;
}

std::int64_t height(const std::vector<Buffer>& buffers, const Offsets& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    end = std::max(end, offsets[i] + buffers[i].bytes);
  return end;
}

// ---- Greedy: in some order, each buffer goes to the lowest, or the tightest, gap between those
// already placed that are alive with it.

enum class Gap { kLowest, kTightest };

Offsets place(const std::vector<Buffer>& buffers, const Order& order, Gap gap) {
  Offsets offsets(buffers.size(), 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // [begin, end)
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto current = static_cast<std::size_t>(order[i]);
    const std::int64_t bytes = buffers[current].bytes;
    taken.clear();
    for (std::size_t j = 0; j < i; ++j) {
      const auto other = static_cast<std::size_t>(order[j]);
      if (live_together(buffers[current], buffers[other]))
        taken.emplace_back(offsets[other], offsets[other] + buffers[other].bytes);
    }
    std::sort(taken.begin(), taken.end());

    std::int64_t end = 0;  // of what is taken so far
    std::int64_t best = -1;
    std::int64_t best_width = std::numeric_limits<std::int64_t>::max();
    for (const auto& [begin, stop] : taken) {
      const std::int64_t width = begin - end;
      if (width >= bytes && width < best_width && (best < 0 || gap == Gap::kTightest)) {
        best = end;
        best_width = width;
      }
      end = std::max(end, stop);
    }
    offsets[current] = best >= 0 ? best : end;
  }
  return offsets;
}

// Indices sorted by falling key; ties in the given order.
template <typename Key>
Order order_by(const std::vector<Buffer>& buffers, Key key) {
  Order order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return key(static_cast<std::size_t>(a)) > key(static_cast<std::size_t>(b));
  });
  return order;
}

struct Strategy {
  std::string name;
  Offsets offsets;
  std::int64_t bytes = 0;
};

std::vector<Strategy> greedy_strategies(const Entry& entry) {
  const std::vector<Buffer>& buffers = entry.buffers;
  const std::vector<std::int64_t> live = live_bytes(entry);
  const auto length = [&](std::size_t i) { return buffers[i].last - buffers[i].first + 1; };
  const auto pressure = [&](std::size_t i) {  // the fullest step that it lives in
    return *std::max_element(live.begin() + buffers[i].first, live.begin() + buffers[i].last + 1);
  };

  const std::vector<std::pair<std::string, Order>> orders = {
      {"by size", order_by(buffers, [&](std::size_t i) { return buffers[i].bytes; })},
      {"by lifetime",
       order_by(buffers, [&](std::size_t i) { return std::pair(length(i), buffers[i].bytes); })},
      {"by area", order_by(buffers, [&](std::size_t i) { return buffers[i].bytes * length(i); })},
      {"by pressure",
       order_by(buffers, [&](std::size_t i) { return std::pair(pressure(i), buffers[i].bytes); })},
      {"in order of first use",
       order_by(buffers, [&](std::size_t i) { return -buffers[i].first; })},
  };
  std::vector<Strategy> strategies;
  for (const auto& [name, order] : orders) {
    for (Gap gap : {Gap::kLowest, Gap::kTightest}) {
      Offsets offsets = place(buffers, order, gap);
      const std::int64_t bytes = height(buffers, offsets);
      strategies.push_back(
          {(gap == Gap::kLowest ? "first fit " : "best fit ") + name, std::move(offsets), bytes});
    }
  }
  return strategies;
}

// ---- Climb: whoever reaches the arena's end trades places in the order with a buffer that was
// placed before it and lives with it. Growth is tolerated, by 1/32 of the bound at first and less
// with every step (threshold accepting), so that the walk leaves dead ends.

Strategy climb(const std::vector<Buffer>& buffers, Order order, std::int64_t lower_bound) {
  std::uint32_t state = 1;  // an LCG (Numerical Recipes): the same walk on every machine
  const auto pick = [&](std::size_t count) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::size_t>(state >> 8U) % count;
  };
  Offsets offsets = place(buffers, order, Gap::kLowest);
  Strategy best{"climb", offsets, height(buffers, offsets)};
  std::int64_t current = best.bytes;
  for (int i = 0; i < kClimbSteps && best.bytes > lower_bound; ++i) {
    std::vector<std::size_t> highest, earlier;  // positions in the order
    for (std::size_t at = 0; at < order.size(); ++at) {
      const auto buffer = static_cast<std::size_t>(order[at]);
      if (offsets[buffer] + buffers[buffer].bytes == current) highest.push_back(at);
    }
    const std::size_t moved = highest[pick(highest.size())];
    const Buffer& top = buffers[static_cast<std::size_t>(order[moved])];
    for (std::size_t at = 0; at < moved; ++at)
      if (live_together(buffers[static_cast<std::size_t>(order[at])], top)) earlier.push_back(at);
    if (earlier.empty()) break;

    Order next = order;
    std::swap(next[moved], next[earlier[pick(earlier.size())]]);
    Offsets next_offsets = place(buffers, next, Gap::kLowest);
    const std::int64_t bytes = height(buffers, next_offsets);
    const std::int64_t tolerated = lower_bound / 32 * (kClimbSteps - i) / kClimbSteps;
    if (bytes > current + tolerated) continue;
    order = std::move(next);
    offsets = std::move(next_offsets);
    current = bytes;
    if (bytes < best.bytes) best = {"climb", offsets, bytes};
  }
  return best;
}

// ---- Exact: in an arena where nothing can sink, every buffer rests on those below it. Placing
// buffers by rising offset, each on top of what its lifetime already holds, therefore reaches a
// smallest arena. A branch ends when some step can no longer hold what it still must.

class Search {
 public:
  Search(const Entry& entry, std::int64_t lower_bound, std::int64_t best)
      : buffers_(entry.buffers),
        lower_bound_(lower_bound),
        best_(best),
        top_(entry.steps.size(), 0),
        missing_(live_bytes(entry)),
        placed_(entry.buffers.size(), false),
        offsets_(entry.buffers.size(), 0),
        order_(order_by(entry.buffers, [&](std::size_t i) {
          return std::pair(entry.buffers[i].bytes, entry.buffers[i].last - entry.buffers[i].first);
        })) {}

  // Offsets of an arena smaller than `best`; empty when none was found.
  Offsets run() {
    descend(0, 0);
    return found_;
  }

  bool complete() const { return nodes_ < kSearchNodes; }  // the answer is proven

 private:
  void descend(std::size_t placed, std::int64_t floor) {
    if (placed == buffers_.size()) {
      best_ = height(buffers_, offsets_);
      found_ = offsets_;
      return;
    }
    for (const auto& [offset, i] : candidates(floor)) {
      if (best_ == lower_bound_ || nodes_ >= kSearchNodes) return;
      ++nodes_;
      try_buffer(i, offset, placed);
    }
  }

  // Where each buffer left would go, lowest first; of equal buffers only one.
  std::vector<std::pair<std::int64_t, std::size_t>> candidates(std::int64_t floor) const {
    std::vector<std::pair<std::int64_t, std::size_t>> list;
    for (int index : order_) {
      const auto i = static_cast<std::size_t>(index);
      if (placed_[i]) continue;
      const Buffer& buffer = buffers_[i];
      const bool seen = std::any_of(list.begin(), list.end(), [&](const auto& other) {
        const Buffer& b = buffers_[other.second];
        return b.bytes == buffer.bytes && b.first == buffer.first && b.last == buffer.last;
      });
      if (seen) continue;
      const std::int64_t offset =
          *std::max_element(top_.begin() + buffer.first, top_.begin() + buffer.last + 1);
      if (offset >= floor) list.emplace_back(offset, i);
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return list;
  }

  void try_buffer(std::size_t i, std::int64_t offset, std::size_t placed) {
    const auto first = static_cast<std::size_t>(buffers_[i].first);
    const auto last = static_cast<std::size_t>(buffers_[i].last);
    const std::vector<std::int64_t> saved(top_.begin() + buffers_[i].first,
                                          top_.begin() + buffers_[i].last + 1);
    for (std::size_t step = first; step <= last; ++step) {
      top_[step] = offset + buffers_[i].bytes;
      missing_[step] -= buffers_[i].bytes;
    }
    placed_[i] = true;
    offsets_[i] = offset;
    if (fits(offset)) descend(placed + 1, offset);
    placed_[i] = false;
    for (std::size_t step = first; step <= last; ++step) {
      top_[step] = saved[step - first];
      missing_[step] += buffers_[i].bytes;
    }
  }

  // What is left goes at or above `floor`: can every step still end below the best known?
  bool fits(std::int64_t floor) const {
    for (std::size_t step = 0; step < top_.size(); ++step) {
      const std::int64_t base = missing_[step] > 0 ? std::max(top_[step], floor) : top_[step];
      if (base + missing_[step] >= best_) return false;
    }
    return true;
  }

  const std::vector<Buffer>& buffers_;
  const std::int64_t lower_bound_;
  std::int64_t best_;
  std::vector<std::int64_t> top_;      // per step: end of what is placed
  std::vector<std::int64_t> missing_;  // per step: bytes still to place
  std::vector<bool> placed_;
  Offsets offsets_, found_;
  const Order order_;
  int nodes_ = 0;
};

// Adds strategies that need less than the greedy ones, while the lower bound is out of reach.
void improve(const Entry& entry, std::vector<Strategy>& strategies, std::string& note) {
  const std::int64_t bound = entry.storage.lower_bound_bytes;
  const auto best = [&] {
    return *std::min_element(
        strategies.begin(), strategies.end(),
        [](const Strategy& a, const Strategy& b) { return a.bytes < b.bytes; });
  };
  const Strategy greedy = best();
  if (greedy.bytes == bound) return;

  Search search(entry, bound, greedy.bytes);
  Offsets offsets = search.run();
  if (offsets.empty()) {
    note = search.complete() ? "finds no smaller arena: there is none"
                             : "finds no smaller arena within its node limit";
    if (search.complete()) return;
  } else {
    const std::int64_t bytes = height(entry.buffers, offsets);
    strategies.push_back({"exact search", std::move(offsets), bytes});
    if (bytes == bound || search.complete()) return;
  }
  const Strategy start = best();
  Order order = order_by(entry.buffers, [&](std::size_t i) { return -start.offsets[i]; });
  strategies.push_back(climb(entry.buffers, std::move(order), bound));
}

// Places all buffers of a measured entry.
void place_all(Entry& entry, std::vector<Rejected>& rejected) {
  if (entry.buffers.empty()) return;

  StorageTotals& totals = entry.storage;
  for (const Buffer& buffer : entry.buffers) totals.naive_bytes += buffer.bytes;
  const std::vector<std::int64_t> live = live_bytes(entry);
  totals.lower_bound_bytes = *std::max_element(live.begin(), live.end());

  std::vector<Strategy> strategies = greedy_strategies(entry);
  std::string note;
  improve(entry, strategies, note);
  const auto best =
      std::min_element(strategies.begin(), strategies.end(),
                       [](const Strategy& a, const Strategy& b) { return a.bytes < b.bytes; });

  totals.planned_bytes = best->bytes;
  for (std::size_t i = 0; i < entry.buffers.size(); ++i) entry.buffers[i].offset = best->offsets[i];

  const std::string where = " (" + std::string(to_string(entry.kind)) + ")";
  for (auto strategy = strategies.begin(); strategy != strategies.end(); ++strategy) {
    if (strategy == best) continue;
    rejected.push_back({"storage", strategy->name + where,
                        "needs " + std::to_string(strategy->bytes) + " bytes; " + best->name +
                            " needs " + std::to_string(best->bytes)});
  }
  if (!note.empty()) rejected.push_back({"storage", "exact search" + where, note});
}

}  // namespace

// Buffers of the context have their places already.
void plan_storage(Entry& entry, int align, std::vector<Rejected>& rejected) {
  BF_CHECK(align > 0);
  measure(entry, align);
  Entry run;
  run.kind = entry.kind;
  run.steps = entry.steps;
  std::ranges::copy_if(entry.buffers, std::back_inserter(run.buffers), in_arena);
  place_all(run, rejected);
  entry.storage = run.storage;
  auto placed = run.buffers.begin();
  for (Buffer& buffer : entry.buffers)
    if (in_arena(buffer)) buffer.offset = (placed++)->offset;
}

}  // namespace bf
