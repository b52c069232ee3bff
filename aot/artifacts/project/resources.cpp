#include "aot/artifacts/project/resources.h"

#include <algorithm>

#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

std::int64_t memory_of_caller(const Plan& plan) {
  std::int64_t most = plan.arena_bytes();
  for (const ExportedFunction& function : plan.functions)
    if (!function.workspace.macro.empty()) most = std::max(most, function.workspace.bytes);
  return most + plan.context.bytes;
}

}  // namespace

Resources resources_of(const Plan& plan, std::int64_t weights_bytes,
                       const std::optional<build::Footprint>& footprint) {
  Resources resources;
  resources.called = memory_of_caller(plan);
  resources.ram = resources.called;
  resources.flash = weights_bytes;
  if (!footprint) return resources;
  resources.built = true;
  resources.flash = footprint->text + footprint->data + footprint->library_bytes.value_or(0);
  resources.ram += footprint->data + footprint->zeroed + footprint->stack.value_or(0);
  resources.stack_known = footprint->stack.has_value();
  return resources;
}

}  // namespace bf_aot::artifacts
