// Cached entries: which steps calls share, what a key holds, and that verify() names what is wrong
// with them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/manifest/plan_hash.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

namespace bf_aot {
namespace {

constexpr Reuse kBoth{true, true, false};

LinearSpec difference() {
  return {{{1, -1, 0, 0, 0}}, {}, {}, {}};
}

Plan plan_controller(Method method, Reuse reuse, const LinearSpec* spec,
                     const std::string& target = "generic") {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  PassOptions passes;
  passes.spec = spec;
  normalise(model.graph, passes);
  PlannerConfig config;
  config.method = method;
  config.target = find_target(target);
  config.reuse = reuse;
  return plan(model.graph, model.info, "net", spec != nullptr, config);
}

Plan with_spec(Method method, Reuse reuse) {
  const LinearSpec spec = difference();
  return plan_controller(method, reuse, &spec);
}

Entry& entry_of(Plan& plan, EntryKind kind) {
  return const_cast<Entry&>(*plan.find_entry(kind));
}

Buffer& buffer_of(Entry& entry, CacheScope scope) {
  return *std::ranges::find(entry.buffers, scope, &Buffer::scope);
}

int steps_of(const Entry& entry) {
  return static_cast<int>(entry.steps.size());
}

TEST(PlanCache, NothingIsKeptUnlessAskedFor) {
  const Plan plan = with_spec(Method::kCrown, {});
  EXPECT_EQ(plan.find_entry(EntryKind::kBoundsCached), nullptr);
  EXPECT_TRUE(plan.cache.empty());
  EXPECT_EQ(plan.context, ContextPlan{});
}

TEST(PlanCache, CallsShareAllStepsButThoseOfTheHeads) {
  Plan plan = with_spec(Method::kCrown, {true, false, false});
  const Entry& bounds = entry_of(plan, EntryKind::kBoundsCached);
  const Entry& spec = entry_of(plan, EntryKind::kSpecBoundsCached);
  const Entry& plain = entry_of(plan, EntryKind::kBounds);
  EXPECT_EQ(bounds.steps.size(), plain.steps.size());
  EXPECT_EQ(bounds.shared_steps, steps_of(bounds) - 3) << "centre, rows and writing of the head";
  EXPECT_EQ(bounds.kept_steps, steps_of(bounds) - 1);
  EXPECT_EQ(spec.shared_steps, bounds.shared_steps);
}

TEST(PlanCache, WithoutASpecificationAllIsSharedButTheWriting) {
  Plan plan = plan_controller(Method::kCrown, {true, false, false}, nullptr);
  const Entry& bounds = entry_of(plan, EntryKind::kBoundsCached);
  EXPECT_EQ(bounds.shared_steps, steps_of(bounds) - 1);
  EXPECT_EQ(bounds.kept_steps, bounds.shared_steps);
  EXPECT_EQ(plan.find_entry(EntryKind::kSpecBoundsCached), nullptr);
}

TEST(PlanCache, AnchorsAreOfLayersWithBackwardRows) {
  const auto anchors = [](Method method) {
    Plan plan = with_spec(method, {false, true, false});
    const Entry& entry = entry_of(plan, EntryKind::kBoundsCached);
    EXPECT_TRUE(std::holds_alternative<MeetOutputs>(entry.steps.back()));
    return std::ranges::count_if(entry.steps, [](const Step& step) {
      return std::holds_alternative<MeetAnchor>(step) || std::holds_alternative<KeepAnchor>(step);
    });
  };
  EXPECT_EQ(anchors(Method::kIbp), 0);
  EXPECT_EQ(anchors(Method::kCrownIbp), 0);
  EXPECT_EQ(anchors(Method::kCrown), 10);
  const Plan plan = with_spec(Method::kIbp, kBoth);
  EXPECT_TRUE(std::ranges::any_of(
      plan.rejected, [](const Rejected& rejected) { return rejected.slot == "cache"; }));
}

TEST(PlanCache, EveryPlaceInTheContextHasAKey) {
  for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown}) {
    const Plan plan = with_spec(method, kBoth);
    std::set<std::string> listed, keys;
    for (const CacheEntry& entry : plan.cache) {
      EXPECT_TRUE(listed.insert(entry.name).second) << entry.name;
      EXPECT_EQ(entry.scope, plan.context.find(entry.name)->scope) << entry.name;
      EXPECT_EQ(entry.box == BoxMatch::kSame, entry.scope == CacheScope::kEpoch) << entry.name;
    }
    EXPECT_EQ(listed.size() + 4, plan.context.buffers.size()) << "besides the two boxes";
  }
}

// Whatever a key depends on changes it.
TEST(PlanCache, KeysChangeWithEachOfTheirParts) {
  const CacheEntry one{"z",   CacheScope::kEpoch, "relax z", Domain::kInterval,
                       false, BoxMatch::kSame};
  std::set<std::string> keys = {cache_key(one)};
  CacheEntry other = one;
  other.task = "relax y";
  EXPECT_TRUE(keys.insert(cache_key(other)).second);
  other = one;
  other.domain = Domain::kBackward;
  EXPECT_TRUE(keys.insert(cache_key(other)).second);
  other = one;
  other.spec = true;
  EXPECT_TRUE(keys.insert(cache_key(other)).second);
  other = one;
  other.box = BoxMatch::kInside;
  EXPECT_TRUE(keys.insert(cache_key(other)).second);
}

TEST(PlanCache, FingerprintsChangeWithThePlan) {
  std::set<std::uint64_t> seen;
  const auto is_new = [&](const Plan& plan) {
    return seen.insert(plan.context.fingerprint).second;
  };
  EXPECT_TRUE(is_new(with_spec(Method::kCrown, kBoth)));
  EXPECT_FALSE(is_new(with_spec(Method::kCrown, kBoth)));
  EXPECT_TRUE(is_new(with_spec(Method::kCrownIbp, kBoth))) << "domain";
  EXPECT_TRUE(is_new(with_spec(Method::kCrown, {true, false, false}))) << "options";
  EXPECT_TRUE(is_new(plan_controller(Method::kCrown, kBoth, nullptr))) << "specification";
  LinearSpec spec = difference();
  spec.rows[0][1] = -2;
  EXPECT_TRUE(is_new(plan_controller(Method::kCrown, kBoth, &spec))) << "specification's numbers";
  spec.rows.push_back(spec.rows[0]);
  EXPECT_TRUE(is_new(plan_controller(Method::kCrown, kBoth, &spec))) << "shape";
  EXPECT_TRUE(is_new(plan_controller(Method::kCrown, kBoth, &spec, "cortex-m4"))) << "target";
}

TEST(PlanCache, FingerprintsChangeWithEveryWeight) {
  Plan plan = with_spec(Method::kCrown, kBoth);
  std::set<std::uint64_t> seen = {plan_hash(plan)};
  for (Layer& layer : plan.layers) {
    layer.weight.back() += 1;
    EXPECT_TRUE(seen.insert(plan_hash(plan)).second) << layer.name;
    layer.bias.front() += 1;
    EXPECT_TRUE(seen.insert(plan_hash(plan)).second) << layer.name;
  }
}

TEST(PlanCache, SlopesArePersistentAndTakeHalfTheIterations) {
  Plan plan = with_spec(Method::kAlphaCrown, {true, true, true});
  for (const EntryKind kind : {EntryKind::kBoundsCached, EntryKind::kSpecBoundsCached}) {
    int optimised = 0;
    const Entry& entry = entry_of(plan, kind);
    for (const Step& step : entry.steps) {
      const auto* const rows = std::get_if<BackwardRows>(&step);
      if (rows == nullptr || rows->iterations == 0) continue;
      ++optimised;
      EXPECT_EQ(rows->warm_iterations, rows->iterations / 2);
      for (const BackwardLink& link : rows->links) {
        if (link.slopes.slope == BufferId::kNone) continue;
        const Buffer& slopes = entry.buffer(link.slopes.slope);
        EXPECT_EQ(slopes.scope, CacheScope::kPersistent);
        EXPECT_GE(slopes.count,
                  2 * plan.layer(rows->layer).out * std::int64_t{plan.layer(link.layer).out});
      }
    }
    EXPECT_EQ(optimised, 1);
  }
  EXPECT_TRUE(std::ranges::any_of(
      plan.cache, [](const CacheEntry& entry) { return entry.box == BoxMatch::kAny; }));
}

TEST(PlanCache, OtherMethodsHaveNoSlopesToKeep) {
  const Plan plan = with_spec(Method::kCrown, {false, false, true});
  EXPECT_TRUE(plan.cache.empty());
  EXPECT_EQ(std::ranges::count(plan.rejected, "cache", &Rejected::slot), 2);
}

// ---- what verify() must notice

TEST(PlanCacheVerify, OverlappingPlaces) {
  Plan plan = with_spec(Method::kCrown, kBoth);
  plan.context.buffers[3].offset = plan.context.buffers[2].offset;
  EXPECT_DEATH(verify(plan), "overlaps|is not that of the context");
}

TEST(PlanCacheVerify, AnEntryWithAPlaceOfItsOwn) {
  Plan plan = with_spec(Method::kCrown, kBoth);
  buffer_of(entry_of(plan, EntryKind::kSpecBoundsCached), CacheScope::kEpoch).offset += 64;
  EXPECT_DEATH(verify(plan), "is not that of the context");
}

TEST(PlanCacheVerify, APlainEntryThatKeepsSomething) {
  Plan plan = with_spec(Method::kCrown, kBoth);
  const Buffer kept = buffer_of(entry_of(plan, EntryKind::kBoundsCached), CacheScope::kEpoch);
  Entry& plain = entry_of(plan, EntryKind::kBounds);
  std::ranges::find(plain.buffers, kept.name, &Buffer::name)->scope = CacheScope::kEpoch;
  EXPECT_DEATH(verify(plan), "survives a call|storage totals");
}

// A part that is left out leaves its RUN buffers as they were.
TEST(PlanCacheVerify, APartThatReadsWhatIsNotKept) {
  Plan plan = with_spec(Method::kCrown, {true, false, false});
  for (Entry& entry : plan.entries) {
    if (!is_cached(entry.kind)) continue;
    entry.shared_steps -= 1;
  }
  EXPECT_DEATH(verify(plan), "reads '.*' of a part that may be left out|overwrites");
}

TEST(PlanCacheVerify, SharedStepsThatDiffer) {
  Plan plan = with_spec(Method::kCrown, {true, false, false});
  Entry& entry = entry_of(plan, EntryKind::kSpecBoundsCached);
  for (Step& step : entry.steps)
    if (auto* relax = std::get_if<Relax>(&step)) relax->slope *= 2;
  EXPECT_DEATH(verify(plan), "share steps that differ");
}

TEST(PlanCacheVerify, SomethingBehindTheOutputs) {
  Plan plan = with_spec(Method::kCrown, {false, true, false});
  Entry& entry = entry_of(plan, EntryKind::kBoundsCached);
  std::swap(entry.steps.back(), entry.steps[entry.steps.size() - 2]);
  EXPECT_DEATH(verify(plan, PlanStage::kEntries), "follows what meets the outputs");
}

TEST(PlanCacheVerify, EntriesWithoutAContext) {
  Plan plan = with_spec(Method::kCrown, kBoth);
  plan.context = {};
  EXPECT_DEATH(verify(plan), "no place in the context|without an entry");
}

}  // namespace
}  // namespace bf_aot
