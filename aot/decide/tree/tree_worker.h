#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aot/decide/tree/node.h"

namespace bf_aot::decide::tree {

enum class Fate : std::uint8_t {
  kClosed,  // nothing in the node violates the property
  kSplit,   // two children cover it
  kStuck    // neither is known, and it cannot be split: verified becomes impossible
};

// An input that may violate the property, as the worker that proposes it believes.
struct Proposal {
  std::uint32_t root = 0;
  std::vector<double> x;
};

// A worker's result for a node.
struct Expansion {
  Fate fate = Fate::kStuck;
  std::vector<std::byte> first, second;  // the children's states; the first is looked at first
  std::optional<Proposal> proposal;      // may come with any fate, which holds without it
};

// The open nodes of a worker's thread. The last is expanded next.
class OpenNodes {
 public:
  virtual ~OpenNodes() = default;
  virtual std::size_t size() const = 0;
  // A copy of node i, since other threads may take nodes away; none when there are no longer so
  // many.
  virtual std::optional<Node> at(std::size_t i) const = 0;
};

// Expands nodes, on one thread.
class TreeWorker {
 public:
  virtual ~TreeWorker() = default;

  // The most nodes that a call of expand() takes.
  virtual std::size_t lanes() const = 0;
  // How many of these a call needs at least to be worth while: open nodes are about as many as a
  // call takes times the depth of the tree, so that calls take fewer where these fill the memory.
  virtual std::size_t least_lanes() const { return lanes(); }

  // One expansion for each node, in order. Fate and children depend on the node alone: not on the
  // other nodes, nor on time, nor on earlier calls. So the tree is the same for any number of
  // threads. Where a device proposes, or bounds boxes, children may depend on how many nodes a call
  // has, and on when it was ready. May throw Abandoned after `goes_on` has said no.
  virtual void expand(std::span<const Node> nodes, std::vector<Expansion>& out) = 0;

  // For the worker to ask now and then, on any thread: whether the search goes on. Does not throw.
  std::function<bool()> goes_on = [] { return true; };

  // Called before each round: a worker may look for a violation for a short time. May throw
  // Abandoned as expand().
  virtual std::optional<Proposal> try_points(const OpenNodes& open) {
    (void)open;
    return std::nullopt;
  }

  // The number of inputs that were tried so far.
  virtual std::uint64_t points() const { return 0; }
};

// Thrown by a TreeWorker that was told to end: nodes that are being expanded stay open.
struct Abandoned {};

// Makes the worker of a thread, on that thread. Several threads may call it at once.
using WorkerFactory = std::function<std::unique_ptr<TreeWorker>(std::size_t thread)>;

}  // namespace bf_aot::decide::tree
