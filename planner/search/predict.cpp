#include "planner/search/predict.h"

#include "planner/reference/estimate.h"

namespace bf {

double predicted_seconds(const Plan& plan, const Entry& entry, const std::vector<double>* neurons) {
  double work = 0;
  for (const Step& step : entry.steps) {
    double rows = 0;
    if (const auto* const backward = std::get_if<BackwardRows>(&step)) {
      const auto layer = static_cast<std::size_t>(backward->layer);
      rows = neurons != nullptr ? (*neurons)[layer] : plan.layers[layer].out * 0.5;
    }
    work += reference::work_of(plan, step, static_cast<std::size_t>(rows)) + 100;
  }
  return work / 1e11;
}

double predicted_compile_seconds(const Plan& plan) {
  return 0.5 + 0.1 * static_cast<double>(plan.kernels.size());
}

}  // namespace bf
