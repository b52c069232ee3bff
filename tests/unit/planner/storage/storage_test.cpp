#include "planner/storage/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "frontend/diagnostic.h"
#include "planner/verify/verify.h"
#include "tests/unit/planner/toy.h"

namespace bf_aot {
namespace {

struct Interval {
  int first, last;
  std::int64_t floats;
};

// Steps that touch each buffer at the ends of its interval alone, in one op.
Entry entry_of(const std::vector<Interval>& intervals) {
  Entry entry;
  int steps = 1;
  for (const Interval& i : intervals) steps = std::max(steps, i.last + 1);
  std::vector<CentreSum> touches(static_cast<std::size_t>(steps));
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.count = intervals[i].floats;
    entry.buffers.push_back(buffer);
    SumPart part;
    part.centre_in = static_cast<BufferId>(i);
    touches[static_cast<std::size_t>(intervals[i].first)].parts.push_back(part);
    touches[static_cast<std::size_t>(intervals[i].last)].parts.push_back(part);
  }
  for (const CentreSum& step : touches) entry.steps.emplace_back(step);
  return entry;
}

std::vector<Interval> random_intervals(int count, int steps, std::mt19937& random) {
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    const int a = static_cast<int>(random() % static_cast<unsigned>(steps));
    const int b = static_cast<int>(random() % static_cast<unsigned>(steps));
    intervals.push_back({std::min(a, b), std::max(a, b), 1 + static_cast<int>(random() % 40)});
  }
  return intervals;
}

void expect_legal(const Entry& entry, const std::vector<Interval>& intervals, int align) {
  std::int64_t end = 0, sum = 0;
  for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
    const Buffer& a = entry.buffers[i];
    EXPECT_EQ(a.first, intervals[i].first);
    EXPECT_EQ(a.last, intervals[i].last);
    EXPECT_GE(a.offset, 0);
    EXPECT_EQ(a.offset % align, 0);
    EXPECT_EQ(a.bytes % align, 0);
    EXPECT_GE(a.bytes, 4 * intervals[i].floats);
    EXPECT_LT(a.bytes, 4 * intervals[i].floats + align);
    end = std::max(end, a.offset + a.bytes);
    sum += a.bytes;
    for (std::size_t j = 0; j < i; ++j) {
      const Buffer& b = entry.buffers[j];
      if (intervals[i].first <= intervals[j].last && intervals[j].first <= intervals[i].last) {
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << a.name << " and " << b.name;
      }
    }
  }
  EXPECT_EQ(entry.storage.planned_bytes, end);
  EXPECT_EQ(entry.storage.naive_bytes, sum);
  EXPECT_GE(entry.storage.planned_bytes, entry.storage.lower_bound_bytes);
}

TEST(Storage, RandomLifetimesAreLegalAndNearTheBound) {
  std::mt19937 random(7);
  double total_planned = 0, total_bound = 0;
  for (int i = 0; i < 500; ++i) {
    const int align = 1 << (2 + random() % 5);
    const auto intervals = random_intervals(1 + static_cast<int>(random() % 25),
                                            2 + static_cast<int>(random() % 20), random);
    Entry entry = entry_of(intervals);
    std::vector<Rejected> rejected;
    plan_storage(entry, align, rejected);
    expect_legal(entry, intervals, align);
    total_planned += static_cast<double>(entry.storage.planned_bytes);
    total_bound += static_cast<double>(entry.storage.lower_bound_bytes);
  }
  EXPECT_LE(total_planned, 1.01 * total_bound);
}

// Of all orders of placing each buffer in the lowest gap: some order gives a smallest arena.
std::int64_t smallest_arena(const Entry& entry) {
  std::vector<std::size_t> order(entry.buffers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  do {
    std::vector<std::int64_t> offset(order.size(), 0);
    std::int64_t end = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Buffer& a = entry.buffers[order[i]];
      std::int64_t& at = offset[order[i]];
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t j = 0; j < i; ++j) {
          const Buffer& b = entry.buffers[order[j]];
          const bool together = a.first <= b.last && b.first <= a.last;
          if (together && at < offset[order[j]] + b.bytes && offset[order[j]] < at + a.bytes) {
            at = offset[order[j]] + b.bytes;
            moved = true;
          }
        }
      }
      end = std::max(end, at + a.bytes);
    }
    best = std::min(best, end);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

bool mentions(const std::vector<Rejected>& rejected, const std::string& text) {
  return std::ranges::any_of(rejected, [&](const Rejected& candidate) {
    return candidate.reason.find(text) != std::string::npos;
  });
}

TEST(Storage, ManyLifetimesReachTheBound) {
  std::mt19937 random(13);
  int searches = 0;
  for (int i = 0; i < 40; ++i) {
    const auto intervals = random_intervals(200, 30, random);
    Entry entry = entry_of(intervals);
    std::vector<Rejected> rejected;
    plan_storage(entry, 16, rejected);
    expect_legal(entry, intervals, 16);
    EXPECT_EQ(entry.storage.proof, StorageProof::kLowerBound) << i;
    searches += mentions(rejected, "exact search needs ") ? 1 : 0;
  }
  EXPECT_GT(searches, 0);  // the greedy orders alone do not do it
}

TEST(Storage, SmallCasesAreOptimal) {
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    Entry entry = entry_of(random_intervals(6, 6, random));
    std::vector<Rejected> rejected;
    plan_storage(entry, 4, rejected);
    EXPECT_EQ(entry.storage.planned_bytes, smallest_arena(entry)) << i;
    EXPECT_EQ(entry.storage.proof, entry.storage.planned_bytes == entry.storage.lower_bound_bytes
                                       ? StorageProof::kLowerBound
                                       : StorageProof::kSearched);
  }
}

TEST(Storage, SearchBeatsGreedyAndSaysSo) {
  std::mt19937 random(3);
  int searches = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto intervals = random_intervals(14, 10, random);
    Entry entry = entry_of(intervals), again = entry_of(intervals);
    std::vector<Rejected> rejected, rejected_again;
    plan_storage(entry, 4, rejected);
    plan_storage(again, 4, rejected_again);
    EXPECT_EQ(entry, again);
    EXPECT_EQ(rejected, rejected_again);
    searches += mentions(rejected, "exact search needs ") ? 1 : 0;
    for (const Rejected& r : rejected) {
      EXPECT_EQ(r.slot, "storage");
      EXPECT_NE(r.candidate.find("(bounds)"), std::string::npos);
    }
  }
  EXPECT_GT(searches, 0);
}

TEST(Storage, PlansOfRealWidthsReachTheBound) {
  const std::vector<std::vector<int>> networks = {
      {5, 50, 50, 50, 50, 50, 50, 5}, {64, 64, 64, 10}, {2, 3, 2}, {200, 64, 32, 16, 8, 1}};
  std::mt19937 random(5);
  for (const auto& widths : networks) {
    for (Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
      const Plan plan = testing::toy_plan(method, testing::random_chain(widths, random));
      verify(plan);
      for (const Entry& entry : plan.entries)
        EXPECT_LE(entry.storage.planned_bytes * 20, entry.storage.lower_bound_bytes * 21)
            << to_string(method) << " " << widths.size();
    }
  }
}

TEST(Storage, AnEntryWithoutBuffersNeedsNothing) {
  Entry entry;
  entry.steps.emplace_back(EvaluateAffine{});
  entry.storage.planned_bytes = 7;
  std::vector<Rejected> rejected;
  plan_storage(entry, 16, rejected);
  EXPECT_EQ(entry.storage, (StorageTotals{0, 0, 0, StorageProof::kLowerBound}));
  EXPECT_TRUE(rejected.empty());
}

TEST(Storage, ABufferThatNoStepTouchesIsABug) {
  Entry entry = entry_of({{0, 1, 4}});
  entry.buffers.push_back(entry.buffers[0]);
  std::vector<Rejected> rejected;
  EXPECT_DEATH(plan_storage(entry, 16, rejected), "buffer.first >= 0");
}

TEST(Storage, RefusesBuffersThatIntsCannotCount) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  Entry entry = entry_of({{0, 1, kMost}});
  place_apart(entry, 64);
  EXPECT_GE(entry.buffers[0].bytes, 4 * kMost);
  entry = entry_of({{0, 1, 8}, {0, 1, kMost + 1}});
  try {
    place_apart(entry, 64);
    FAIL() << "placed";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF2116");
    EXPECT_EQ(error.diagnostics().at(0).where, "buffer b1");
  }
}

}  // namespace
}  // namespace bf_aot
