#include <fmt/format.h>

#include "planner/build_entries.h"

namespace bf {
namespace {

bool is_head(const Plan& plan, int layer) {
  for (const int head : plan.output_heads)
    if (head == layer) return true;
  for (const int head : plan.spec_heads)
    if (head == layer) return true;
  return false;
}

DomainChoice choose(const Plan& plan, int index) {
  const Layer& layer = plan.layers[static_cast<std::size_t>(index)];
  const bool first = layer.input < 0;
  switch (plan.config.method) {
    case Method::kIbp:
      return {index, Domain::kInterval, "ibp keeps intervals everywhere"};
    case Method::kCrownIbp:
      if (!is_head(plan, index)) return {index, Domain::kInterval, "crown-ibp: hidden layer"};
      break;
    case Method::kCrown:
      if (!is_head(plan, index) && !layer.relu)
        return {index, Domain::kInterval, "no ReLU reads its sign"};
      break;
  }
  if (first) return {index, Domain::kInterval, "affine in the box: the interval is exact"};
  return {index, Domain::kBackward,
          layer.relu ? "backward bounds of its unstable neurons" : "backward bounds of its rows"};
}

}  // namespace

void assign_domains(Plan& plan) {
  for (int i = 0; i < static_cast<int>(plan.layers.size()); ++i) {
    plan.domains.push_back(choose(plan, i));
    const DomainChoice& choice = plan.domains.back();
    const Domain other = choice.domain == Domain::kInterval ? Domain::kBackward : Domain::kInterval;
    plan.rejected.push_back(
        {"domain",
         fmt::format("{}: {}", plan.layers[static_cast<std::size_t>(i)].name, to_string(other)),
         choice.reason});
  }
}

}  // namespace bf
