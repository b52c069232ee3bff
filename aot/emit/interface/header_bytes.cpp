#include "aot/emit/interface/header_bytes.h"

#include <algorithm>

#include "aot/emit/interface/signature.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {
namespace {

std::int64_t workspace_of(const Plan& plan, const Signature& signature, std::int64_t without) {
  const ExportedFunction* const function = find_function(plan, signature);
  return function == nullptr ? 0 : function->workspace.bytes - without;
}

}  // namespace

HeaderBytes header_bytes(const Plan& plan) {
  HeaderBytes bytes;
  bytes.workspace = plan.arena_bytes();
  bytes.align = plan.config.target.align;
  bytes.weights = plan.weights_bytes();
  bytes.context = plan.context.bytes;
  bytes.persistent = plan.context.persistent_bytes;
  bytes.batch = plan.batch_bytes();
  bytes.batch_parallel = plan.config.workers * bytes.batch;
  bytes.worker = plan.worker_bytes();
  bytes.parallel = plan.parallel_bytes();
  bytes.verify = workspace_of(plan, {.purpose = Purpose::kVerify}, bytes.workspace);
  bytes.verify_batch =
      workspace_of(plan, {.purpose = Purpose::kVerify, .batch = true}, bytes.batch);
  bytes.within = workspace_of(plan, {.within = true}, bytes.workspace);
  bytes.decide = plan.decide.bytes;
  bytes.open_box = plan.decide.open_box_bytes;
  return bytes;
}

HeaderBytes of_both(const HeaderBytes& a, const HeaderBytes& b) {
  HeaderBytes both;
  for (const auto member :
       {&HeaderBytes::workspace, &HeaderBytes::align, &HeaderBytes::context,
        &HeaderBytes::persistent, &HeaderBytes::batch, &HeaderBytes::batch_parallel,
        &HeaderBytes::worker, &HeaderBytes::parallel, &HeaderBytes::verify,
        &HeaderBytes::verify_batch, &HeaderBytes::within, &HeaderBytes::decide,
        &HeaderBytes::open_box})
    both.*member = std::max(a.*member, b.*member);
  both.weights = a.weights + b.weights;
  return both;
}

}  // namespace bf_aot::emit
