#pragma once

#include <cstddef>
#include <memory>

#include "aot/engine/verifier/verifier.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

// A device that bounds boxes by a plan of its own, many at a time.
struct BoxDevice {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const engine::HostVerifier> host;
  std::size_t boxes = 0;  // that go together
};

}  // namespace bf_aot::decide
