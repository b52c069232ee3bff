#include "aot/decide/neurons/split_node.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bf_aot::decide {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

float float_below(double x) {
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) <= x ? nearest : std::nextafter(nearest, -kInfinite);
}

float float_above(double x) {
  return -float_below(-x);
}

}  // namespace

void add_split(SplitNode& node, const NeuronSplit& split) {
  const auto same = std::ranges::find_if(node.splits, [&](const NeuronSplit& each) {
    return each.open == split.open && each.positive == split.positive;
  });
  if (same != node.splits.end())
    *same = split;
  else
    node.splits.push_back(split);
}

void narrow_relu(SplitNode& node, std::uint32_t open, double lower, double upper) {
  auto at = std::ranges::lower_bound(node.ranges, open, {}, &NeuronRange::open);
  if (lower >= 0 || upper <= 0) {
    if (at != node.ranges.end() && at->open == open) node.ranges.erase(at);
    add_split(node, {open, lower >= 0, 0, 0});
    return;
  }
  if (at == node.ranges.end() || at->open != open)
    at = node.ranges.insert(at, {open, -kInfinite, kInfinite});
  *at = {open, std::max(at->lower, float_below(lower)), std::min(at->upper, float_above(upper))};
}

}  // namespace bf_aot::decide
