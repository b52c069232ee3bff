#pragma once

#include <vector>

#include "planner/manifest/plan_json.h"

namespace bf_aot {

// A layer, kernel or buffer is named, not numbered; null stands for the caller's arrays.
struct Names {
  using Json = nlohmann::ordered_json;

  const Plan& plan;
  const Entry& entry;

  Json buffer(BufferId id) const;
  Json buffers(const std::vector<BufferId>& ids) const;
  Json layer(LayerId index) const;
  Json kernel(KernelId id) const;
};

// Every field of a step, in order.
nlohmann::ordered_json step_json(const Names& names, const Step& step);

}  // namespace bf_aot
