#include "aot/decide/tree/tree_search.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "aot/decide/tree/shared_stop.h"
#include "aot/engine/run/recording.h"
#include "tests/unit/aot/decide/tree/made_tree.h"

namespace bf_aot::decide::tree {
namespace {

constexpr std::size_t kThreads[] = {1, 2, 4, 7};

struct Searched {
  TreeState state;
  TreeEnd end = TreeEnd::kStopped;
};

Searched search(const MadeTree& tree, std::size_t threads, std::size_t roots = 1,
                const TreeLimits& limits = {}, const TreeCalls& calls = {}) {
  Searched made{made_roots(roots)};
  made.end = TreeSearch(threads, made_workers(tree)).run(made.state, limits, calls);
  return made;
}

TEST(TreeSearch, TheTreeIsTheSameForAnyNumberOfThreads) {
  const Searched one = search({}, 1, 3);
  EXPECT_EQ(one.end, TreeEnd::kComplete);
  EXPECT_TRUE(is_verified(one.state));
  EXPECT_GT(one.state.nodes, 5000u);
  for (const std::size_t threads : kThreads) {
    const Searched many = search({}, threads, 3);
    EXPECT_EQ(many.end, TreeEnd::kComplete);
    EXPECT_EQ(many.state.nodes, one.state.nodes);
    EXPECT_EQ(many.state.roots, one.state.roots);
    EXPECT_TRUE(many.state.open.empty());
  }
}

TEST(TreeSearch, ARecordingHasEachNodeBehindItsParent) {
  const Searched one = search({}, 1, 3);
  engine::Recording all(16);
  const Searched recorded = search({}, 16, 3);
  EXPECT_EQ(recorded.state.roots, one.state.roots);
  ASSERT_EQ(all.turns.size(), 1u);
  const std::vector<engine::RecordedNode>& turn = all.turns[0];
  ASSERT_EQ(turn.size(), one.state.nodes);
  std::size_t roots = 0;
  std::vector<int> children(turn.size());
  for (std::uint32_t i = 0; i < turn.size(); ++i)
    if (turn[i].parent == engine::RecordedNode::kNone)
      ++roots;
    else if (++children[turn[i].parent]; turn[i].parent >= i)
      ADD_FAILURE() << i;
  EXPECT_EQ(roots, 3u);
  for (const int count : children) EXPECT_TRUE(count == 0 || count == 2) << count;
}

TEST(TreeSearch, OneThreadTakesNodesAsWideAsItsLanesOrFewer) {
  for (const std::size_t lanes : {std::size_t{1}, std::size_t{64}}) {
    MadeTree tree;
    tree.lanes = lanes;
    EXPECT_EQ(search(tree, 1).state.roots, search({}, 1).state.roots);
  }
}

TEST(TreeSearch, AStuckLeafLeavesTheRestSearchedAndNothingVerified) {
  MadeTree tree;
  tree.stuck = 50;
  const Searched one = search(tree, 1);
  EXPECT_EQ(one.end, TreeEnd::kComplete);
  EXPECT_FALSE(is_verified(one.state));
  EXPECT_GT(one.state.roots[0].stuck.leaves(), 1u);
  EXPECT_TRUE(is_whole(one.state));
  for (const std::size_t threads : kThreads)
    EXPECT_EQ(search(tree, threads).state.roots, one.state.roots);
}

TEST(TreeSearch, EndsAtAProvenProposal) {
  MadeTree tree;
  tree.violated = 200;
  for (const std::size_t threads : kThreads) {
    std::size_t asked = 0;
    TreeCalls calls;
    calls.prove = [&](const Proposal& proposal) {
      EXPECT_EQ(proposal.root, 0u);
      return ++asked == 3;
    };
    const Searched made = search(tree, threads, 1, {}, calls);
    EXPECT_EQ(made.end, TreeEnd::kFound);
    EXPECT_EQ(asked, 3u);
    EXPECT_TRUE(is_whole(made.state));
  }
}

TEST(TreeSearch, GoesOnAfterProposalsThatAreNotProven) {
  MadeTree tree;
  tree.violated = 20;
  TreeCalls calls;
  std::atomic<int> asked = 0;
  const std::thread::id caller = std::this_thread::get_id();
  calls.prove = [&](const Proposal&) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++asked;
    return false;
  };
  const Searched made = search(tree, 4, 1, {}, calls);
  EXPECT_EQ(made.end, TreeEnd::kComplete);
  EXPECT_GT(asked, 10);
  EXPECT_EQ(made.state.roots, search({}, 1).state.roots);
}

TEST(TreeSearch, AStoppedSearchGoesOnToTheSameTree) {
  const Searched whole = search({}, 1, 2);
  for (const std::size_t threads : kThreads) {
    TreeState state = made_roots(2);
    TreeSearch search(threads, made_workers({}));
    std::uint64_t nodes = 0, next = 500;
    int runs = 0;
    TreeCalls calls;
    calls.progress = [&](const TreeProgress& progress) { nodes = progress.nodes; };
    calls.stop = [&] { return nodes >= next; };
    while (search.run(state, {}, calls) == TreeEnd::kStopped) {
      EXPECT_TRUE(is_whole(state));
      EXPECT_FALSE(state.open.empty());
      next += 500;
      ++runs;
    }
    if (threads == 1) {
      EXPECT_GT(runs, 3);
    }
    EXPECT_EQ(state.nodes, whole.state.nodes);
    EXPECT_EQ(state.roots, whole.state.roots);
    EXPECT_GT(state.points, 0u);
  }
}

TEST(TreeSearch, StopsWithinExpansionsAndLosesNoNode) {
  const Searched whole = search({}, 1, 2);
  for (const std::size_t threads : kThreads) {
    std::atomic<std::uint64_t> expanded = 0;
    MadeTree tree;
    tree.expanded = &expanded;
    tree.endless = 1000;
    TreeState state = made_roots(2);
    TreeCalls calls;
    const std::thread::id caller = std::this_thread::get_id();
    calls.stop = [&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return expanded >= tree.endless;
    };
    EXPECT_EQ(TreeSearch(threads, made_workers(tree)).run(state, {}, calls), TreeEnd::kStopped);
    EXPECT_TRUE(is_whole(state));
    EXPECT_EQ(TreeSearch(threads, made_workers({})).run(state, {}, {}), TreeEnd::kComplete);
    EXPECT_EQ(state.roots, whole.state.roots);
    EXPECT_EQ(state.nodes, whole.state.nodes);
  }
}

TEST(TreeSearch, WhatStopThrowsWithinAnExpansionIsThrown) {
  std::atomic<std::uint64_t> expanded = 0;
  MadeTree tree;
  tree.expanded = &expanded;
  tree.endless = 100;
  TreeState state = made_roots();
  TreeCalls calls;
  calls.stop = [&] {
    if (expanded >= tree.endless) throw std::logic_error("enough");
    return false;
  };
  EXPECT_THROW(TreeSearch(2, made_workers(tree)).run(state, {}, calls), std::logic_error);
  EXPECT_TRUE(is_whole(state));
}

TEST(TreeSearch, RootsMayBeExpandedSideBySideBefore) {
  MadeTree tree;
  tree.violated = 1;
  const Searched whole = search(tree, 1, 5);
  for (const std::size_t threads : kThreads) {
    TreeState state = made_roots(5);
    TreeSearch search(threads, made_workers(tree));
    std::vector<std::uint32_t> proposed;
    TreeCalls calls;
    calls.prove = [&](const Proposal& proposal) {
      proposed.push_back(proposal.root);
      return false;
    };
    const std::vector<std::uint32_t> roots = {1, 2, 4, 7};
    EXPECT_FALSE(search.expand_roots(state, roots, {}, calls));
    EXPECT_EQ(state.nodes, 3u);
    EXPECT_EQ(proposed.size(), 3u);
    EXPECT_TRUE(is_whole(state));
    EXPECT_FALSE(search.expand_roots(state, roots, {}, calls));
    EXPECT_EQ(state.nodes, 3u) << "they are expanded";
    EXPECT_EQ(search.run(state, {}, {}), TreeEnd::kComplete);
    EXPECT_EQ(state.roots, whole.state.roots);
    EXPECT_EQ(state.nodes, whole.state.nodes);
    state = made_roots(5);
    calls.prove = [](const Proposal& proposal) { return proposal.root == 4; };
    EXPECT_TRUE(search.expand_roots(state, roots, {}, calls));
    state = made_roots(5);
    search.expand_roots(state, roots, {.seconds = 0}, {});
    EXPECT_EQ(state, made_roots(5)) << "none is begun";
  }
}

TEST(TreeSearch, RootsThatAreExpandedAreStopped) {
  for (const std::size_t threads : kThreads) {
    std::atomic<std::uint64_t> expanded = 0;
    MadeTree tree;
    tree.expanded = &expanded;
    tree.endless = 2;
    TreeState state = made_roots(5);
    TreeSearch search(threads, made_workers(tree));
    TreeCalls calls;
    const std::thread::id caller = std::this_thread::get_id();
    calls.stop = [&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return expanded >= tree.endless;
    };
    const std::vector<std::uint32_t> roots = {0, 1, 2, 3, 4};
    EXPECT_FALSE(search.expand_roots(state, roots, {}, calls));
    EXPECT_TRUE(is_whole(state));
    EXPECT_LE(state.nodes, 1u);
    calls.stop = []() -> bool { throw std::logic_error("enough"); };
    const TreeState before = state;
    EXPECT_THROW(search.expand_roots(state, roots, {}, calls), std::logic_error);
    EXPECT_EQ(state, before);
  }
}

TEST(TreeSearch, AStopThatThrowsIsAStopForAllThreads) {
  std::atomic<bool> asked = false;
  SharedStop stop([&]() -> bool {
    asked = true;
    throw std::logic_error("enough");
  });
  std::thread([&] { EXPECT_FALSE(stop()); }).join();
  EXPECT_FALSE(asked);
  EXPECT_THROW(stop(), std::logic_error);
  EXPECT_TRUE(stop.is_set());
  EXPECT_TRUE(stop());  // and is not asked again
  std::thread([&] { EXPECT_TRUE(stop()); }).join();
  SharedStop never([] { return false; });
  EXPECT_FALSE(never());
  never.set();
  EXPECT_TRUE(never());
}

TEST(TreeSearch, EndsWithItsTimeAndItsMemory) {
  MadeTree endless;
  endless.always = endless.deepest = kMostDepth;
  TreeLimits limits;
  limits.seconds = 0.02;
  EXPECT_EQ(search(endless, 2, 1, limits).end, TreeEnd::kTime);
  limits = {};
  limits.open_bytes = 10'000;
  const Searched made = search(endless, 2, 1, limits);
  EXPECT_EQ(made.end, TreeEnd::kMemory);
  EXPECT_TRUE(is_whole(made.state));
}

// Calls that take thousands of nodes would open a tree in breadth until it fills its memory.
TEST(TreeSearch, CallsTakeFewerNodesWhereOpenOnesFillTheMemory) {
  MadeTree wide;
  wide.lanes = 4096;
  wide.least_lanes = 4096;
  TreeLimits limits;
  limits.open_bytes = 25'000;
  EXPECT_EQ(search(wide, 1, 3, limits).end, TreeEnd::kMemory);
  wide.least_lanes = 2;
  const Searched made = search(wide, 1, 3, limits);
  EXPECT_EQ(made.end, TreeEnd::kComplete);
  EXPECT_EQ(made.state.nodes, search({}, 1, 3).state.nodes);
}

TEST(TreeSearch, ExpandsAsManyNodesAsAreAllowedByAnyNumberOfThreads) {
  for (const std::size_t threads : kThreads)
    for (const std::uint64_t nodes : {0, 1, 7, 500}) {
      TreeLimits limits;
      limits.nodes = nodes;
      const Searched made = search({}, threads, 3, limits);
      EXPECT_EQ(made.end, TreeEnd::kNodes);
      EXPECT_EQ(made.state.nodes, nodes);
      EXPECT_TRUE(is_whole(made.state));
    }
}

TEST(TreeSearch, WhatAWorkerThrowsIsThrownAndLosesNoNode) {
  for (const std::size_t threads : kThreads) {
    std::atomic<std::uint64_t> expanded = 0;
    MadeTree tree;
    tree.expanded = &expanded;
    tree.failing = 1000;
    TreeState state = made_roots();
    TreeSearch search(threads, made_workers(tree));
    EXPECT_THROW(search.run(state, {}, {}), std::runtime_error);
    EXPECT_TRUE(is_whole(state));
    EXPECT_EQ(search.run(state, {}, {}), TreeEnd::kComplete);
    EXPECT_TRUE(is_verified(state));
  }
}

TEST(TreeSearch, WhatTheCallersFunctionThrowsLosesNoNode) {
  TreeState state = made_roots();
  TreeCalls calls;
  calls.progress = [](const TreeProgress& progress) {
    if (progress.nodes > 500) throw std::logic_error("enough");
  };
  EXPECT_THROW(TreeSearch(3, made_workers({})).run(state, {}, calls), std::logic_error);
  EXPECT_TRUE(is_whole(state));
}

TEST(TreeSearch, AThreadWithoutAWorkerIsLeftOut) {
  const WorkerFactory factory = [](std::size_t thread) -> std::unique_ptr<TreeWorker> {
    if (thread > 0) throw std::bad_alloc();
    return std::make_unique<MadeWorker>(MadeTree());
  };
  TreeState state = made_roots();
  EXPECT_EQ(TreeSearch(3, factory).run(state, {}, {}), TreeEnd::kComplete);
  EXPECT_TRUE(is_verified(state));
  const WorkerFactory none = [](std::size_t) -> std::unique_ptr<TreeWorker> {
    throw std::bad_alloc();
  };
  state = made_roots();
  EXPECT_THROW(TreeSearch(3, none).run(state, {}, {}), std::bad_alloc);
  EXPECT_TRUE(is_whole(state));
}

TEST(TreeSearch, NodesMayBeTakenAndGivenBetweenRounds) {
  const Searched whole = search({}, 1, 2);
  for (const std::size_t threads : kThreads) {
    TreeState state = made_roots(2);
    std::vector<Node> away;
    std::vector<RootLeaves> sums(2);
    int rounds = 0;
    TreeCalls calls;
    calls.share = [&](SharedNodes& nodes) {
      const std::vector<RootLeaves> fresh = nodes.leaves();
      for (std::size_t root = 0; root < 2; ++root) sums[root].closed.add(fresh[root].closed);
      if (nodes.is_idle() || ++rounds % 16 == 0) {
        nodes.give(std::exchange(away, {}));
      } else if (away.empty()) {
        away = nodes.take(5);
      }
      return sums[0].closed.is_one() && sums[1].closed.is_one();
    };
    EXPECT_EQ(TreeSearch(threads, made_workers({})).run(state, {}, calls), TreeEnd::kComplete);
    EXPECT_EQ(state.roots, whole.state.roots);
    EXPECT_EQ(state.nodes, whole.state.nodes);
    EXPECT_EQ(sums, state.roots);
  }
}

TEST(TreeSearch, ANodeOfTheMostDepthIsStuck) {
  MadeTree endless;
  endless.always = endless.deepest = kMostDepth + 1;
  TreeState state;
  state.roots.resize(1);
  state.roots[0].closed.add(0);  // of no meaning here
  state.open = {{0, kMostDepth, bytes_of(1)}};
  EXPECT_EQ(TreeSearch(1, made_workers(endless)).run(state, {}, {}), TreeEnd::kComplete);
  EXPECT_EQ(state.roots[0].stuck.leaves(), 1u);
}

TEST(ExpandInBreadth, GivesAtLeastSoManyNodesOfOneTree) {
  MadeWorker worker({});
  TreeState state = made_roots();
  expand_in_breadth(state, 32, worker);
  EXPECT_EQ(state.open.size(), 32u);
  EXPECT_EQ(state.nodes, 31u);
  EXPECT_TRUE(is_whole(state));
  for (const Node& node : state.open) EXPECT_EQ(node.depth, 5u);
  TreeState again = made_roots();
  expand_in_breadth(again, 32, worker);
  EXPECT_EQ(again, state);
  EXPECT_EQ(TreeSearch(1, made_workers({})).run(state, {}, {}), TreeEnd::kComplete);
  EXPECT_EQ(state.roots, search({}, 1).state.roots);
}

TEST(ExpandInBreadth, EndsWithoutOpenNodes) {
  MadeTree shallow;
  shallow.always = shallow.deepest = 2;
  MadeWorker worker(shallow);
  TreeState state = made_roots(2);
  expand_in_breadth(state, 1000, worker);
  EXPECT_TRUE(state.open.empty());
  EXPECT_TRUE(is_verified(state));
  EXPECT_EQ(state.nodes, 14u);
}

}  // namespace
}  // namespace bf_aot::decide::tree
