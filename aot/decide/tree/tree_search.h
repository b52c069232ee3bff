#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "aot/decide/tree/tree_state.h"
#include "aot/decide/tree/tree_worker.h"
#include "aot/system/stop.h"

namespace bf_aot::decide::tree {

enum class TreeEnd : std::uint8_t {
  kComplete,  // no node is open
  kFound,     // a proposal was proven
  kStopped,   // as the caller asked
  kTime,
  kNodes,  // as many were expanded as TreeLimits::nodes allows
  kMemory  // open nodes take more than TreeLimits::open_bytes
};

struct TreeLimits {
  double seconds = std::numeric_limits<double>::infinity();
  std::size_t open_bytes = std::size_t{1} << 30;                    // of all open nodes
  std::uint64_t nodes = std::numeric_limits<std::uint64_t>::max();  // that one run expands
};

struct TreeProgress {
  std::uint64_t nodes = 0;  // that were expanded
  double closed = 0;        // about the closed part of all roots of the state, from 0 to 1
};

// The open nodes of a running search, as they are shared with other processes.
class SharedNodes {
 public:
  virtual ~SharedNodes() = default;
  virtual void give(std::vector<Node> nodes) = 0;
  // Takes away some of the oldest nodes: at most `most`, and at most half of a thread's.
  virtual std::vector<Node> take(std::size_t most) = 0;
  // Returns whether no node is open or being expanded.
  virtual bool is_idle() const = 0;
  // The leaves that were made since the last call, by root.
  virtual std::vector<RootLeaves> leaves() = 0;
};

// Functions that are called between rounds, on the thread that calls run().
struct TreeCalls {
  // Returns whether the proposal does violate the property. The search ends with the first that
  // does.
  std::function<bool(const Proposal&)> prove = [](const Proposal&) { return false; };
  system::Stop stop;
  std::function<void(const TreeProgress&)> progress = [](const TreeProgress&) {};
  // Called where other processes have parts of the tree: returns whether the search is over for all
  // of them. Null: it is over when this process has no open node.
  std::function<bool(SharedNodes&)> share;
};

// Searches trees in depth, by threads that have a worker each. A thread without open nodes takes
// the older half of the nodes of that thread whose oldest is the shallowest: the largest subtrees.
class TreeSearch {
 public:
  // threads: at least 1. The thread that calls run() is the first of them; the others are started
  // when there is more to do than one call of a worker takes, or calls take milliseconds. A thread
  // that cannot be started, or whose worker cannot be made, is left out; only the first one's
  // failure is thrown.
  TreeSearch(std::size_t threads, WorkerFactory factory);
  ~TreeSearch();
  TreeSearch(const TreeSearch&) = delete;
  TreeSearch& operator=(const TreeSearch&) = delete;

  std::size_t threads() const { return workers_.size(); }

  // Expands open nodes until there is none, or until another end. The state then holds everything
  // that was done, also where a worker or a function of `calls` throws, which is thrown on. May be
  // called again; workers are kept.
  TreeEnd run(TreeState& state, const TreeLimits& limits, const TreeCalls& calls);

  // Expands the whole roots, of depth 0, that are open among `roots`, side by side: one root alone
  // keeps one thread busy. Returns whether a proposal was proven. Begins none after the limit's
  // seconds, and leaves those that a stop ends open. Throws what a worker or a function of `calls`
  // throws, after which the state is as before.
  bool expand_roots(TreeState& state, std::span<const std::uint32_t> roots,
                    const TreeLimits& limits, const TreeCalls& calls);

 private:
  WorkerFactory factory_;
  std::vector<std::unique_ptr<TreeWorker>> workers_;  // by thread; null: not made yet
};

// Expands the state's nodes in breadth, in order, until at least `least` are open or none is. The
// open nodes are left in the order in which they were made, the same on every machine whose workers
// are the same. Returns the proposals that were made, not proven. Throws what the worker throws,
// after which the state is of no use.
std::vector<Proposal> expand_in_breadth(TreeState& state, std::size_t least, TreeWorker& worker);

}  // namespace bf_aot::decide::tree
