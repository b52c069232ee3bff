#include "aot/emit/loop/legality.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/loop/access.h"
#include "aot/emit/loop/fusion.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot::loop {

Reason Legality::why_not_a_name(const std::string& name) const {
  if (name.empty()) return "a loop needs a name";
  if (nest.has_loop(name) || nest.has_axis(name))
    return fmt::format("the name '{}' is taken", name);
  return std::nullopt;
}

Reason Legality::why_not_a_loop(const std::string& name) const {
  if (!nest.has_loop(name)) return fmt::format("there is no loop '{}'", name);
  if (nest.position(name) < nest.shared_)
    return fmt::format("loop '{}' is shared with another nest", name);
  return std::nullopt;
}

Reason Legality::why_not_serial(const std::string& name) const {
  if (Reason reason = why_not_a_loop(name)) return reason;
  if (nest.loop(name).kind != LoopKind::kSerial)
    return fmt::format("loop '{}' is not serial", name);
  return std::nullopt;
}

Reason Legality::why_last_is_shorter(const Loop& loop) const {
  if (nest.is_exact(loop)) return std::nullopt;
  return fmt::format("the last tile of loop '{}' is shorter than the others", loop.name);
}

// The reason why a loop's values, and their number, are not known: a list says them.
Reason Legality::why_listed(const Loop& loop) const {
  if (!nest.axis(loop.axis).is_listed()) return std::nullopt;
  return fmt::format("loop '{}' walks a list", loop.name);
}

Reason Legality::operator()(const Split& p) const {
  if (Reason reason = why_not_serial(p.loop)) return reason;
  if (Reason reason = why_not_a_name(p.outer)) return reason;
  if (p.step < 1) return "a step is at least 1";
  const Loop& inner = nest.loop(p.loop);
  if (inner.unroll > 1) return fmt::format("loop '{}' is unrolled", p.loop);
  const Axis& axis = nest.axis(inner.axis);
  const std::int64_t tile = inner.step * p.step;
  if (axis.is_listed() && axis.reduced && tile < axis.end && tile % bf::kListUnit != 0)
    return fmt::format("lists know where tiles of multiples of {} begin", bf::kListUnit);
  // Tiles of tiles are full, or end where the axis does.
  if (!inner.outer.empty() && nest.loop(inner.outer).step % (inner.step * p.step) != 0)
    return fmt::format("tiles of {} do not divide those of {} of loop '{}'", inner.step * p.step,
                       nest.loop(inner.outer).step, inner.outer);
  return std::nullopt;
}

Reason Legality::operator()(const Tile& p) const {
  if (Reason reason = (*this)(Split{p.loops[0], p.steps[0], p.outers[0]})) return reason;
  if (Reason reason = (*this)(Split{p.loops[1], p.steps[1], p.outers[1]})) return reason;
  if (p.outers[0] == p.outers[1]) return fmt::format("the name '{}' is taken", p.outers[1]);
  if (nest.loop(p.loops[0]).axis == nest.loop(p.loops[1]).axis)
    return fmt::format("loops '{}' and '{}' walk one axis", p.loops[0], p.loops[1]);
  if (Reason reason = why_not_neighbours(p.loops[0], p.loops[1])) return reason;
  return why_order_matters(nest);
}

Reason Legality::why_not_neighbours(const std::string& outer, const std::string& inner) const {
  if (nest.position(inner) != nest.position(outer) + 1)
    return fmt::format("loop '{}' is not directly inside loop '{}'", inner, outer);
  return std::nullopt;
}

Reason Legality::operator()(const Fuse& p) const {
  for (const std::string& name : {p.outer, p.inner}) {
    if (Reason reason = why_not_serial(name)) return reason;
    if (nest.loop(name).unroll > 1) return fmt::format("loop '{}' is unrolled", name);
    if (name == nest.partial_loop_) return fmt::format("sums are cached in loop '{}'", name);
  }
  if (Reason reason = why_not_a_name(p.fused)) return reason;
  if (Reason reason = why_not_neighbours(p.outer, p.inner)) return reason;
  const Loop& outer = nest.loop(p.outer);
  const Loop& inner = nest.loop(p.inner);
  for (const Loop* loop : {&outer, &inner})
    if (Reason reason = why_listed(*loop)) return reason;
  if (nest.is_reduced(outer) != nest.is_reduced(inner))
    return fmt::format("of loops '{}' and '{}' one is summed over", p.outer, p.inner);
  if (inner.outer == p.outer) {
    return why_last_is_shorter(inner);
  }
  for (const Loop* loop : {&outer, &inner}) {
    if (!loop->outer.empty())
      return fmt::format("loop '{}' walks tiles of loop '{}'", loop->name, loop->outer);
    if (!nest.is_exact(*loop))
      return fmt::format("the last tile of loop '{}' is shorter than the others", loop->name);
  }
  return why_not_fused(nest.expression_, digits_of(nest, p));
}

Reason Legality::operator()(const Reorder& p) const {
  if (p.order.size() != nest.loops_.size()) return "an order names every loop once";
  for (std::size_t i = 0; i < p.order.size(); ++i) {
    const std::string& name = p.order[i];
    if (!nest.has_loop(name)) return fmt::format("there is no loop '{}'", name);
    const auto before = p.order.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(p.order.begin(), before, name) != before) return "an order names every loop once";
    const Loop& loop = nest.loop(name);
    if (!loop.outer.empty() && std::find(p.order.begin(), before, loop.outer) == before)
      return fmt::format("loop '{}' walks tiles of loop '{}', which must be outside", name,
                         loop.outer);
    const bool innermost = loop.kind == LoopKind::kVector || loop.kind == LoopKind::kCall;
    if (innermost && i + 1 != p.order.size())
      return fmt::format("loop '{}' of lanes or a call must stay innermost", name);
    if (i < nest.shared_ && nest.loops_[i].name != name)
      return fmt::format("loop '{}' is shared with another nest", nest.loops_[i].name);
  }
  const bool moved = !std::ranges::equal(p.order, nest.loops_, {}, {}, &Loop::name);
  return moved ? why_order_matters(within_shared()) : std::nullopt;
}

Reason Legality::operator()(const Unroll& p) const {
  if (Reason reason = why_not_a_loop(p.loop)) return reason;
  const Loop& loop = nest.loop(p.loop);
  if (p.factor != 0) {
    if (!loop.is_counted()) return fmt::format("loop '{}' is not serial", p.loop);
    if (p.factor < 2) return "a factor is at least 2";
    return std::nullopt;
  }
  if (loop.kind != LoopKind::kSerial) return fmt::format("loop '{}' is not serial", p.loop);
  if (Reason reason = why_last_is_shorter(loop)) return reason;
  // A sum would also add entries that the list does not name.
  return nest.is_reduced(loop) ? why_listed(loop) : std::nullopt;
}

Reason Legality::operator()(const Roll& p) const {
  if (Reason reason = why_not_a_loop(p.loop)) return reason;
  const Loop& loop = nest.loop(p.loop);
  if (loop.kind != LoopKind::kUnrolled)
    return fmt::format("loop '{}' is not side by side in a register tile", p.loop);
  if (nest.is_reduced(loop)) return fmt::format("loop '{}' is summed over", p.loop);
  if (nest.expression_.sums.empty()) return "nothing follows sums where there are none";
  if (loop.rolled) return fmt::format("loop '{}' is rolled already", p.loop);
  return std::nullopt;
}

Reason Legality::operator()(const Vectorize& p) const {
  if (Reason reason = why_not_serial(p.loop)) return reason;
  const Loop& loop = nest.loop(p.loop);
  if (nest.position(p.loop) + 1 != nest.loops_.size())
    return fmt::format("loop '{}' is not innermost", p.loop);
  if (Reason reason = why_last_is_shorter(loop)) return reason;
  if (loop.step != 1) return fmt::format("loop '{}' walks tiles", p.loop);
  if (Reason reason = why_listed(loop)) return reason;
  if (nest.is_reduced(loop)) return fmt::format("loop '{}' is summed over", p.loop);
  const std::int64_t lanes = nest.trip_count(loop);
  if ((lanes & (lanes - 1)) != 0) return fmt::format("{} lanes are no power of two", lanes);
  if (Reason reason = why_lanes_depend(nest)) return reason;
  Nest tried = nest;
  tried.loops_.back().kind = LoopKind::kVector;
  return Legality{tried}.why_not_in_lanes();
}

Reason Legality::operator()(const Parallel& p) const {
  if (Reason reason = why_not_serial(p.loop)) return reason;
  const Loop& loop = nest.loop(p.loop);
  if (nest.is_reduced(loop)) return fmt::format("loop '{}' is summed over", p.loop);
  for (std::size_t i = 0; i < nest.position(p.loop); ++i)
    if (nest.is_reduced(nest.loops_[i]) && nest.trip_count(nest.loops_[i]) > 1)
      return fmt::format("sums over loop '{}' cross loop '{}'", nest.loops_[i].name, p.loop);
  return why_dependent(nest, loop);
}

// One iteration of the shared loops: their axes end with their first tiles.
Nest Legality::within_shared() const {
  Nest made = nest;
  for (std::size_t i = 0; i < nest.shared_; ++i) {
    const Loop& loop = nest.loops_[i];
    Axis& axis = *std::ranges::find(made.expression_.axes, loop.axis, &Axis::name);
    axis.end = std::min(axis.end, axis.begin + loop.step);
  }
  return made;
}

Reason Legality::operator()(const Bind& p) const {
  if (Reason reason = why_not_serial(p.loop)) return reason;
  const Nest one = within_shared();
  if (Reason reason = Legality{one}(Parallel{p.loop})) return reason;
  if (p.stride < 1 || p.items < 1) return "a group has at least one item";
  for (std::size_t i = nest.shared_; i < nest.position(p.loop); ++i)
    if (nest.loops_[i].kind != LoopKind::kBound)
      return fmt::format("loop '{}' is inside loop '{}', of which each item has all", p.loop,
                         nest.loops_[i].name);
  if (nest.loop(p.loop).unroll > 1) return fmt::format("loop '{}' is unrolled", p.loop);
  return std::nullopt;
}

Reason Legality::operator()(const CacheWrite& p) const {
  if (Reason reason = why_not_serial(p.loop)) return reason;
  if (!nest.is_reduced(nest.loop(p.loop)))
    return fmt::format("loop '{}' is not summed over", p.loop);
  if (!nest.partial_loop_.empty())
    return fmt::format("sums are cached in loop '{}' already", nest.partial_loop_);
  return std::nullopt;
}

Reason Legality::operator()(const Keep& p) const {
  for (const Statement& each : nest.expression_.body)
    if (const auto* let = std::get_if<Let>(&each); let != nullptr && let->name == p.let)
      return std::nullopt;
  return fmt::format("the body has no value '{}'", p.let);
}

Reason Legality::operator()(const Restrict& p) const {
  if (!nest.has_axis(p.axis)) return fmt::format("there is no axis '{}'", p.axis);
  const Axis& axis = nest.axis(p.axis);
  if (p.begin < axis.begin || p.end > axis.end || p.begin >= p.end)
    return fmt::format("{} .. {} is no part of {} .. {}", p.begin, p.end, axis.begin, axis.end);
  if (axis.is_listed() && axis.reduced) return fmt::format("axis '{}' is a list", p.axis);
  for (const Loop& loop : nest.loops_)  // else its trip count has been taken for exact
    if (loop.axis == p.axis && loop.kind != LoopKind::kSerial)
      return fmt::format("loop '{}' is not serial", loop.name);
  return std::nullopt;
}

Reason Nest::why_not(const Primitive& primitive) const {
  return std::visit(Legality{*this}, primitive);
}

}  // namespace bf_aot::loop
