#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "aot/engine/run/constants.h"
#include "bf/search/split_network.h"
#include "planner/lowering/weight_tables.h"

namespace bf_aot::engine {

// The tables, in memory, of the network whose neurons a verifier splits.
class SplitTables {
 public:
  // Keeps references to both arguments.
  SplitTables(const Plan& plan, const Constants& constants);
  SplitTables(const SplitTables&) = delete;
  SplitTables& operator=(const SplitTables&) = delete;

  const bf::SplitNetwork& network() const { return network_; }

 private:
  bf::SplitPart part_of(const std::vector<WeightTable>& known, const Constants& constants,
                        LayerId layer, int number);

  const Plan& plan_;
  std::deque<bf::ConvShape> shapes_;  // a deque, since others point to its elements
  std::deque<std::vector<bf::SplitPart>> parts_;
  std::vector<bf::SplitLayer> layers_;
  std::vector<std::int32_t> row_first_, row_count_;
  bf::SplitNetwork network_ = {};
};

}  // namespace bf_aot::engine
