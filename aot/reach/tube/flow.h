#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/reach/question/loop.h"
#include "aot/reach/tube/network_lines.h"
#include "aot/reach/tube/segment.h"
#include "aot/reach/tube/symbols.h"
#include "aot/system/stop.h"

namespace bf_aot::reach {

// How the tubes of a loop are computed.
struct FlowPlan {
  std::size_t symbols = 0;      // of forms that networks read, those of the start included
  std::size_t all_symbols = 0;  // and those that come within a period
  std::size_t substeps = 1;     // of a period
  std::size_t order = 6;        // of Taylor polynomials in time
  Reduction reduction = Reduction::kBox;
};

// Why a tube ended before its last period.
struct FlowEnd {
  std::size_t period = 0;
  mpq_class from, to;
  std::string reason;
  std::vector<Range> state;  // at its beginning
};

// A loop with its plan, and verifiers of its networks. Computes tubes of cells of the initial box.
// Not reentrant; twin() is for another thread.
class Flow {
 public:
  // Throws: CompileError BF362x a plant that has no such tubes; as the planner.
  Flow(const Loop& loop, const FlowPlan& plan, const build::CompileOptions& compile,
       const build::CompilerOptions& compiler);
  ~Flow();
  Flow(Flow&&) noexcept;
  Flow& operator=(Flow&&) noexcept;

  // `plan`: with as many symbols that networks read.
  Flow twin(const FlowPlan& plan) const;
  Flow twin() const { return twin(plan_); }
  const FlowPlan& plan() const { return plan_; }
  const Loop& loop() const { return *loop_; }

  // Computes the tube of all starts in the cell, whose sides are the first symbols, and tells it
  // to the visitor, until that or the tube ends. Where `disturbances` are given,
  // [periods][elements], the disturbances are what these stand for, see
  // typed_value(). Returns why it ended early, if the
  // visitor did not end it.
  std::optional<FlowEnd> run(const Box& cell, SegmentVisitor& visitor,
                             const std::vector<std::vector<double>>* disturbances = nullptr) const;

 private:
  class Running;
  Flow() = default;

  const Loop* loop_ = nullptr;
  FlowPlan plan_;
  std::shared_ptr<const ScalarProgram> plant_;  // null: the whole step is a network
  std::optional<NetworkLines> controller_;      // or the step
};

// The network of a loop that verifiers bound: the controller, behind what observes the state, or
// the whole step of a discrete plant without one. None where the plant has no control.
std::optional<Part> network_of(const Loop& loop);

// The program of a loop's plant; none where the network is the whole step. Throws: CompileError
// BF3620 a plant that has no tubes.
std::optional<ScalarProgram> plant_program(const Loop& loop);

// The plan for a loop, where 0 stands for what is to be chosen.
FlowPlan choose_plan(const Loop& loop, std::size_t substeps, std::size_t order,
                     std::size_t symbols);

// Says what of a plan is free to be chosen, besides the reduction.
struct FreePlan {
  bool substeps = false, order = false;
};

// The plan whose tube is narrowest at its end, of a cell in the middle of the initial box: of both
// reductions, and of as many substeps and as high an order as pay, where those are free.
// Tries no more plans once `stop` says so.
FlowPlan best_plan(const Flow& flow, const FreePlan& free, const system::Stop& stop);

}  // namespace bf_aot::reach
