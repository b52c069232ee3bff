#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "aot/engine/run/constants.h"
#include "aot/engine/run/function_views.h"
#include "bf/search/split_network.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::engine {

// The tables, in memory, of the network whose neurons a verifier splits.
class SplitTables {
 public:
  // Keeps references to both arguments.
  SplitTables(const Lowered& lowered, const Constants& constants);
  SplitTables(const SplitTables&) = delete;
  SplitTables& operator=(const SplitTables&) = delete;

  const bf::SplitNetwork& network() const { return network_; }

 private:
  // Null for a table that the plan leaves out.
  template <class Number>
  const Number* table(LayerId layer, int term, TableKind kind) const;
  bf::SplitPart part_of(LayerId layer, int number);

  const Lowered& lowered_;
  const Constants& constants_;
  FunctionViews views_;               // its own, since several calls may make tables at a time
  std::deque<bf::ConvShape> shapes_;  // a deque, since others point to its elements
  std::deque<std::vector<bf::SplitPart>> parts_;
  std::vector<bf::SplitLayer> layers_;
  std::vector<std::int32_t> row_first_, row_count_;
  bf::SplitNetwork network_ = {};
};

}  // namespace bf_aot::engine
