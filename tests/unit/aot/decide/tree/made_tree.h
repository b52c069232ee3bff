#pragma once

#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "aot/decide/tree/tree_search.h"

namespace bf_aot::decide::tree {

// A tree that is made as it is searched: a number says what becomes of a node.
struct MadeTree {
  std::uint32_t always = 8;  // splits down to here
  std::uint32_t deepest = 40;
  std::uint64_t stuck = 0;     // one node in so many is; 0: none
  std::uint64_t violated = 0;  // one in so many has a proposal; 0: none
  std::size_t lanes = 3;
  std::size_t least_lanes = 3;
  std::atomic<std::uint64_t>* expanded = nullptr;  // counts nodes; may be null
  std::uint64_t failing = 0;                       // the expansion that throws; 0: none
  std::uint64_t endless = 0;  // from this expansion on they take until the search ends; 0: none
};

inline std::vector<std::byte> bytes_of(std::uint64_t number) {
  std::vector<std::byte> state(8);
  for (int i = 0; i < 8; ++i) state[i] = static_cast<std::byte>(number >> (8 * i));
  return state;
}

inline std::uint64_t number_of(const std::vector<std::byte>& state) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number |= std::to_integer<std::uint64_t>(state.at(i)) << (8 * i);
  return number;
}

inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class MadeWorker final : public TreeWorker {
 public:
  explicit MadeWorker(const MadeTree& tree) : tree_(tree) {}

  std::size_t lanes() const override { return tree_.lanes; }
  std::size_t least_lanes() const override { return tree_.least_lanes; }

  void expand(std::span<const Node> nodes, std::vector<Expansion>& out) override {
    for (const Node& node : nodes) out.push_back(expand(node));
  }

  std::optional<Proposal> try_points(const OpenNodes& open) override {
    if (open.size() > 0) open.at(open.size() - 1);
    ++points_;
    return std::nullopt;
  }
  std::uint64_t points() const override { return points_; }

 private:
  Expansion expand(const Node& node) {
    if (tree_.expanded != nullptr && ++*tree_.expanded == tree_.failing)
      throw std::runtime_error("failed");
    if (tree_.endless > 0 && *tree_.expanded >= tree_.endless) {
      while (goes_on()) std::this_thread::yield();
      throw Abandoned();
    }
    const std::uint64_t number = number_of(node.state);
    const std::uint64_t bits = mixed(number);
    Expansion made;
    if (tree_.violated > 0 && (bits >> 20) % tree_.violated == 0)
      made.proposal = Proposal{node.root, {static_cast<double>(number % 1000)}};
    if (node.depth >= tree_.deepest || (node.depth >= tree_.always && bits % 9 < 5)) {
      made.fate = tree_.stuck > 0 && (bits >> 8) % tree_.stuck == 0 ? Fate::kStuck : Fate::kClosed;
    } else {
      made.fate = Fate::kSplit;
      made.first = bytes_of(mixed(number ^ 1));
      made.second = bytes_of(mixed(number ^ 2) + 1);
    }
    return made;
  }

  const MadeTree tree_;
  std::uint64_t points_ = 0;
};

inline WorkerFactory made_workers(const MadeTree& tree) {
  return [tree](std::size_t) { return std::make_unique<MadeWorker>(tree); };
}

inline TreeState made_roots(std::size_t count = 1) {
  std::vector<std::vector<std::byte>> roots;
  for (std::size_t i = 0; i < count; ++i) roots.push_back(bytes_of(17 + i));
  return start_of(std::move(roots));
}

}  // namespace bf_aot::decide::tree
