#pragma once

#include <memory>
#include <vector>

#include "planner/plan/plan_fwd.h"

namespace bf_aot {

struct WeightTable;

namespace calls {

struct Program;

// The call programs of the plan's entries, in their order. `tables`: weight_tables(plan). Of passes
// and checks, which know a plan that is not finished; all others are handed a Lowered.
std::vector<Program> programs_of(const Plan& plan, const std::vector<WeightTable>& tables);

}  // namespace calls

// A plan with what follows from it alone and all who print, run, count or trace it need. lower() of
// planner/planner.h makes it when planning ends, and verifies it.
class Lowered {
 public:
  explicit Lowered(std::shared_ptr<const Plan> plan);
  ~Lowered();
  Lowered(const Lowered&) = delete;
  Lowered& operator=(const Lowered&) = delete;

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }

  // See programs_of().
  const std::vector<calls::Program>& programs() const { return programs_; }
  // `entry` is one of the plan's, not a copy.
  const calls::Program& program(const Entry& entry) const;

  // See weight_tables().
  const std::vector<WeightTable>& tables() const { return tables_; }

 private:
  std::shared_ptr<const Plan> plan_;
  std::vector<WeightTable> tables_;
  std::vector<calls::Program> programs_;
};

}  // namespace bf_aot
