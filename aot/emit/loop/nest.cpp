#include "aot/emit/loop/nest.h"

#include <algorithm>

#include "frontend/diagnostic.h"

namespace bf_aot::loop {

Axis listed(Axis axis, std::string list) {
  axis.list = std::move(list);
  axis.entries = axis.end;
  return axis;
}

Nest::Nest(Expression expression) : expression_(std::move(expression)) {
  for (const Axis& axis : expression_.axes) {
    BF_CHECK(axis.begin < axis.end);
    if (axis.is_listed()) BF_CHECK(axis.begin == 0 && axis.end == axis.entries);
    loops_.push_back({axis.name, axis.name, "", 1, LoopKind::kSerial, 1});
  }
}

Nest::Nest(Expression expression, std::vector<Loop> loops)
    : expression_(std::move(expression)), loops_(std::move(loops)) {}

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

bool Nest::has_axis(const std::string& name) const {
  return std::ranges::find(expression_.axes, name, &Axis::name) != expression_.axes.end();
}

bool Nest::has_loop(const std::string& name) const {
  return std::ranges::find(loops_, name, &Loop::name) != loops_.end();
}

void Nest::split(const std::string& loop, std::int64_t step, const std::string& outer) {
  apply(Split{loop, step, outer});
}

void Nest::reorder(const std::vector<std::string>& order) {
  apply(Reorder{order});
}

void Nest::unroll(const std::string& loop, int factor) {
  apply(Unroll{loop, factor});
}

void Nest::roll(const std::string& loop) {
  apply(Roll{loop});
}

void Nest::vectorize(const std::string& loop) {
  apply(Vectorize{loop});
}

void Nest::parallel(const std::string& loop) {
  apply(Parallel{loop});
}

void Nest::bind(const std::string& loop, int stride, int items) {
  apply(Bind{loop, stride, items});
}

void Nest::cache_write(const std::string& loop) {
  apply(CacheWrite{loop});
}

void Nest::keep(const std::string& let) {
  apply(Keep{let});
}

void Nest::restrict_axis(const std::string& axis, std::int64_t begin, std::int64_t end) {
  apply(Restrict{axis, begin, end});
}

void Nest::inline_let(const std::string& let) {
  apply(Inline{let});
}

void Nest::prefetch(const std::string& buffer, std::int64_t bytes) {
  apply(Prefetch{buffer, bytes});
}

void Nest::tensorize(const std::string& loop, const std::string& intrinsic) {
  apply(Tensorize{loop, intrinsic});
}

std::int64_t Nest::prefetched(const std::string& buffer) const {
  const auto found = prefetched_.find(buffer);
  return found == prefetched_.end() ? 0 : found->second;
}

bool Nest::is_kept(const std::string& let) const {
  return std::ranges::count(kept_, let) > 0;
}

void Nest::share(std::size_t loops) {
  BF_CHECK(loops <= loops_.size());
  shared_ = std::max(shared_, loops);
}

bool Nest::is_bound() const {
  return std::ranges::any_of(loops_,
                             [](const Loop& loop) { return loop.kind == LoopKind::kBound; });
}

std::size_t Nest::region() const {
  std::size_t region = shared_;
  for (std::size_t i = shared_; i < loops_.size(); ++i) {
    const bool chosen =
        loops_[i].kind == LoopKind::kBound;  // one item runs it, also if it runs once
    if (!is_reduced(loops_[i]) && loops_[i].is_counted() && (chosen || !runs_once(loops_[i])))
      region = i + 1;
  }
  return region;
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

bool Nest::runs_once(const Loop& loop) const {
  if (trip_count(loop) != 1) return false;
  const Axis& range = axis(loop.axis);
  if (!range.is_listed() || !loop.is_counted()) return true;
  // A list may name no value in a loop of a sum, or from a later place on. Among kept places a
  // whole tile has no further ones.
  return range.reduced ? loop.step > 1 : range.begin == 0 || !loop.outer.empty();
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

std::int64_t Nest::summation_depth() const {
  // Chains are as long as the reduced loops that add to one accumulator; a sum that leaves for
  // memory or for outer accumulators adds one rounding per outer iteration.
  std::int64_t inner = 1;
  std::int64_t outer = 1;
  const std::size_t outside = region();
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (!is_reduced(loops_[i])) continue;
    const bool leaves = i < outside || loops_[i].name == partial_loop_;
    (leaves ? outer : inner) *= trip_count(loops_[i]);
  }
  return inner + outer + 1;
}

}  // namespace bf_aot::loop
