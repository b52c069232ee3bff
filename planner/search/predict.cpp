#include "planner/search/predict.h"

#include "planner/cost/cost_model.h"

namespace bf_aot {

double predicted_seconds(const Plan& plan, const Entry& entry,
                         std::span<const reference::Estimator::Result> runs) {
  return predict_entry(plan, entry, activity_of(plan, entry, runs), profile_of(plan.config))
      .total.seconds;
}

// GCC 12 -O3 on nine networks of 5 to 27 kernels by three methods: within a factor of two of most.
double predicted_compile_seconds(const Plan& plan) {
  constexpr double kFile = 0.05, kNest = 0.05, kRoutine = 0.1;
  double seconds = kFile;
  for (const Kernel& kernel : plan.kernels)
    seconds += kernel.reason == "a routine of the runtime" ? kRoutine : kNest;
  return seconds;
}

}  // namespace bf_aot
