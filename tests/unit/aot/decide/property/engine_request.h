#pragma once

#include "aot/decide/request.h"

namespace bf_aot::decide {

// A request of one thread, by the engine's own code for this machine.
inline Request engine_request() {
  Request request;
  request.jobs = 1;
  request.compile.planner.lowering = Lowering::kPrebuilt;
  request.compile.planner.target = find_target("host");
  request.compile.planner.profile = host_profile();
  return request;
}

}  // namespace bf_aot::decide
