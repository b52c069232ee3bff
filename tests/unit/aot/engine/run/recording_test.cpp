#include "aot/engine/run/recording.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "aot/engine/run/pool.h"

namespace bf_aot::engine {
namespace {

Round round_of(const std::vector<double>& seconds) {
  Round round{RoundKind::kTiles, {}};
  for (const double each : seconds) round.pieces.push_back({each, {}});
  return round;
}

TEST(Recording, NothingIsRecordedUnlessAsked) {
  EXPECT_EQ(recording(), nullptr);
  RoundRecorder round(RoundKind::kTiles);
  int calls = 0;
  round.time([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Recording, OneThreadDoesThePiecesOfAll) {
  Recording all(16);
  std::set<std::thread::id> threads;
  share(16, 100, [&](std::size_t, std::size_t worker) {
    EXPECT_EQ(worker, 0u);
    threads.insert(std::this_thread::get_id());
    // A call within a piece makes a round of that piece.
    share(16, 3, [](std::size_t, std::size_t) {});
  });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  ASSERT_EQ(all.rounds.size(), 1u);
  EXPECT_EQ(all.rounds[0].kind, RoundKind::kPieces);
  ASSERT_EQ(all.rounds[0].pieces.size(), 100u);
  for (const Piece& piece : all.rounds[0].pieces) {
    ASSERT_EQ(piece.rounds.size(), 1u);
    EXPECT_EQ(piece.rounds[0].pieces.size(), 3u);
    EXPECT_GE(piece.seconds, 0);
  }
}

TEST(Recording, PiecesAreBegunInOrderByTheFirstThreadThatIsFree) {
  const Round round = round_of({3, 1, 1, 1, 4});
  EXPECT_EQ(seconds_of(round), 10);
  EXPECT_EQ(replayed_seconds(round, 1), 10);
  EXPECT_EQ(replayed_seconds(round, 2), 7);
  EXPECT_EQ(replayed_seconds(round, 3), 5);
  EXPECT_EQ(replayed_seconds(round, 16), 4);
  EXPECT_EQ(replayed_seconds(Round{}, 4), 0);
}

TEST(Recording, ThreadsWithoutAPieceHelpWithRoundsOfOthers) {
  Round outer = round_of({1, 2});
  outer.pieces[0].rounds = {round_of({2, 2, 2, 2}), round_of({1})};
  EXPECT_EQ(seconds_of(outer), 12);
  EXPECT_EQ(replayed_seconds(outer, 1), 12);
  EXPECT_EQ(replayed_seconds(outer, 2), 6);  // of work; the first piece takes 1 + 4 + 1
  EXPECT_EQ(replayed_seconds(outer, 4), 4);  // 1 + 2 + 1
}

TEST(Recording, NodesWaitForTheirParents) {
  Recording all(4);
  std::vector<std::unique_ptr<int>> nodes(5);
  for (auto& node : nodes) node = std::make_unique<int>();
  all.begin_turn();
  all.add_node(nodes[0].get(), {1, {}});
  all.add_child(nodes[0].get(), nodes[1].get());
  all.add_child(nodes[0].get(), nodes[2].get());
  all.add_node(nodes[1].get(), {2, {}});
  all.add_node(nodes[2].get(), {3, {}});
  all.add_node(nodes[3].get(), {4, {}});  // open before
  ASSERT_EQ(all.turns.size(), 1u);
  const std::vector<RecordedNode>& turn = all.turns[0];
  EXPECT_EQ(turn[0].parent, RecordedNode::kNone);
  EXPECT_EQ(turn[1].parent, 0u);
  EXPECT_EQ(turn[2].parent, 0u);
  EXPECT_EQ(turn[3].parent, RecordedNode::kNone);
  EXPECT_EQ(replayed_seconds(turn, 1), 10);
  EXPECT_EQ(replayed_seconds(turn, 2), 6);  // the fourth from 0 to 4, the third from 1
  EXPECT_EQ(replayed_seconds(turn, 3), 4);
  // Addresses are used again: nothing of a turn is known in the next.
  all.begin_turn();
  all.add_node(nodes[2].get(), {1, {}});
  EXPECT_EQ(all.turns[1][0].parent, RecordedNode::kNone);
}

}  // namespace
}  // namespace bf_aot::engine
