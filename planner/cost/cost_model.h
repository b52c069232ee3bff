#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/property/property.h"
#include "planner/machine/machine_profile.h"
#include "planner/plan/plan.h"
#include "planner/reference/estimate.h"

namespace bf_aot {

// The cost model: what steps cost on a machine, from the plan and a profile alone. Nothing is run.
// The formula: docs/proofs/predicted-times.md.

struct Cost {
  double flops = 0;  // a multiply-add is two
  double bytes = 0;  // of weights and coefficients, read or written once per pass over them
  double seconds = 0;
  double wide = 0;     // of the flops: those in double
  double waiting = 0;  // of the seconds: of calls whose bytes take longer than their flops

  Cost& operator+=(const Cost& other);
  bool operator==(const Cost&) const = default;
};

struct StepCost {
  Cost total;
  std::vector<TaskPart> parts;  // in the order of the first call of each; they sum up to `total`
};

// The numbers in a step's work that depend on the box. All are 0 for kinds of steps without any.
struct StepActivity {
  double neurons = 0;  // bounded by backward rows, of a hidden layer only the unstable ones; or
                       // relaxed, but not exactly; or live
  double changes = 0;  // relaxed in another way than the neuron before (by the identity, to 0, or
                       // not exactly), where a branch may be mispredicted
  double turned = 0;   // of a smooth function: whose interval holds a turning point of it, so that
                       // its lines must be searched
  bool operator==(const StepActivity&) const = default;
};

struct Activity {
  std::vector<StepActivity> steps;
  std::string source;  // "mean of 3 boxes", "half of the neurons"
};

// The share of a layer's neurons that counts as unstable when nothing is known of the boxes. Of the
// networks and boxes of models/ and of the published benchmarks, half is on the high side for
// local robustness and on the low side for whole input domains.
constexpr double kUnstableShare = 0.5;
Activity assumed_activity(const Plan& plan, const Entry& entry, double share = kUnstableShare);

// Activity of the entry executed in double on sample boxes: a few of them, and a few rows each,
// where all would take long. Without samples, and for networks too large even so, it is
// assumed_activity().
Activity sampled_activity(const Plan& plan, const Entry& entry, std::span<const Box> samples);

// The mean activity over runs on boxes; without runs, assumed_activity().
Activity activity_of(const Plan& plan, const Entry& entry,
                     std::span<const reference::Estimator::Result> runs);

// The predicted cost of one step.
StepCost predict(const Plan& plan, const Entry& entry, const Step& step,
                 const StepActivity& activity, const MachineProfile& profile);

// All steps of an entry, in order. Sums are over the steps.
struct EntryCost {
  Cost total;
  std::vector<StepCost> steps;
};
EntryCost predict_entry(const Plan& plan, const Entry& entry, const Activity& activity,
                        const MachineProfile& profile);

// The pass: the work of the steps of each method, where a plan has several.
void count_work(Plan& plan);

// The pass: predictions of all tasks and kernels, for the boxes in `samples` if there are any.
void predict_costs(Plan& plan, std::span<const Box> samples);

}  // namespace bf_aot
