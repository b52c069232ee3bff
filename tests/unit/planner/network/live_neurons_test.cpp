#include "runtime/bf/core/live_neurons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/unit/frontend/graph/graph_builder.h"

// Lists of live neurons: which layers have them, what reads them, what verify() finds wrong.
namespace bf_aot {
namespace {

Plan plan_of(const std::vector<std::int64_t>& sizes, Method method,
             const char* target = "x86-64-v4") {
  PlannerConfig config;
  config.method = method;
  config.target = find_target(target);
  return plan(testing::dense_chain(sizes), {}, "net", false, config);
}

template <typename StepKind>
std::vector<StepKind*> steps_of(Entry& entry) {
  std::vector<StepKind*> found;
  for (Step& step : entry.steps)
    if (auto* const one = std::get_if<StepKind>(&step)) found.push_back(one);
  return found;
}

std::vector<LayerId> listed(Plan plan) {
  std::vector<LayerId> layers;
  for (const ListLive* list : steps_of<ListLive>(plan.entries[0])) layers.push_back(list->layer);
  return layers;
}

TEST(LiveLists, AreOfHiddenLayersThatGainByThem) {
  const std::vector<std::int64_t> sizes = {4, 80, 90, 80, 10};  // few rows pass the last layers
  EXPECT_EQ(listed(plan_of(sizes, Method::kCrown)), (std::vector<LayerId>{0, 1}));
  EXPECT_EQ(listed(plan_of(sizes, Method::kCrownIbp)), (std::vector<LayerId>{}));
  EXPECT_EQ(listed(plan_of({4, 400, 400, 10}, Method::kCrownIbp)), (std::vector<LayerId>{0, 1}));
  EXPECT_EQ(listed(plan_of({4, 400, 15, 400, 400, 10}, Method::kCrown)),
            (std::vector<LayerId>{0, 2, 3}));
  EXPECT_EQ(listed(plan_of(sizes, Method::kCrown, "generic")), (std::vector<LayerId>{}));
  EXPECT_EQ(listed(plan_of(sizes, Method::kIbp)), (std::vector<LayerId>{}));
  EXPECT_EQ(listed(plan_of({4, 40, 512, 40, 5}, Method::kIbp)), (std::vector<LayerId>{0}));
}

// A link leaves out its own neurons, and the columns of those that the link below it leaves out.
TEST(LiveLists, AreReadByTheLinksOfBothLayers) {
  Plan plan = plan_of({4, 80, 128, 80, 10}, Method::kCrown);
  Entry& entry = plan.entries[0];
  const std::vector<ListLive*> lists = steps_of<ListLive>(entry);
  ASSERT_EQ(lists.size(), 2U);
  const BackwardRows& head = *steps_of<BackwardRows>(entry).back();
  ASSERT_EQ(head.links.size(), 3U);
  EXPECT_EQ(head.live_in, BufferId::kNone);
  EXPECT_EQ(head.links[0].live_out, BufferId::kNone);
  EXPECT_EQ(head.links[0].live_in, lists[1]->live);
  EXPECT_EQ(head.links[1].live_out, lists[1]->live);
  EXPECT_EQ(head.links[1].live_in, lists[0]->live);
  EXPECT_EQ(head.links[2].live_out, lists[0]->live);
  EXPECT_EQ(head.links[2].live_in, BufferId::kNone);
  const BackwardRows& hidden = *steps_of<BackwardRows>(entry)[1];  // of layer 2
  EXPECT_EQ(hidden.live_in, lists[1]->live);
  const std::vector<CentreAffine*> forward = steps_of<CentreAffine>(entry);
  EXPECT_EQ(forward[0]->live_in, BufferId::kNone);
  EXPECT_EQ(forward[1]->live_in, lists[0]->live);
  EXPECT_EQ(forward[2]->live_in, BufferId::kNone);  // of few outputs
}

TEST(LiveLists, AreNotReadByRowsThatChooseSlopes) {
  Plan plan = plan_of({4, 400, 400, 10}, Method::kAlphaCrown);
  int free = 0;
  for (const BackwardRows* rows : steps_of<BackwardRows>(plan.entries[0]))
    for (const BackwardLink& link : rows->links) {
      EXPECT_EQ(link.live_out == BufferId::kNone, rows->iterations > 0);
      free += rows->iterations > 0 ? 1 : 0;
    }
  EXPECT_GT(free, 0);
}

void expect_death(const std::function<void(Plan&)>& change, const char* message) {
  Plan plan = plan_of({4, 400, 400, 10}, Method::kCrown);
  verify(plan);
  change(plan);
  EXPECT_DEATH(verify(plan), message);
}

BackwardRows& head_rows(Plan& plan) {
  return *steps_of<BackwardRows>(plan.entries[0]).back();
}

TEST(LiveLists, OfAnotherLayerAreFound) {
  expect_death(
      [](Plan& p) { std::swap(head_rows(p).links[0].live_out, head_rows(p).links[0].live_in); },
      "link.live_out == list");
  expect_death([](Plan& p) { head_rows(p).links[1].live_out = head_rows(p).links[0].live_out; },
               "link.live_out == list");
  expect_death(
      [](Plan& p) {
        const std::vector<ListLive*> lists = steps_of<ListLive>(p.entries[0]);
        lists[1]->centre = lists[0]->centre;
      },
      "outside its lifetime|something else");
  expect_death(
      [](Plan& p) {
        steps_of<CentreAffine>(p.entries[0])[1]->live_in =
            steps_of<ListLive>(p.entries[0])[1]->live;
      },
      "lifetime|something else|live_in");
}

// Coefficients that the link above did not make.
TEST(LiveLists, ThatTheLinkBelowDoesNotKnowAreFound) {
  expect_death([](Plan& p) { head_rows(p).links[1].live_out = BufferId::kNone; }, "live");
  expect_death([](Plan& p) { head_rows(p).links[0].live_in = BufferId::kNone; }, "live_in");
  expect_death([](Plan& p) { head_rows(p).live_in = head_rows(p).links[1].live_out; },
               "link.live_out == list");
}

TEST(LiveLists, SayWhatCountsAndWhere) {
  for (const int n : {1, 7, 8, 9, 40})
    for (const int every : {1, 2, 3, 100}) {
      std::vector<float> centre(static_cast<std::size_t>(n)), radius(centre.size());
      std::vector<std::int32_t> expected;
      for (int j = 0; j < n; ++j) {
        if (j % every != every - 1) continue;
        (j % 2 == 0 ? centre : radius)[static_cast<std::size_t>(j)] = 0x1p-149F;
        expected.push_back(j);
      }
      std::vector<std::int32_t> list(static_cast<std::size_t>(bf::live_list_size(n)), -1);
      bf::list_live(centre.data(), radius.data(), n, list.data());
      const auto count = static_cast<std::size_t>(list[0]);
      ASSERT_EQ(count, expected.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), list.begin() + 1));
      std::vector<std::int32_t> all(list.begin() + 1, list.begin() + 1 + n);
      std::ranges::sort(all);
      for (int j = 0; j < n; ++j) EXPECT_EQ(all[static_cast<std::size_t>(j)], j);
      for (int part = 0; part * bf::kListUnit < n + bf::kListUnit; ++part)
        EXPECT_EQ(list[static_cast<std::size_t>(1 + n + part)],
                  std::ranges::count_if(expected, [&](int j) { return j < part * bf::kListUnit; }));
    }
}

}  // namespace
}  // namespace bf_aot
