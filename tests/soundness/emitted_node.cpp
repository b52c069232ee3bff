#include "tests/soundness/emitted_node.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "aot/engine/run/engine.h"
#include "planner/plan/functions.h"
#include "planner/planner.h"

namespace bf_aot::soundness {
namespace {

// Floats in order, as integers.
float float_at(std::int64_t order) {
  const auto bits = static_cast<std::uint32_t>(order >= 0 ? order : -order);
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return order >= 0 ? x : -x;
}

}  // namespace

EmittedNode::EmittedNode(std::shared_ptr<const Plan> plan, FloatBox given)
    : lowered_(lower(std::move(plan))),
      plan_(lowered_->shared_plan()),
      box_(std::move(given)),
      constants_(*lowered_),
      tables_(*lowered_, constants_) {
  const std::size_t inputs = box_.lower.size();
  inside_.assign(inputs, 3);
  property_.inputs = static_cast<std::int32_t>(inputs);
  property_.rows = plan_->spec_rows;
  property_.lower = box_.lower.data();
  property_.upper = box_.upper.data();
  property_.inside = inside_.data();
  search.property = &property_;
  search.bounds.network = &tables_.network();
  search.inputs = inputs;
  search.rows = static_cast<std::size_t>(plan_->spec_rows);
  const bf::SplitExtents extents = split_extents(*plan_);
  const std::size_t bytes =
      bf::split_bytes(extents) + 2 * bf::open_node_bytes(extents.choices, extents.terms);
  memory_.resize(bytes / sizeof(double) + 1);
  if (!bf::share_out(search, memory_.data(), bytes)) throw std::logic_error("no room");
  std::ranges::copy(box_.lower, search.case_lower);
  std::ranges::copy(box_.upper, search.case_upper);
  const engine::Engine engine(lowered_);
  std::vector<unsigned char> workspace(static_cast<std::size_t>(plan_->arena_bytes()) + 64);
  const auto bounds = [&](const float* low, const float* high, float* row_low, float* row_high,
                          float* ranges) {
    engine::Arguments a;
    a.boxes.lower = low;
    a.boxes.upper = high;
    a.bounds.lower = row_low;
    a.bounds.upper = row_high;
    a.bounds.ranges = ranges;
    a.workspace =
        workspace.data() + (64 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64) % 64;
    a.workspace_bytes = static_cast<std::size_t>(plan_->arena_bytes());
    return engine.call({.spec = true, .ranges = true}, a);
  };
  is_ready = bf::begin_case(search, bounds) == BF_OK;
}

float EmittedNode::last_proven() {
  const float sign = bounds().terms[0].sign;
  std::int64_t yes = -0x7f7fffff, no = 0x7f7fffff;
  const auto at = [&](std::int64_t order) { return sign * float_at(order); };
  if (!is_proven(at(yes))) return std::numeric_limits<float>::quiet_NaN();
  if (is_proven(at(no))) return at(no);
  while (no - yes > 1) {
    const std::int64_t middle = yes + (no - yes) / 2;
    (is_proven(at(middle)) ? yes : no) = middle;
  }
  return at(yes);
}

}  // namespace bf_aot::soundness
