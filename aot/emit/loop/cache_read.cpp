#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "aot/emit/loop/access.h"
#include "aot/emit/loop/legality.h"
#include "aot/emit/loop/program.h"
#include "aot/emit/loop/substitute.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

constexpr std::int64_t kMostBytes = 1 << 15;  // of an array on the stack of a small machine

// A tile of an axis that an iteration walks: `length` values from a multiple of `tile`, or from the
// axis' beginning where `tile` is 0.
struct Digit {
  std::string axis;
  std::int64_t tile = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;  // in the packed array
};

// The part of a buffer that is read in an iteration of the loop at `position`.
struct Part {
  Index index;
  std::vector<Range> within;
  Type type = Type::kFloat32;
  std::vector<Digit> digits;  // outermost first
  std::int64_t size = 1;
};

bool names(const Index& index, const std::string& axis) {
  if (std::ranges::find(index.terms, axis, &IndexTerm::axis) != index.terms.end()) return true;
  return std::ranges::any_of(index.lookups, [&](const Lookup& each) {
    return std::ranges::find(each.terms, axis, &IndexTerm::axis) != each.terms.end();
  });
}

bool names(const Part& part, const std::string& axis) {
  return names(part.index, axis) || std::ranges::any_of(part.within, [&](const Range& range) {
           return names(range.value, axis);
         });
}

// The tile in which loops inside `position` walk the axis.
Digit digit_of(const Nest& nest, const std::string& axis, std::size_t position) {
  const Axis& range = nest.axis(axis);
  Digit digit{axis, 0, range.end - range.begin};
  for (std::size_t i = 0; i <= position; ++i) {
    const Loop& loop = nest.loops()[i];
    if (loop.axis != axis || (digit.tile != 0 && loop.step > digit.tile)) continue;
    digit.tile = loop.step;
    digit.length = std::min(loop.step, range.end - range.begin);
  }
  return digit;
}

Reason find_part(const Nest& nest, const CacheRead& primitive, std::size_t position, Part& part) {
  bool found = false;
  for (const Access& access : accesses(nest.expression())) {
    if (access.buffer != primitive.buffer) continue;
    if (access.write) return fmt::format("'{}' is stored", access.buffer);
    if (found && !(access.index == part.index && access.within == part.within))
      return fmt::format("'{}' is read in two places", access.buffer);
    part.index = access.index;
    part.within = access.within;
    part.type = access.type;
    found = true;
  }
  if (!found) return fmt::format("'{}' is not read", primitive.buffer);
  for (std::size_t i = position + 1; i < nest.loops().size(); ++i) {
    const Loop& loop = nest.loops()[i];
    if (loop.step != 1 || !names(part, loop.axis)) continue;
    if (std::ranges::find(part.digits, loop.axis, &Digit::axis) != part.digits.end()) continue;
    part.digits.push_back(digit_of(nest, loop.axis, position));
    const Digit& digit = part.digits.back();
    if (digit.tile != 0 && nest.axis(digit.axis).begin % digit.tile != 0)
      return fmt::format("axis '{}' does not begin with a tile of {}", digit.axis, digit.tile);
    part.size *= digit.length;
    if (part.size > kMostBytes) return fmt::format("an array of more than {} bytes", kMostBytes);
  }
  part.size = 1;
  for (auto digit = part.digits.rbegin(); digit != part.digits.rend(); ++digit) {
    digit->stride = part.size;
    part.size *= digit->length;
    const bool is_row = digit + 1 != part.digits.rend() && digit == part.digits.rbegin();
    if (primitive.scope == Scope::kGroup && is_row && part.size % 2 == 0) ++part.size;
  }
  if (4 * part.size > kMostBytes) return fmt::format("an array of more than {} bytes", kMostBytes);
  return std::nullopt;
}

// The place of an element in the packed array: the digits' values, or places in lists, counted from
// where their tiles begin.
Index packed_index(const Nest& nest, const Part& part) {
  Index index;
  for (const Digit& digit : part.digits) {
    const Axis& axis = nest.axis(digit.axis);
    index.terms.push_back({digit.axis, 1, digit.stride, axis.walks_places()});
    if (digit.tile == 0)
      index.constant -= digit.stride * axis.begin;
    else
      index.terms.push_back(
          {digit.axis, digit.tile, -digit.stride * digit.tile, axis.walks_places()});
  }
  return index;
}

// The axis of the copy: all its values, or places.
Axis whole(Axis axis) {
  axis.list.clear();
  axis.entries = 0;
  axis.reduced = false;
  return axis;
}

// The element that a place of a list has: what the copy reads.
Index by_place(const Nest& nest, const Index& index) {
  Index made = index;
  std::erase_if(made.terms, [&](const IndexTerm& term) {
    const Axis& axis = nest.axis(term.axis);
    if (!axis.walks_places()) return false;
    made.lookups.push_back({axis.list, {{term.axis}}, 1, term.coefficient});
    return true;
  });
  return made;
}

// The reason why the copy cannot name what a list has.
Reason why_not_by_place(const Nest& nest, const Part& part) {
  const auto tiles = [&](const Index& index) {
    return std::ranges::any_of(index.terms, [&](const IndexTerm& term) {
      return nest.axis(term.axis).walks_places() && term.tile > 1;
    });
  };
  const bool apart = tiles(part.index) || std::ranges::any_of(part.within, [&](const Range& range) {
                       return tiles(range.value);
                     });
  return apart ? Reason("tiles of a list's entries have no places") : std::nullopt;
}

// The copy: the nest's loops down to the place, then the tile's digits.
Nest copy_nest(const Nest& nest, const CacheRead& primitive, const Part& part,
               std::size_t position) {
  Expression what;
  const auto add_axis = [&](const std::string& name) {
    if (std::ranges::find(what.axes, name, &Axis::name) == what.axes.end())
      what.axes.push_back(whole(nest.axis(name)));
  };
  for (std::size_t i = 0; i <= position; ++i) add_axis(nest.loops()[i].axis);
  for (const Digit& digit : part.digits) add_axis(digit.axis);
  Index packed = packed_index(nest, part);
  for (IndexTerm& term : packed.terms) term.place = false;
  std::vector<Range> within = part.within;
  for (Range& range : within) range.value = by_place(nest, range.value);
  what.body = {Store{primitive.packed,
                     std::move(packed),
                     load_within(primitive.buffer, by_place(nest, part.index), within, part.type),
                     {}}};
  std::vector<Loop> loops(nest.loops().begin(),
                          nest.loops().begin() + static_cast<std::ptrdiff_t>(position) + 1);
  for (const Digit& digit : part.digits) {
    std::string outer;
    for (const Loop& loop : loops)
      if (loop.axis == digit.axis && loop.step == digit.tile) outer = loop.name;
    loops.push_back({digit.axis, digit.axis, outer, 1, LoopKind::kSerial, 1});
  }
  return Nest(std::move(what), std::move(loops));
}

}  // namespace

Reason Program::check(const CacheRead& primitive) const {
  if (!has_nest(primitive.nest)) return fmt::format("there is no nest '{}'", primitive.nest);
  if (!nests_[position(primitive.nest)].host.empty())
    return fmt::format("nest '{}' runs inside another", primitive.nest);
  for (const std::size_t guest : guests(position(primitive.nest)))
    for (const Access& access : accesses(nests_[guest].nest.expression()))
      if (access.write && access.buffer == primitive.buffer)
        return fmt::format("nest '{}' stores '{}'", nests_[guest].name, access.buffer);
  if (has_nest(primitive.packed)) return fmt::format("the name '{}' is taken", primitive.packed);
  const Nest& reader = nest(primitive.nest);
  for (const Access& access : accesses(reader.expression()))
    if (access.buffer == primitive.packed)
      return fmt::format("the name '{}' is taken", primitive.packed);
  if (!reader.has_loop(primitive.loop))
    return fmt::format("nest '{}' has no loop '{}'", primitive.nest, primitive.loop);
  if (!reader.called().empty()) return fmt::format("'{}' is called already", reader.called());
  const std::size_t at = reader.position(primitive.loop);
  Part part;
  if (Reason reason = find_part(reader, primitive, at, part)) return reason;
  if (Reason reason = why_not_by_place(reader, part)) return reason;
  if (primitive.scope == Scope::kGroup && (staged() > 0 || part.type != Type::kFloat32))
    return "a group's memory has one array of floats";
  for (std::size_t i = 0; i <= at; ++i)
    if (reader.loops()[i].kind != LoopKind::kSerial)
      return fmt::format("loop '{}' is not serial", reader.loops()[i].name);
  Nest tried = reader;
  tried.share(at + 1);
  return Legality{tried}.why_sums_are_lost();
}

void Program::run(const CacheRead& primitive) {
  const std::size_t at = position(primitive.nest);
  Nest& reader = nests_[at].nest;
  const std::size_t loop = reader.position(primitive.loop);
  Part part;
  BF_CHECK(!find_part(reader, primitive, loop, part));
  Nest copy = copy_nest(reader, primitive, part, loop);
  const Index packed = packed_index(reader, part);
  change_values(reader.expression_, [&](const ExprPtr& each) {
    if (each->kind != ExprKind::kLoad || each->name != primitive.buffer) return each;
    return load(primitive.packed, packed, part.type);
  });
  copy.share(loop + 1);
  reader.share(loop + 1);
  locals_.push_back({primitive.packed, part.type, part.size, primitive.scope});
  nests_.insert(nests_.begin() + static_cast<std::ptrdiff_t>(at),
                {primitive.packed, std::move(copy), primitive.nest, loop + 1});
}

}  // namespace bf_aot::loop
