#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/request.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "frontend/passes/difference/difference_network.h"

namespace bf_aot::decide {

// second - first of one output, for every input of a box.
struct OutputDifference {
  double lower = 0, upper = 0;
};

// Returns the least box of float32 numbers around a box of doubles.
input::FloatBox float_box(const Box& box);

// The largest magnitude of a difference in these intervals.
double largest(const std::vector<OutputDifference>& outputs);

// Splits of the box pay where at most so many inputs vary.
constexpr std::ptrdiff_t kFewInputs = 12;

// The number of inputs that vary in a box.
std::ptrdiff_t varying(const Box& box);

// Bounds of the difference of two networks by their difference_network(), of a box and of its
// parts: docs/proofs/differences.md.
class DifferenceBounds {
 public:
  // Bounds of parts are of `crown`, as are those of neurons; of the root request.method, or
  // alpha-crown.
  DifferenceBounds(DifferenceNetwork network, const ModelInfo& info, const Request& request);

  // These bounds with workspaces of their own, for another thread.
  DifferenceBounds twin() const;

  // Lets calls throw engine::Stopped after a stop.
  void stop_by(engine::StoppedCalls& calls) const;

  std::size_t outputs() const { return output_count_; }
  std::size_t slopes() const { return slopes_->size(); }

  // A box of x, with what is known there.
  struct Part {
    Box box;
    std::vector<float> least, most;  // of the slopes
    std::vector<OutputDifference> outputs;
    // The input by which neurons whose slopes are open move most, where a float32 number divides
    // its ends: docs/reference/search.md. Made with the bounds.
    std::optional<std::size_t> steepest;
  };

  // Makes the rest of a part that has a box alone.
  void bound_root(Part& part) const;
  // Makes slopes and intervals tighter, which are those of a part that holds this one's box.
  void bound(Part& part) const;

  // Halves the box of a part that was bounded across its steepest input; where it has none, across
  // the one that is widest as a share of the root's. Both halves are the box where no double lies
  // between its ends.
  static std::pair<Box, Box> halves(const Part& part, const Box& root);

 private:
  DifferenceBounds() = default;
  input::FloatBox box_of(const Part& part) const;
  void meet(const engine::Bounds& bounds, Part& part) const;
  void learn_slopes(const engine::Bounds& bounds, Part& part) const;
  std::vector<double> gaps(const engine::Bounds& bounds, const Part& part) const;
  std::vector<double> moves(const Part& part, std::size_t input) const;
  void find_steepest(const engine::Bounds& bounds, Part& part) const;

  std::size_t output_count_ = 0;
  std::shared_ptr<const std::vector<SlopeNeuron>> slopes_;
  std::vector<std::size_t> layer_ends_;  // of `slopes_`, the neurons of each tensor side by side
  std::unique_ptr<const engine::HostVerifier> neurons_, outputs_;
};

// Splits the box until `enough` says so of the intervals that hold in all of it, a stop is asked
// for, or a call is stopped. visit: is called with each part that was bounded. Returns the
// intervals of the box, which are infinite where the first call was stopped.
std::vector<OutputDifference> split_differences(
    const DifferenceBounds& bounds, const Box& box,
    const std::function<bool(const std::vector<OutputDifference>&)>& enough,
    const std::function<void(const DifferenceBounds::Part&)>& visit, const system::Stop& stop);

}  // namespace bf_aot::decide
