#pragma once

#include <memory>
#include <vector>

#include "aot/engine/run/constants.h"
#include "aot/engine/run/split_tables.h"
#include "bf/search/neuron_splits.h"
#include "planner/lowering/lowered.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {

// A network on a box, as far as NAME_decide comes before its first node.
class EmittedNode {
 public:
  EmittedNode(std::shared_ptr<const Plan> plan, FloatBox given);
  EmittedNode(const EmittedNode&) = delete;
  EmittedNode& operator=(const EmittedNode&) = delete;

  const Plan& plan() const { return *plan_; }
  bf::SplitBounds& bounds() { return search.bounds; }
  const FloatBox& box() const { return box_; }

  // Whether the node is proven with this threshold in its first term.
  bool is_proven(float threshold) {
    bounds().terms[0].threshold = threshold;
    return bf::prove_node(bounds());
  }

  void set_terms(const std::vector<bf::SplitTerm>& terms, const std::vector<float>& weights) {
    bounds().term_count = static_cast<std::uint32_t>(terms.size());
    std::ranges::copy(terms, bounds().terms);
    std::ranges::copy(weights, bounds().weights);
  }

  std::uint32_t neuron_of_row(int row) {
    return static_cast<std::uint32_t>(bf::neuron_of_row(tables_.network(), row));
  }

  // The threshold of the first term, the last on its way to a bound of 0 that is proven; NaN where
  // none is.
  float last_proven();

  bf::NodeSearch search = {};
  bool is_ready = false;

 private:
  std::shared_ptr<const Lowered> lowered_;
  std::shared_ptr<const Plan> plan_;
  FloatBox box_;
  engine::Constants constants_;
  engine::SplitTables tables_;
  std::vector<unsigned char> inside_;
  bf::PropertyTables property_ = {};
  std::vector<double> memory_;
};

}  // namespace bf_aot::soundness
