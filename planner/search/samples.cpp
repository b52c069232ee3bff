#include "planner/search/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr std::size_t kMostBoxes = 3;

Box around_zero(const Plan& plan, double radius) {
  const auto count = static_cast<std::size_t>(plan.input_count);
  return {std::vector<double>(count, -radius), std::vector<double>(count, radius)};
}

// Share of the ReLU neurons that are unstable; -1 without any.
double unstable_share(const Plan& plan, const PerLayer<std::size_t>& bent) {
  double neurons = 0, unstable = 0;
  for (const LayerId i : plan.layer_ids()) {
    if (!plan.layer(i).relu) continue;
    neurons += plan.layer(i).out;
    unstable += static_cast<double>(bent[i]);
  }
  return neurons > 0 ? unstable / neurons : -1;
}

SampleBoxes half_unstable_box(const Plan& plan, const Entry& intervals, int most_runs) {
  constexpr int kLeast = -12;
  constexpr int kDefault = -4;
  reference::Estimator estimator(plan);
  for (int exponent = 0; exponent > kLeast && -exponent < most_runs; --exponent) {
    const Box box = around_zero(plan, std::ldexp(1, exponent));
    const auto result = estimator.run(intervals, estimator.add_box(box));
    const double share = unstable_share(plan, result.bent);
    if (share < 0) break;  // smooth functions bend on every box
    if (share <= 0.5)
      return {{box},
              {},
              fmt::format("a box around 0 of radius 2^{}, on which intervals leave {:.0f} % of the "
                          "neurons unstable: no box or property was given",
                          exponent, 100 * share)};
  }
  return {{around_zero(plan, std::ldexp(1, kDefault))},
          {},
          fmt::format("a box around 0 of radius 2^{}: no box or property was given", kDefault)};
}

}  // namespace

void check_boxes(const Plan& plan, const PlanOptions& options) {
  for (const Box& box : options.samples)
    if (box.lower.size() != static_cast<std::size_t>(plan.input_count))
      fail("BF2142", "sample boxes",
           fmt::format("a box has {} numbers, but the network has {} inputs", box.lower.size(),
                       plan.input_count));
}

SampleBoxes sample_boxes(const Plan& plan, const PlanOptions& options, const Entry& intervals,
                         int most_runs) {
  const std::vector<Box>& given = options.samples;
  if (given.empty()) return half_unstable_box(plan, intervals, most_runs);
  SampleBoxes taken;
  const std::size_t count = std::min(given.size(), kMostBoxes);
  for (std::size_t i = 0; i < count; ++i) {
    taken.numbers.push_back(i * given.size() / count);
    taken.boxes.push_back(given[taken.numbers.back()]);
  }
  taken.source = count == given.size()
                     ? fmt::format("the {} box{} given", count, count == 1 ? "" : "es")
                     : fmt::format("{} of the {} boxes given", count, given.size());
  return taken;
}

}  // namespace bf_aot
