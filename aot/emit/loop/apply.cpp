#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "aot/emit/loop/fusion.h"
#include "aot/emit/loop/nest.h"
#include "aot/emit/loop/substitute.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {

// Applies primitives that are legal for the nest.
struct Application {
  Nest& nest;

  Loop& loop(const std::string& name) const { return nest.loops_[nest.position(name)]; }

  void operator()(const Split& p) const {
    const std::size_t at = nest.position(p.loop);
    Loop& inner = nest.loops_[at];
    const Loop around{p.outer, inner.axis, inner.outer, inner.step * p.step, LoopKind::kSerial, 1};
    inner.outer = p.outer;
    nest.loops_.insert(nest.loops_.begin() + static_cast<std::ptrdiff_t>(at), around);
  }

  void operator()(const Tile& p) const {
    (*this)(Split{p.loops[0], p.steps[0], p.outers[0]});
    (*this)(Split{p.loops[1], p.steps[1], p.outers[1]});
    // The order is now outers[0], loops[0], outers[1], loops[1].
    std::swap(loop(p.loops[0]), loop(p.outers[1]));
  }

  void operator()(const Fuse& p) const {
    const std::size_t at = nest.position(p.outer);
    const Loop outer = nest.loops_[at];
    const Loop inner = nest.loops_[at + 1];
    Loop made{p.fused, p.fused, "", 1, LoopKind::kSerial, 1};
    if (inner.outer == p.outer)
      made = {p.fused, inner.axis, outer.outer, inner.step, LoopKind::kSerial, 1};
    else
      nest.expression_ = fused(nest.expression_, digits_of(nest, p));
    nest.loops_.erase(nest.loops_.begin() + static_cast<std::ptrdiff_t>(at));
    nest.loops_[at] = made;
    const bool same_axis = made.axis != p.fused;
    for (Loop& each : nest.loops_)
      if (each.outer == p.outer || each.outer == p.inner)
        each.outer = same_axis ? p.fused : std::string();
  }

  void operator()(const Reorder& p) const {
    std::vector<Loop> ordered;
    for (const std::string& name : p.order) ordered.push_back(loop(name));
    nest.loops_ = std::move(ordered);
  }

  void operator()(const Unroll& p) const {
    if (p.factor == 0)
      loop(p.loop).kind = LoopKind::kUnrolled;
    else
      loop(p.loop).unroll = p.factor;
  }

  void operator()(const Roll& p) const { loop(p.loop).rolled = true; }
  void operator()(const Vectorize& p) const { loop(p.loop).kind = LoopKind::kVector; }
  void operator()(const Parallel& p) const { loop(p.loop).kind = LoopKind::kParallel; }
  void operator()(const Bind& p) const {
    Loop& bound = loop(p.loop);
    bound.kind = LoopKind::kBound;
    bound.stride = p.stride;
    bound.items = p.items;
  }
  void operator()(const CacheWrite& p) const { nest.partial_loop_ = p.loop; }
  void operator()(const Keep& p) const { nest.kept_.push_back(p.let); }

  void operator()(const Inline& p) const { inline_let(nest.expression_, p.let); }
  void operator()(const Prefetch& p) const { nest.prefetched_[p.buffer] = p.bytes; }

  void operator()(const Tensorize& p) const {
    loop(p.loop).kind = LoopKind::kCall;
    nest.called_ = p.intrinsic;
  }

  void operator()(const Restrict& p) const {
    Axis& axis = *std::ranges::find(nest.expression_.axes, p.axis, &Axis::name);
    axis.begin = p.begin;
    axis.end = p.end;
  }
};

void Nest::apply(const Primitive& primitive) {
  if (const Reason reason = why_not(primitive)) {
    fmt::print(stderr, "{}: {}\n", to_string(primitive), *reason);
    BF_CHECK(!"the primitive applies");
  }
  std::visit(Application{*this}, primitive);
  applied_.push_back(primitive);
}

}  // namespace bf_aot::loop
