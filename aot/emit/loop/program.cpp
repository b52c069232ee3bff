#include "aot/emit/loop/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "aot/emit/loop/access.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {

namespace {

struct ProgramText {
  std::string operator()(const ComputeAt& p) const {
    return fmt::format("compute_at({}, {}, {})", p.nest, p.host, p.loop);
  }
  std::string operator()(const CacheRead& p) const {
    return fmt::format("cache_read({}, {}, {}, {}{})", p.nest, p.buffer, p.loop, p.packed,
                       p.scope == Scope::kGroup ? ", group" : "");
  }
  std::string operator()(const InlineNest& p) const {
    return fmt::format("inline({}, {})", p.producer, p.consumer);
  }
};

}  // namespace

std::string to_string(const ProgramPrimitive& primitive) {
  return std::visit(ProgramText{}, primitive);
}

void Program::add(std::string name, Nest nest) {
  BF_CHECK(!has_nest(name));
  nests_.push_back({std::move(name), std::move(nest), {}, 0});
}

void Program::add_local(Local local) {
  locals_.push_back(std::move(local));
}

bool Program::has_nest(const std::string& name) const {
  return std::ranges::find(nests_, name, &Placed::name) != nests_.end();
}

std::size_t Program::position(const std::string& name) const {
  const auto found = std::ranges::find(nests_, name, &Placed::name);
  BF_CHECK(found != nests_.end());
  return static_cast<std::size_t>(found - nests_.begin());
}

const Nest& Program::nest(const std::string& name) const {
  return nests_[position(name)].nest;
}

Nest& Program::nest(const std::string& name) {
  return nests_[position(name)].nest;
}

std::vector<std::size_t> Program::guests(std::size_t at) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < nests_.size(); ++i)
    if (!nests_[i].host.empty() && nests_[i].host == nests_[at].name) found.push_back(i);
  return found;
}

namespace {

// The reason why the first `depth` loops of both nests are not equal, whatever they are around.
Reason why_loops_differ(const Nest& nest, const Nest& host, const ComputeAt& primitive,
                        std::size_t depth) {
  if (nest.loops().size() < depth)
    return fmt::format("nest '{}' has fewer than {} loops", primitive.nest, depth);
  for (std::size_t i = 0; i < depth; ++i) {
    const Loop& mine = nest.loops()[i];
    const Loop& theirs = host.loops()[i];
    if (mine.kind != LoopKind::kSerial || theirs.kind != LoopKind::kSerial)
      return fmt::format("loop '{}' is not serial",
                         mine.kind == LoopKind::kSerial ? theirs.name : mine.name);
    if (!(mine == theirs) || !(nest.axis(mine.axis) == host.axis(theirs.axis)))
      return fmt::format("loop '{}' of nest '{}' is not loop '{}' of nest '{}'", mine.name,
                         primitive.nest, theirs.name, primitive.host);
  }
  return std::nullopt;
}

}  // namespace

// The nests ran one after the other; now they take turns. What one writes in an iteration and the
// other touches must be the other's of the same iteration.
Reason Program::why_order_matters(const ComputeAt& primitive, std::size_t depth) const {
  const Nest& guest = nest(primitive.nest);
  std::vector<std::size_t> others = guests(position(primitive.host));
  others.push_back(position(primitive.host));
  for (const std::size_t at : others) {
    const Nest& other = nests_[at].nest;
    for (const Access& mine : accesses(guest.expression()))
      for (const Access& theirs : accesses(other.expression())) {
        if (mine.buffer != theirs.buffer || (!mine.write && !theirs.write)) continue;
        const Span a = span(guest.expression().axes, mine.index);
        const Span b = span(other.expression().axes, theirs.index);
        if (a.high < b.low || b.high < a.low) continue;
        bool apart = true;  // in every loop, so equal elements mean the same iteration of all
        for (std::size_t i = 0; i < depth; ++i)
          apart = apart && apart_by_iteration(guest, guest.loops()[i], mine, other, theirs);
        if (!apart)
          return fmt::format(
              "nests '{}' and '{}' touch the same elements of '{}' in different "
              "iterations of loop '{}'",
              primitive.nest, nests_[at].name, mine.buffer, primitive.loop);
      }
  }
  return std::nullopt;
}

Reason Program::check(const ComputeAt& primitive) const {
  for (const std::string& name : {primitive.nest, primitive.host})
    if (!has_nest(name)) return fmt::format("there is no nest '{}'", name);
  if (primitive.nest == primitive.host) return "a nest is not computed in itself";
  const std::size_t at = position(primitive.nest);
  const std::size_t host = position(primitive.host);
  if (!nests_[at].host.empty() || !guests(at).empty())
    return fmt::format("nest '{}' is placed already", primitive.nest);
  if (!nests_[host].host.empty())
    return fmt::format("nest '{}' runs inside another itself", primitive.host);
  for (std::size_t i = std::min(at, host) + 1; i < std::max(at, host); ++i)
    if (nests_[i].host != primitive.host)
      return fmt::format("nest '{}' runs between them", nests_[i].name);
  const Nest& around = nests_[host].nest;
  if (!around.has_loop(primitive.loop))
    return fmt::format("nest '{}' has no loop '{}'", primitive.host, primitive.loop);
  const auto loop = std::ranges::find(around.loops(), primitive.loop, &Loop::name);
  const auto depth = static_cast<std::size_t>(loop - around.loops().begin()) + 1;
  if (Reason reason = why_loops_differ(nests_[at].nest, around, primitive, depth)) return reason;
  for (const Placed* each : {&nests_[at], &nests_[host]}) {
    Nest tried = each->nest;
    tried.share(depth);
    if (Reason reason = tried.why_incomplete())
      return fmt::format("nest '{}': {}", each->name, *reason);
  }
  return why_order_matters(primitive, depth);
}

void Program::run(const ComputeAt& primitive) {
  Placed& guest = nests_[position(primitive.nest)];
  Nest& host = nest(primitive.host);
  const auto loop = std::ranges::find(host.loops(), primitive.loop, &Loop::name);
  guest.host = primitive.host;
  guest.depth = static_cast<std::size_t>(loop - host.loops().begin()) + 1;
  guest.nest.share(guest.depth);
  host.share(guest.depth);
}

Reason Program::why_not(const ProgramPrimitive& primitive) const {
  return std::visit([&](const auto& each) { return check(each); }, primitive);
}

void Program::apply(const ProgramPrimitive& primitive) {
  if (const Reason reason = why_not(primitive)) {
    fmt::print(stderr, "{}: {}\n", to_string(primitive), *reason);
    BF_CHECK(!"the primitive applies");
  }
  std::visit([&](const auto& each) { run(each); }, primitive);
  applied_.push_back(primitive);
}

// The reason why it is not known which elements a nest touches: a list says it.
Reason Program::why_listed(const Nest& nest) {
  for (const Axis& axis : nest.expression().axes)
    if (axis.is_listed()) return fmt::format("axis '{}' is a list", axis.name);
  return std::nullopt;
}

Reason Program::why_not_alone(const std::string& name) const {
  if (!has_nest(name)) return fmt::format("there is no nest '{}'", name);
  const std::size_t at = position(name);
  if (!nests_[at].host.empty()) return fmt::format("nest '{}' runs inside another", name);
  if (!guests(at).empty()) return fmt::format("nests run inside '{}'", name);
  return std::nullopt;
}

void Program::compute_at(const std::string& nest, const std::string& host,
                         const std::string& loop) {
  apply(ComputeAt{nest, host, loop});
}

std::int64_t Program::staged() const {
  std::int64_t floats = 0;
  for (const Local& each : locals_)
    if (each.scope == Scope::kGroup) floats += each.size;
  return floats;
}

Reason Program::why_incomplete() const {
  for (const Placed& each : nests_)
    if (Reason reason = each.nest.why_incomplete())
      return fmt::format("nest '{}': {}", each.name, *reason);
  for (const Local& each : locals_)
    if (each.scope == Scope::kGroup && !nest(each.name).is_bound())
      return fmt::format("nest '{}': each item of the group copies all", each.name);
  return std::nullopt;
}

}  // namespace bf_aot::loop
