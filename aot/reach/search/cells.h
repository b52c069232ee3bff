#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "aot/decide/tree/tree_worker.h"
#include "aot/reach/question/loop.h"
#include "aot/reach/search/demands.h"
#include "aot/reach/search/reach.h"
#include "aot/reach/tube/flow.h"

namespace bf_aot::reach {

// A cell as bytes of a tree's node, and back.
std::vector<std::byte> bytes_of(const Box& cell);
Box cell_of(const std::vector<std::byte>& bytes);

// Keeps what the workers of a search have found, for all threads.
class CellResults {
 public:
  void add_closed(const Box& cell, const std::vector<TubePiece>& tube);
  void add_failure(const Obstacle& obstacle);
  void count() { ++bounded_; }

  std::vector<TubePiece> tube() const { return tube_; }
  std::vector<Box> cells() const { return cells_; }
  const std::optional<Obstacle>& obstacle() const { return obstacle_; }  // of the smallest cell
  std::uint64_t bounded() const { return bounded_; }

 private:
  std::mutex mutex_;
  std::vector<TubePiece> tube_;
  std::vector<Box> cells_;
  std::optional<Obstacle> obstacle_;
  double smallest_ = 0;
  std::atomic<std::uint64_t> bounded_ = 0;
};

// Computes the tube of a cell: closes it where all requirements are proven, else halves it along
// the element of the start that the failure depends on most.
class CellWorker : public decide::tree::TreeWorker {
 public:
  CellWorker(const Question& question, Flow flow, CellResults& results,
             std::uint32_t least_depth = 0)
      : question_(question), flow_(std::move(flow)), results_(results), least_depth_(least_depth) {}

  std::size_t lanes() const override { return 1; }
  void expand(std::span<const decide::tree::Node> nodes,
              std::vector<decide::tree::Expansion>& out) override;

 private:
  decide::tree::Expansion expand(const decide::tree::Node& node);

  const Question& question_;
  const Flow flow_;
  CellResults& results_;
  const std::uint32_t least_depth_;
};

}  // namespace bf_aot::reach
