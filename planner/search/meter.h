#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "planner/plan/pipeline.h"
#include "planner/reference/estimate.h"
#include "planner/search/samples.h"
#include "planner/search/space.h"

namespace bf_aot {

// Measures candidates on a plan of stage kDomains, which is used as scratch: its domains end up
// anywhere, and nothing else is left in it.
class Meter {
 public:
  // Leaves optimised slopes out of the space where they take too long to measure: of hidden layers,
  // or of all. Throws: CompileError BF2142.
  Meter(PlanState& state, SearchSpace& space);

  Metrics measure(const Candidate& candidate);
  // Returns true while the work allowed for measuring is not spent.
  bool may_measure() const;

  // The way in which looseness was found out: "mean width on .. ".
  const std::string& method() const { return method_; }

 private:
  void build(const Candidate& candidate);
  void clear();
  void choose_effort(const PlanOptions& options);
  bool limit_rows(std::size_t fewest);
  void choose_optimised();
  void count_layers();
  reference::Estimator::Result run(std::size_t box);
  double looseness_on(std::size_t box, const reference::Estimator::Result& result) const;
  double box_work(std::size_t most_rows) const;
  double planned_work(std::size_t boxes, std::size_t most_rows) const;
  double counted_looseness(const Candidate& candidate) const;

  Plan& plan_;
  SearchSpace& space_;
  PerLayer<DomainChoice> original_;
  reference::Estimator estimator_;
  std::size_t boxes_ = 0;
  std::vector<PerLayer<std::size_t>> bent_;             // by box, on intervals alone
  std::vector<double> crown_widths_, interval_widths_;  // by box
  std::vector<MarginClauses> margins_;                  // by box; empty: widths count
  std::vector<double> crown_margins_;
  int iterations_ = 0;  // that optimised slopes are measured with, at most the configured ones
  PerLayer<std::int64_t> layout_bytes_;  // of weight tables
  double work_limit_ = 0;
  std::size_t most_rows_ = std::numeric_limits<std::size_t>::max();  // of a layer, measured
  bool measured_ = true;                                             // or counted
  std::string method_;
};

}  // namespace bf_aot
