#include <algorithm>
#include <cstddef>

#include "aot/engine/run/engine.h"
#include "aot/engine/run/property.h"
#include "aot/engine/run/split_tables.h"
#include "bf/core/bounds.h"
#include "bf/search/branch_and_bound.h"
#include "bf/search/neuron_splits.h"
#include "bf/search/verdict.h"
#include "frontend/check_scope.h"

// The functions of a property: the runtime's searches, as the generated functions call them, over
// the engine's own bounds in the caller's memory.

namespace bf_aot::engine {
namespace {

// The memory of a search lies behind the workspace of the bounds.
float* float_at(void* workspace, std::size_t bytes) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + bytes);
}

// A call of bounds for a search, in the first `bytes` of its workspace.
Arguments bounds_in(const Arguments& a, std::size_t bytes, const float* low, const float* high,
                    float* row_low, float* row_high) {
  Arguments made;
  made.context.memory = a.context.memory;
  made.context.bytes = a.context.bytes;
  made.boxes.lower = low;
  made.boxes.upper = high;
  made.bounds.lower = row_low;
  made.bounds.upper = row_high;
  made.workspace = a.workspace;
  made.workspace_bytes = bytes;
  made.executor = a.executor;
  return made;
}

}  // namespace

const bf::PropertyTables& Engine::property() const {
  if (property_ == nullptr) BF_BROKEN("the engine was made without the property");
  return property_->tables();
}

// A verifier with a context bounds points without it, since they would drive the box's state out.
bf_status Engine::verify(const Signature& s, const Arguments& a, const bf::Team& team) const {
  if (const bf_status status = check_box(a.boxes.lower, a.boxes.upper)) return status;
  const std::size_t bytes = static_cast<std::size_t>(plan_->arena_bytes()) +
                            (team.workers - 1) * static_cast<std::size_t>(plan_->worker_bytes());
  const auto bounds = [&](const float* low, const float* high, float* row_low, float* row_high) {
    Signature of = {.spec = true, .parallel = s.parallel};
    of.cached = s.cached && low != high;
    return call(of, bounds_in(a, bytes, low, high, row_low, row_high));
  };
  return bf::verify_property(property(), a.boxes.lower, a.boxes.upper, a.decision.results,
                             float_at(a.workspace, bytes), bounds);
}

bf_status Engine::verify_together(const Signature& s, const Arguments& a,
                                  const bf::Team& team) const {
  const bf_status first = check_boxes(a);
  const std::size_t bytes = team.workers * static_cast<std::size_t>(plan_->batch_bytes());
  const auto bounds = [&](const float* low, const float* high, float* row_low, float* row_high) {
    const auto one = static_cast<std::size_t>(plan_->arena_bytes());
    return call({.spec = true}, bounds_in(a, one, low, high, row_low, row_high));
  };
  const auto together = [&](std::size_t count, const float* low, const float* high, float* row_low,
                            float* row_high, bf_status* statuses) {
    Arguments of = bounds_in(a, bytes, low, high, row_low, row_high);
    of.boxes.count = count;
    of.boxes.statuses = statuses;
    return call({.spec = true, .batch = true, .parallel = s.parallel}, of);
  };
  if (const bf_status status = bf::verify_boxes(property(), a.boxes.count, a.boxes.lower,
                                                a.boxes.upper, a.decision.results, a.boxes.statuses,
                                                float_at(a.workspace, bytes), together, bounds))
    return status;
  return first;
}

bf_status Engine::property_box(const Arguments& a) const {
  const bf::PropertyTables& of = property();
  if (a.of_case.index >= static_cast<std::size_t>(of.cases)) return BF_NO_SUCH_CASE;
  const auto inputs = static_cast<std::size_t>(of.inputs);
  std::copy_n(of.lower + a.of_case.index * inputs, inputs, a.of_case.lower);
  std::copy_n(of.upper + a.of_case.index * inputs, inputs, a.of_case.upper);
  return BF_OK;
}

bf_status Engine::decide_by_neurons(const Arguments& a) const {
  const SplitTables tables(*lowered_, constants_);
  const auto bytes = static_cast<std::size_t>(plan_->arena_bytes());
  const auto bounds = [&](const float* low, const float* high, float* row_low, float* row_high,
                          float* ranges) {
    Arguments of = bounds_in(a, bytes, low, high, row_low, row_high);
    of.bounds.ranges = ranges;
    return call({.spec = true, .ranges = true}, of);
  };
  return bf::decide_by_neurons(property(), tables.network(), a.boxes.lower, a.boxes.upper,
                               a.decision.budget, a.decision.results, a.decision.search,
                               float_at(a.workspace, bytes), a.workspace_bytes - bytes, bounds);
}

bf_status Engine::decide(const Arguments& a) const {
  if (const bf_status status = check_box(a.boxes.lower, a.boxes.upper)) return status;
  if (plan_->config.splits == Splits::kNeurons) return decide_by_neurons(a);
  const bool batch = plan_->config.batch > 1;
  const bool kept = std::ranges::any_of(
      plan_->functions, [](const ExportedFunction& each) { return each.signature.coefficients; });
  const auto bytes = static_cast<std::size_t>(batch ? plan_->batch_bytes() : plan_->arena_bytes());
  const auto together = [&](std::size_t count, const float* low, const float* high, float* row_low,
                            float* row_high, float* coefficients, bf_status* statuses) {
    Arguments of = bounds_in(a, bytes, low, high, row_low, row_high);
    of.boxes.count = count;
    of.bounds.coefficients = coefficients;
    of.boxes.statuses = statuses;
    return call({.spec = true, .coefficients = kept, .batch = batch}, of);
  };
  return bf::decide_property(
      property(), plan_->split_weights.empty() ? nullptr : plan_->split_weights.data(), kept,
      a.boxes.lower, a.boxes.upper, static_cast<std::size_t>(plan_->config.batch),
      a.decision.budget, a.decision.results, a.decision.search, float_at(a.workspace, bytes),
      a.workspace_bytes - bytes, together);
}

}  // namespace bf_aot::engine
