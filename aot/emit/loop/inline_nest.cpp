#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "aot/emit/loop/access.h"
#include "aot/emit/loop/program.h"
#include "aot/emit/loop/substitute.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

// The one element that a producer stores at each of its points, and its value.
struct Produced {
  Store store;
};

Reason find_produced(const Nest& nest, const std::string& name, Produced& produced) {
  const Expression plain = without_lets(nest.expression());
  if (!plain.sums.empty()) return fmt::format("nest '{}' sums", name);
  if (plain.body.size() != 1)
    return fmt::format("nest '{}' stores {} elements at a point", name, plain.body.size());
  produced.store = std::get<Store>(plain.body.front());
  if (!produced.store.within.empty())
    return fmt::format("nest '{}' stores with a padding predicate", name);
  if (!produced.store.index.lookups.empty())
    return fmt::format("nest '{}' stores where a table says", name);
  return std::nullopt;
}

// The consumer's axis for each of the producer's: the same coefficient in the index.
Reason find_axes(const Nest& producer, const Index& stored, const Nest& consumer, const Index& read,
                 std::map<std::string, std::string>& axes) {
  const auto differs = [&] {
    return fmt::format("element '{}' is read as '{}'", to_string(stored), to_string(read));
  };
  if (stored.constant != read.constant || !read.lookups.empty() ||
      stored.terms.size() != read.terms.size())
    return differs();
  for (const IndexTerm& term : stored.terms) {
    const auto like = [&](const IndexTerm& other) {
      return other.tile == 1 && other.coefficient == term.coefficient;
    };
    if (term.tile != 1 || std::ranges::count_if(stored.terms, like) != 1 ||
        std::ranges::count_if(read.terms, like) != 1)
      return differs();
    const std::string& mine = std::ranges::find_if(read.terms, like)->axis;
    const Axis& inner = consumer.axis(mine);
    const Axis& outer = producer.axis(term.axis);
    if (inner.begin < outer.begin || inner.end > outer.end)
      return fmt::format("axis '{}' reads more than axis '{}' stores", mine, term.axis);
    if (!axes.try_emplace(term.axis, mine).second) return differs();
  }
  for (const Axis& axis : producer.expression().axes)
    if (!axes.contains(axis.name))
      return fmt::format("axis '{}' does not say where an element lies", axis.name);
  return std::nullopt;
}

ExprPtr in_axes(const ExprPtr& value, const std::map<std::string, std::string>& axes) {
  return change_indices(value, [&](const Index& index) {
    Index made = index;
    for (IndexTerm& term : made.terms) term.axis = axes.at(term.axis);
    for (Lookup& each : made.lookups)
      for (IndexTerm& term : each.terms) term.axis = axes.at(term.axis);
    return made;
  });
}

// The consumer with the producer's value where it reads an element.
Expression inlined(const Nest& producer, const Produced& produced, const Nest& consumer) {
  Expression what = consumer.expression();
  change_values(what, [&](const ExprPtr& each) {
    if (each->kind != ExprKind::kLoad || each->name != produced.store.buffer) return each;
    std::map<std::string, std::string> axes;
    BF_CHECK(!find_axes(producer, produced.store.index, consumer, each->index, axes));
    return in_axes(produced.store.value, axes);
  });
  return what;
}

}  // namespace

Reason Program::check(const InlineNest& primitive) const {
  for (const std::string& name : {primitive.producer, primitive.consumer})
    if (Reason reason = why_not_alone(name)) return reason;
  const std::size_t from = position(primitive.producer);
  const std::size_t to = position(primitive.consumer);
  if (from >= to) return fmt::format("nest '{}' runs later", primitive.producer);
  const Nest& producer = nests_[from].nest;
  const Nest& consumer = nests_[to].nest;
  for (const Nest* nest : {&producer, &consumer})
    if (Reason reason = why_listed(*nest)) return reason;
  Produced produced;
  if (Reason reason = find_produced(producer, primitive.producer, produced)) return reason;
  const std::string& buffer = produced.store.buffer;
  if (std::ranges::find(locals_, buffer, &Local::name) == locals_.end())
    return fmt::format("'{}' is no array of the function: others may read it", buffer);
  bool read = false;
  for (const Access& access : accesses(consumer.expression())) {
    if (access.buffer != buffer) continue;
    if (access.write) return fmt::format("nest '{}' stores '{}'", primitive.consumer, buffer);
    if (!access.within.empty()) return fmt::format("'{}' is read with a padding predicate", buffer);
    std::map<std::string, std::string> axes;
    if (Reason reason = find_axes(producer, produced.store.index, consumer, access.index, axes))
      return reason;
    read = true;
  }
  if (!read) return fmt::format("nest '{}' does not read '{}'", primitive.consumer, buffer);
  if (!consumer.called().empty()) return fmt::format("'{}' is called already", consumer.called());
  for (std::size_t i = from + 1; i < nests_.size(); ++i)
    for (const Access& access : accesses(nests_[i].nest.expression())) {
      if (i != to && access.buffer == buffer)
        return fmt::format("nest '{}' uses '{}' too", nests_[i].name, buffer);
      for (const Access& mine : accesses(producer.expression()))
        if (i <= to && access.write && !mine.write && mine.buffer == access.buffer)
          return fmt::format("nest '{}' stores '{}', which is read", nests_[i].name, mine.buffer);
    }
  Nest tried = consumer;
  tried.expression_ = inlined(producer, produced, consumer);
  return tried.why_incomplete();
}

void Program::run(const InlineNest& primitive) {
  const Nest producer = nest(primitive.producer);
  Nest& consumer = nest(primitive.consumer);
  Produced produced;
  BF_CHECK(!find_produced(producer, primitive.producer, produced));
  consumer.expression_ = inlined(producer, produced, consumer);
  std::erase_if(locals_, [&](const Local& each) { return each.name == produced.store.buffer; });
  nests_.erase(nests_.begin() + static_cast<std::ptrdiff_t>(position(primitive.producer)));
}

}  // namespace bf_aot::loop
