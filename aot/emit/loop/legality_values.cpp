#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/loop/access.h"
#include "aot/emit/loop/intrinsics.h"
#include "aot/emit/loop/legality.h"
#include "aot/emit/loop/linear.h"

namespace bf_aot::loop {
namespace {

const Let* find_let(const std::vector<Statement>& statements, const std::string& name) {
  for (const Statement& each : statements)
    if (const auto* let = std::get_if<Let>(&each); let != nullptr && let->name == name) return let;
  return nullptr;
}

// The reason why lanes cannot be cut where an access fails its predicates. One predicate may follow
// the lanes, and only the last lanes may fail it.
Reason why_not_cut(const Nest& nest, const LoopValues& values, const Access& access) {
  int cuts = 0;
  for (const Range& range : access.within) {
    if (!can_fail(nest.expression().axes, range)) continue;
    const std::optional<std::int64_t> stride = values.lane_stride(range.value);
    if (stride == 0) continue;
    const std::string where =
        fmt::format("'{}' of '{}[{}]'", to_string(range), access.buffer, to_string(access.index));
    if (stride != 1) return "lanes are not neighbours in " + where;
    if (span(nest.expression().axes, range.value).low < range.begin)
      return "the first lanes may fail " + where;
    if (values.lane_stride(access.index) != 1) return "one element for all lanes may fail " + where;
    if (access.type != Type::kFloat32) return "only floats are cut where lanes fail " + where;
    if (++cuts > 1) return "a second predicate follows the lanes: " + where;
  }
  return std::nullopt;
}

}  // namespace

// Lanes are neighbours in memory, or one element for all.
Reason Legality::why_not_in_lanes() const {
  if (nest.lanes() == 1) return std::nullopt;
  const LoopValues values(nest);
  for (const Access& access : accesses(nest.expression_)) {
    const std::optional<std::int64_t> stride = values.lane_stride(access.index);
    if (access.write ? stride != 1 : stride != 0 && stride != 1)
      return fmt::format("lanes of '{}[{}]' are not neighbours in memory", access.buffer,
                         to_string(access.index));
    if (Reason reason = why_not_cut(nest, values, access)) return reason;
  }
  return std::nullopt;
}

Reason Legality::operator()(const Inline& p) const {
  const Expression& what = nest.expression_;
  const bool in_body = find_let(what.body, p.let) != nullptr;
  const std::vector<Statement>& statements = in_body ? what.body : what.epilogue;
  const Let* const let = find_let(statements, p.let);
  if (let == nullptr) return fmt::format("there is no value '{}'", p.let);
  if (nest.is_kept(p.let)) return fmt::format("value '{}' is kept in a register", p.let);
  if (!nest.called_.empty()) return fmt::format("'{}' is called already", nest.called_);
  Reason reason;
  bool after = false;
  for (const Statement& each : statements) {
    if (const auto* store = std::get_if<Store>(&each); store != nullptr && after)
      visit(*let->value, [&](const Expr& read) {
        if (read.kind == ExprKind::kLoad && read.name == store->buffer)
          reason = fmt::format("'{}' is stored after '{}' reads it", store->buffer, p.let);
      });
    after = after || std::get_if<Let>(&each) == let;
  }
  return reason;
}

Reason Legality::operator()(const Prefetch& p) const {
  if (p.bytes < 1) return "a distance is at least 1 byte";
  if (nest.prefetched(p.buffer) != 0) return fmt::format("'{}' is prefetched already", p.buffer);
  bool read = false;
  for (const Access& access : accesses(nest.expression_)) {
    if (access.buffer != p.buffer) continue;
    if (access.write) return fmt::format("'{}' is stored", p.buffer);
    read = true;
  }
  if (!read) return fmt::format("'{}' is not read", p.buffer);
  bool by_let = false;
  for (const Statement& each : nest.expression_.body)
    if (const auto* let = std::get_if<Let>(&each))
      visit(*let->value, [&](const Expr& node) {
        by_let = by_let || (node.kind == ExprKind::kLoad && node.name == p.buffer);
      });
  if (!by_let) return fmt::format("no value of the body is read from '{}'", p.buffer);
  return std::nullopt;
}

Reason Legality::operator()(const Tensorize& p) const {
  if (Reason reason = why_not_serial(p.loop)) return reason;
  if (nest.position(p.loop) + 1 != nest.loops_.size())
    return fmt::format("loop '{}' is not innermost", p.loop);
  const Intrinsic* const intrinsic = find_intrinsic(p.intrinsic);
  if (intrinsic == nullptr) return fmt::format("there is no intrinsic '{}'", p.intrinsic);
  if (Reason reason = why_listed(nest.loop(p.loop))) return reason;
  return why_not_matching(nest, nest.loop(p.loop), *intrinsic);
}

// ---- The schedule as a whole

Reason Legality::why_sums_are_lost() const {
  const std::size_t region = nest.region();
  for (std::size_t i = 0; i < region; ++i) {
    const Loop& loop = nest.loops_[i];
    if (!nest.is_reduced(loop)) continue;
    if (nest.axis(loop.axis).is_listed() && loop.step == 1)
      return fmt::format("no sum leaves loop '{}' where nothing counts", loop.name);
    if (nest.trip_count(loop) == 1) continue;
    for (const Sum& sum : nest.expression_.sums)
      if (sum.buffer.empty())
        return fmt::format("sum '{}' is lost in each iteration of loop '{}'", sum.accumulator,
                           loop.name);
  }
  return std::nullopt;
}

// Inside the accumulators: reduced loops, then the register tile.
Reason Legality::why_not_a_register_tile() const {
  const Loop* tile = nullptr;
  std::string outermost;
  for (std::size_t i = nest.region(); i < nest.loops_.size(); ++i) {
    const Loop& loop = nest.loops_[i];
    const bool reduced = nest.is_reduced(loop);
    if (!reduced && loop.is_counted()) continue;  // of one iteration
    if (reduced && tile != nullptr)
      return fmt::format("loop '{}' sums inside the register tile of loop '{}'", loop.name,
                         tile->name);
    if (reduced && outermost.empty()) outermost = loop.name;
    if (!reduced) tile = &loop;
  }
  const std::string& partial = nest.partial_loop_;
  if (!partial.empty() && nest.trip_count(nest.loop(partial)) > 1 && outermost != partial)
    return fmt::format(
        "loop '{}', whose sums are cached, is not the outermost that sums into an "
        "accumulator",
        partial);
  return std::nullopt;
}

Reason Legality::why_not_called() const {
  if (nest.called_.empty()) return std::nullopt;
  return why_not_matching(nest, nest.loops_.back(), *find_intrinsic(nest.called_));
}

Reason Nest::why_incomplete() const {
  const Legality legality{*this};
  if (Reason reason = legality.why_sums_are_lost()) return reason;
  if (Reason reason = legality.why_not_a_register_tile()) return reason;
  if (Reason reason = legality.why_not_called()) return reason;
  return legality.why_not_in_lanes();
}

}  // namespace bf_aot::loop
