#include "aot/loop/nest.h"

#include <algorithm>

#include "frontend/diagnostic.h"

namespace bf::loop {

Nest::Nest(Expression expression) : expression_(std::move(expression)) {
  for (const Axis& axis : expression_.axes) {
    BF_CHECK(axis.begin < axis.end);
    loops_.push_back({axis.name, axis.name, "", 1, LoopKind::kSerial});
  }
}

const Axis& Nest::axis(const std::string& name) const {
  const auto found = std::ranges::find(expression_.axes, name, &Axis::name);
  BF_CHECK(found != expression_.axes.end());
  return *found;
}

std::size_t Nest::position(const std::string& name) const {
  const auto found = std::ranges::find(loops_, name, &Loop::name);
  BF_CHECK(found != loops_.end());
  return static_cast<std::size_t>(found - loops_.begin());
}

const Loop& Nest::loop(const std::string& name) const {
  return loops_[position(name)];
}

Loop& Nest::mutable_loop(const std::string& name) {
  return loops_[position(name)];
}

bool Nest::has_loop(const std::string& name) const {
  return std::ranges::find(loops_, name, &Loop::name) != loops_.end();
}

void Nest::split(const std::string& name, std::int64_t step, const std::string& outer) {
  BF_CHECK(step > 0 && !has_loop(outer));
  const std::size_t at = position(name);
  Loop& inner = loops_[at];
  BF_CHECK(inner.kind == LoopKind::kSerial);
  const Loop around{outer, inner.axis, inner.outer, inner.step * step, LoopKind::kSerial};
  // Tiles of tiles are full, or end where the axis does.
  BF_CHECK(inner.outer.empty() || loop(inner.outer).step % around.step == 0);
  inner.outer = outer;
  loops_.insert(loops_.begin() + static_cast<std::ptrdiff_t>(at), around);
}

void Nest::reorder(const std::vector<std::string>& names) {
  BF_CHECK(names.size() == loops_.size());
  std::vector<Loop> ordered;
  for (const std::string& name : names) {
    const Loop& next = loop(name);
    // A tile's loop must be outside the loop that walks the tile.
    BF_CHECK(next.outer.empty() ||
             std::ranges::find(ordered, next.outer, &Loop::name) != ordered.end());
    BF_CHECK(std::ranges::find(ordered, name, &Loop::name) == ordered.end());
    BF_CHECK(next.kind != LoopKind::kVector || ordered.size() + 1 == loops_.size());
    ordered.push_back(next);
  }
  loops_ = std::move(ordered);
}

void Nest::unroll(const std::string& name) {
  BF_CHECK(is_exact(loop(name)));
  mutable_loop(name).kind = LoopKind::kUnrolled;
}

void Nest::vectorize(const std::string& name) {
  BF_CHECK(position(name) + 1 == loops_.size() && is_exact(loop(name)) && loop(name).step == 1);
  mutable_loop(name).kind = LoopKind::kVector;
}

void Nest::partial_sums(const std::string& name) {
  BF_CHECK(axis(loop(name).axis).reduced && loop(name).kind == LoopKind::kSerial);
  partial_loop_ = name;
}

void Nest::keep_in_register(const std::string& let) {
  kept_.push_back(let);
}

bool Nest::is_kept(const std::string& let) const {
  return std::ranges::count(kept_, let) > 0;
}

void Nest::restrict_axis(const std::string& name, std::int64_t begin, std::int64_t end) {
  const auto found = std::ranges::find(expression_.axes, name, &Axis::name);
  BF_CHECK(found != expression_.axes.end() && found->begin <= begin && begin < end &&
           end <= found->end);
  for (const Loop& each : loops_)  // else its trip count has been taken for exact
    BF_CHECK(each.axis != name || each.kind == LoopKind::kSerial);
  found->begin = begin;
  found->end = end;
}

std::int64_t Nest::lanes() const {
  for (const Loop& loop : loops_)
    if (loop.kind == LoopKind::kVector) return trip_count(loop);
  return 1;
}

std::int64_t Nest::trip_count(const Loop& inner) const {
  const Axis& range = axis(inner.axis);
  std::int64_t length = range.end - range.begin;
  if (!inner.outer.empty()) length = std::min(length, loop(inner.outer).step);
  return (length + inner.step - 1) / inner.step;
}

bool Nest::is_exact(const Loop& inner) const {
  const Axis& range = axis(inner.axis);
  const std::int64_t length = range.end - range.begin;
  if (inner.outer.empty()) return length % inner.step == 0;
  const std::int64_t tile = loop(inner.outer).step;
  if (length <= tile) return length % inner.step == 0;
  return tile % inner.step == 0 && length % tile == 0;
}

bool Nest::sums_in_float() const {
  return std::ranges::any_of(expression_.sums,
                             [](const Sum& sum) { return sum.value->type == Type::kFloat32; });
}

std::int64_t Nest::summation_depth(const std::string& shared) const {
  // Chains are as long as the reduced loops that add to one accumulator; a sum that leaves for
  // memory or for outer accumulators adds one rounding per outer iteration.
  std::int64_t inner = 1;
  std::int64_t outer = 1;
  std::size_t last_space = 0;  // position after the last serial loop over a kept axis
  for (std::size_t i = 0; i < loops_.size(); ++i)
    if (!axis(loops_[i].axis).reduced && loops_[i].kind == LoopKind::kSerial &&
        trip_count(loops_[i]) > 1)
      last_space = i + 1;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (!axis(loops_[i].axis).reduced) continue;
    const bool leaves =
        i < last_space || loops_[i].name == partial_loop_ || loops_[i].name == shared;
    (leaves ? outer : inner) *= trip_count(loops_[i]);
  }
  return inner + outer + 1;
}

}  // namespace bf::loop
