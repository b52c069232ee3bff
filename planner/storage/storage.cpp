#include "planner/storage/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/storage/placement.h"

namespace bf_aot {
namespace {

Buffer& buffer_at(Entry& entry, BufferId id) {
  return entry.buffers.at(static_cast<std::size_t>(id));
}

// Generated code and the runtime count elements with int.
void check_count(const Buffer& buffer) {
  if (buffer.count <= std::numeric_limits<std::int32_t>::max()) return;
  fail("BF2116", "buffer " + buffer.name,
       fmt::format("{} elements are more than 2^31 - 1", buffer.count),
       "--method ibp has the smallest buffers, and --batch makes them larger");
}

bool in_arena(const Buffer& buffer) {
  return buffer.scope == CacheScope::kRun;
}

// The part of an arena that all workers share, or the part of one worker.
enum class Part : std::uint8_t { kShared, kWorker };

bool in_part(const Buffer& buffer, Part part) {
  return in_arena(buffer) && buffer.per_worker == (part == Part::kWorker);
}

std::vector<Buffer> part_buffers(const Entry& entry, Part part) {
  std::vector<Buffer> buffers;
  std::ranges::copy_if(entry.buffers, std::back_inserter(buffers),
                       [&](const Buffer& buffer) { return in_part(buffer, part); });
  return buffers;
}

StorageTotals& totals_of(Entry& entry, Part part) {
  return part == Part::kWorker ? entry.worker_storage : entry.storage;
}

// Lifetimes from the steps alone.
void measure_lifetimes(Entry& entry) {
  for (Buffer& buffer : entry.buffers) buffer.first = buffer.last = -1;
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i) {
    for (const BufferSpan& span : spans_of(entry.step(i))) {
      Buffer& buffer = buffer_at(entry, span.id);
      if (buffer.first < 0) {
        buffer.first = i;
        buffer.first_op = span.first;
      }
      buffer.last = i;
      buffer.last_op = span.last;
    }
  }
  for (const Buffer& buffer : entry.buffers) BF_CHECK(buffer.first >= 0 && buffer.count > 0);
}

// A way to place all buffers.
struct Strategy {
  std::string name;
  Offsets offsets;
  std::int64_t bytes = 0;
};

struct NamedOrder {
  std::string name;
  Order order;
};

std::vector<NamedOrder> greedy_orders(const Placement& problem) {
  const std::vector<Block>& blocks = problem.blocks;
  const auto bytes = [&](std::size_t i) { return blocks[i].bytes; };
  const auto length = [&](std::size_t i) { return blocks[i].last - blocks[i].first + 1; };
  const auto pressure = [&](std::size_t i) {  // the fullest op that it lives in
    return *std::max_element(problem.live.begin() + blocks[i].first,
                             problem.live.begin() + blocks[i].last + 1);
  };
  const auto conflict = [&](std::size_t i) {  // bytes that it must not share
    std::int64_t sum = 0;
    for (const int other : problem.neighbours[i]) sum += bytes(static_cast<std::size_t>(other));
    return sum;
  };
  const auto by = [&](const std::string& name, auto key) {
    return NamedOrder{name, order_by(problem, key)};
  };
  using Index = std::size_t;
  return {
      by("by size", [&](Index i) { return bytes(i); }),
      by("by pressure, then size", [&](Index i) { return std::pair(pressure(i), bytes(i)); }),
      by("by pressure, then lifetime", [&](Index i) { return std::pair(pressure(i), length(i)); }),
      by("by conflict", [&](Index i) { return std::pair(conflict(i), bytes(i)); }),
      by("by lifetime", [&](Index i) { return std::pair(length(i), bytes(i)); }),
      by("by area", [&](Index i) { return bytes(i) * length(i); }),
      by("by end", [&](Index i) { return std::pair(blocks[i].last, -blocks[i].first); }),
      by("in order of first use", [&](Index i) { return -blocks[i].first; }),
  };
}

// Each order with each way to fit, until one reaches the lower bound.
std::vector<Strategy> greedy_strategies(const Placement& problem) {
  std::vector<Strategy> strategies;
  for (const NamedOrder& order : greedy_orders(problem)) {
    for (const Fit fit : {Fit::kLowest, Fit::kTightest, Fit::kTwoEnds, Fit::kStack}) {
      Offsets offsets = problem.place(order.order, fit);
      const std::int64_t bytes = problem.height(offsets);
      strategies.push_back(
          {std::string(to_string(fit)) + " " + order.name, std::move(offsets), bytes});
      if (bytes == problem.lower_bound) return strategies;
    }
  }
  return strategies;
}

void take(Entry& entry, Part part, const Strategy& strategy, StorageProof otherwise) {
  auto offset = strategy.offsets.begin();
  for (Buffer& buffer : entry.buffers)
    if (in_part(buffer, part)) buffer.offset = *offset++;
  StorageTotals& totals = totals_of(entry, part);
  totals.planned_bytes = strategy.bytes;
  totals.proof = strategy.bytes == totals.lower_bound_bytes ? StorageProof::kLowerBound : otherwise;
}

void reject(const Entry& entry, Part part, const std::string& name, std::string reason,
            std::vector<Rejected>& rejected) {
  const std::string of =
      std::string(to_string(entry.kind)) + (part == Part::kWorker ? ", of each worker)" : ")");
  rejected.push_back({"storage", name + " (" + of, std::move(reason)});
}

std::string comparison(std::int64_t bytes, const std::string& best, std::int64_t best_bytes) {
  return "needs " + std::to_string(bytes) + " bytes; " + best + " needs " +
         std::to_string(best_bytes);
}

// Leaves the buffers that are no part of others, and gives their numbers to the steps.
void drop_joined(Entry& entry, std::vector<BufferId> part_of) {
  std::vector<Buffer> kept;
  std::vector<BufferId> numbers(part_of.size(), BufferId::kNone);
  for (std::size_t i = 0; i < part_of.size(); ++i) {
    if (part_of[i] != static_cast<BufferId>(i)) continue;
    numbers[i] = static_cast<BufferId>(kept.size());
    kept.push_back(entry.buffers[i]);
  }
  for (std::size_t i = 0; i < part_of.size(); ++i) {
    BufferId whole = static_cast<BufferId>(i);
    while (part_of[static_cast<std::size_t>(whole)] != whole)
      whole = part_of[static_cast<std::size_t>(whole)];
    if (numbers[i] == BufferId::kNone) numbers[i] = numbers[static_cast<std::size_t>(whole)];
  }
  for (Step& step : entry.steps) rename_buffers(step, numbers);
  for (Buffer& buffer : kept) buffer.first = buffer.last = buffer.first_op = buffer.last_op = 0;
  entry.buffers = std::move(kept);
}

}  // namespace

int reuse_in_place(Entry& entry) {
  measure_lifetimes(entry);
  const auto at = [](BufferId id) { return static_cast<std::size_t>(id); };
  std::vector<int> written(entry.buffers.size(), -1);  // last
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i)
    for (const BufferId id : access_of(entry.step(i)).writes) written[at(id)] = i;

  std::vector<BufferId> names(entry.buffers.size());  // what each buffer is now part of
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = static_cast<BufferId>(i);
  const auto root = [&](BufferId id) {
    while (names[at(id)] != id) id = names[at(id)];
    return id;
  };
  int count = 0;
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i) {
    for (const InPlace& pair : in_place_of(entry.step(i))) {
      if (pair.from == BufferId::kNone || pair.to == BufferId::kNone) continue;
      Buffer& from = buffer_at(entry, root(pair.from));
      const Buffer& to = buffer_at(entry, pair.to);
      const bool over =
          pair.equal ? written[at(pair.from)] == i && written[at(pair.to)] == i : from.last == i;
      const bool kept = !in_arena(from) || !in_arena(to);
      if (&from == &to || from.element != to.element || kept || !over || to.first != i) continue;
      from.last = std::max(from.last, to.last);
      from.count = std::max(from.count, to.count);
      from.values += to.values;
      names[at(pair.to)] = root(pair.from);
      ++count;
    }
  }
  drop_joined(entry, names);
  return count;
}

void place_apart(Entry& entry, int align) {
  measure_lifetimes(entry);
  place_measured(entry, align);
}

void place_measured(Entry& entry, int align) {
  for (const Buffer& buffer : entry.buffers) check_count(buffer);
  BF_CHECK(align > 0);
  entry.storage = entry.worker_storage = {};
  for (const Part part : {Part::kShared, Part::kWorker}) {
    StorageTotals& totals = totals_of(entry, part);
    for (Buffer& buffer : entry.buffers) {
      if (!in_part(buffer, part)) continue;
      const std::int64_t bytes = buffer.count * static_cast<std::int64_t>(size_of(buffer.element));
      buffer.bytes = (bytes + align - 1) / align * align;
      buffer.offset = totals.planned_bytes;
      totals.planned_bytes += buffer.bytes;
      totals.naive_bytes += buffer.bytes * buffer.values;
    }
    if (part == Part::kWorker && totals.planned_bytes == 0) continue;
    totals.lower_bound_bytes = fullest(part_buffers(entry, part));
    if (totals.planned_bytes == totals.lower_bound_bytes) totals.proof = StorageProof::kLowerBound;
  }
}

static void share_part(Entry& entry, Part part, std::vector<Rejected>& rejected) {
  const std::vector<Buffer> buffers = part_buffers(entry, part);
  if (buffers.empty()) return;
  const std::vector<Strategy> strategies = greedy_strategies(Placement(buffers));
  const Strategy& best = *std::ranges::min_element(strategies, {}, &Strategy::bytes);
  take(entry, part, best, StorageProof::kBestFound);
  for (const Strategy& strategy : strategies)
    if (&strategy != &best)
      reject(entry, part, strategy.name, comparison(strategy.bytes, best.name, best.bytes),
             rejected);
}

static void search_part(Entry& entry, Part part, std::vector<Rejected>& rejected) {
  const std::int64_t greedy = totals_of(entry, part).planned_bytes;
  const std::vector<Buffer> buffers = part_buffers(entry, part);
  if (buffers.empty() || totals_of(entry, part).proof == StorageProof::kLowerBound) return;
  const Placement problem(buffers);
  SearchResult found = search_exactly(problem, greedy);
  if (!found.offsets.empty()) {
    const std::int64_t bytes = problem.height(found.offsets);
    take(entry, part, {"exact search", std::move(found.offsets), bytes},
         found.proven ? StorageProof::kSearched : StorageProof::kBestFound);
    reject(entry, part, "best of the greedy orders", comparison(greedy, "exact search", bytes),
           rejected);
  } else if (found.proven) {
    totals_of(entry, part).proof = StorageProof::kSearched;
    reject(entry, part, "exact search", "finds no smaller arena: there is none", rejected);
  } else {
    reject(entry, part, "exact search", "finds no smaller arena within its budget of work",
           rejected);
  }
}

void share_storage(Entry& entry, std::vector<Rejected>& rejected) {
  for (const Part part : {Part::kShared, Part::kWorker}) share_part(entry, part, rejected);
}

void search_offsets(Entry& entry, std::vector<Rejected>& rejected) {
  for (const Part part : {Part::kShared, Part::kWorker}) search_part(entry, part, rejected);
}

void plan_storage(Entry& entry, int align, std::vector<Rejected>& rejected) {
  place_apart(entry, align);
  share_storage(entry, rejected);
  search_offsets(entry, rejected);
}

}  // namespace bf_aot
