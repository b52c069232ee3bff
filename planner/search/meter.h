#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/pipeline.h"
#include "planner/reference/estimate.h"
#include "planner/search/climb.h"
#include "planner/search/samples.h"

namespace bf {

// A layer for which there is a choice: one axis of the space. Options go from the loosest and
// fastest to the tightest.
struct Decision {
  int layer = 0;
  bool head = false;
  std::vector<DomainChoice> options;

  int find(Domain domain) const;  // an option's number
};

// What a search chooses among: domains of the layers that the timed entry needs, then, where there
// is a choice, rows of a tile. The timed entry bounds the specification rows when there are some,
// else the outputs. When it keeps intervals for all of its heads, so do all other layers.
struct SearchSpace {
  std::vector<Decision> decisions;
  std::vector<int>
      tiles;  // options of the last axis, 0 being the planner's own; none: no such axis

  std::vector<int> options() const;
  // Single methods; the tile is the planner's own.
  Candidate ibp() const;
  Candidate crown_ibp() const;
  Candidate crown() const;
};

// From a plan whose domains are those of the tightest method.
SearchSpace make_space(const Plan& plan);

// Sets plan.domains.
void apply(const SearchSpace& space, const Candidate& candidate, Plan& plan);

// Measures candidates on a plan of stage kDomains, which is used as scratch: its domains end up
// anywhere, and nothing else is left in it.
class Meter {
 public:
  // Throws: CompileError BF2142.
  Meter(PlanState& state, const SearchSpace& space);

  Metrics measure(const Candidate& candidate);
  // Whether the work allowed for measuring is not spent.
  bool may_measure() const;

  // How looseness was found out: "mean width on .. ".
  const std::string& method() const { return method_; }

 private:
  void build(const Candidate& candidate);
  void clear();
  void choose_effort(const PlanOptions& options);
  void count_layers();
  double box_work(std::size_t most_rows) const;
  double planned_work(std::size_t boxes, std::size_t most_rows) const;
  double counted_looseness(const Candidate& candidate) const;

  Plan& plan_;
  const SearchSpace& space_;
  std::vector<DomainChoice> original_;
  reference::Estimator estimator_;
  std::size_t boxes_ = 0;
  std::vector<std::vector<std::size_t>> bent_;          // by box, on intervals alone
  std::vector<double> crown_widths_, interval_widths_;  // by box
  std::vector<std::int64_t> layout_bytes_;              // by layer, of weight tables
  double work_limit_ = 0;
  bool measured_ = true;  // or counted
  std::string method_;
};

}  // namespace bf
