#include "aot/emit/loop/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

constexpr std::int64_t kAnything = std::numeric_limits<std::int64_t>::max() / 8;

std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor);
}

// The part of an index that one axis makes, at a value of it.
std::int64_t part(const Index& index, const std::string& axis, std::int64_t value) {
  std::int64_t sum = 0;
  for (const IndexTerm& term : index.terms)
    if (term.axis == axis) sum += term.coefficient * floor_divide(value, term.tile);
  return sum;
}

Span part_span(const Index& index, const std::string& axis, std::int64_t begin, std::int64_t end) {
  if (std::ranges::find(index.terms, axis, &IndexTerm::axis) == index.terms.end()) return {0, 0};
  Span span{kAnything, -kAnything};
  for (std::int64_t value = begin; value < end; ++value) {
    const std::int64_t at = part(index, axis, value);
    span = {std::min(span.low, at), std::max(span.high, at)};
  }
  return span;
}

Span add(const Span& a, const Span& b) {
  return {std::max(a.low + b.low, -kAnything), std::min(a.high + b.high, kAnything)};
}

// The span of an index over all axes but one.
Span span_but(const std::vector<Axis>& axes, const Index& index, const std::string& left_out) {
  Span sum{index.constant, index.constant};
  for (const Axis& axis : axes)
    if (axis.name != left_out)
      sum = add(sum, part_span(index, axis.name, axis.first_value(), axis.end_of_values()));
  if (!index.lookups.empty()) return {-kAnything, kAnything};
  return sum;
}

struct Footprint {
  std::int64_t iteration = 0;
  Span span;
};

void append_footprints(const Nest& nest, const Loop& loop, const Access& access,
                       std::vector<Footprint>& to) {
  const Axis& axis = nest.axis(loop.axis);
  const Span others = span_but(nest.expression().axes, access.index, loop.axis);
  // The entries of a list that an iteration has are not known, so that each value counts as an
  // iteration.
  const std::int64_t step = axis.walks_places() ? 1 : loop.step;
  for (std::int64_t value = axis.first_value(); value < axis.end_of_values(); value += step) {
    const std::int64_t end = std::min(value + step, axis.end_of_values());
    to.push_back({value, add(part_span(access.index, loop.axis, value, end), others)});
  }
}

// Returns whether the index takes each value at most once: its axes are digits, each larger than
// all below.
bool is_one_to_one(const std::vector<Axis>& axes, const Index& index) {
  if (!index.lookups.empty()) return false;
  struct Digit {
    std::int64_t gap, span;
  };
  std::vector<Digit> digits;
  for (const Axis& axis : axes) {
    if (std::ranges::find(index.terms, axis.name, &IndexTerm::axis) == index.terms.end()) continue;
    std::vector<std::int64_t> values;
    for (std::int64_t value = axis.first_value(); value < axis.end_of_values(); ++value)
      values.push_back(part(index, axis.name, value));
    std::ranges::sort(values);
    std::int64_t gap = kAnything;
    for (std::size_t i = 1; i < values.size(); ++i) gap = std::min(gap, values[i] - values[i - 1]);
    digits.push_back({gap, values.back() - values.front()});
  }
  std::ranges::sort(digits, {}, &Digit::gap);
  std::int64_t below = 0;
  for (const Digit& digit : digits) {
    if (digit.gap <= below) return false;
    below += digit.span;
  }
  return true;
}

}  // namespace

std::vector<Access> accesses(const Expression& expression) {
  std::vector<Access> found;
  bool kept = false;
  const auto read = [&](const ExprPtr& value) {
    visit(*value, [&](const Expr& each) {
      if (each.kind == ExprKind::kLoad)
        found.push_back({each.name, each.index, false, each.type, each.within, kept});
    });
  };
  const auto statement = [&](const Statement& each) {
    if (const auto* let = std::get_if<Let>(&each)) return read(let->value);
    const auto& store = std::get<Store>(each);
    read(store.value);
    found.push_back({store.buffer, store.index, true, store.value->type, store.within, kept});
  };
  for (const Statement& each : expression.body) statement(each);
  for (const Sum& sum : expression.sums) {
    read(sum.value);
    if (!sum.buffer.empty())
      found.push_back({sum.buffer, sum.index, true, sum.value->type, {}, true});
  }
  kept = true;
  for (const Statement& each : expression.epilogue) statement(each);
  return found;
}

Span span(const std::vector<Axis>& axes, const Index& index) {
  return span_but(axes, index, "");
}

bool can_fail(const std::vector<Axis>& axes, const Range& range) {
  const Span values = span(axes, range.value);
  return values.low < range.begin || values.high >= range.end;
}

bool apart_by_iteration(const Nest& nest, const Loop& loop, const Access& access,
                        const Nest& other_nest, const Access& other) {
  std::vector<Footprint> all;
  append_footprints(nest, loop, access, all);
  append_footprints(other_nest, loop, other, all);
  std::ranges::sort(all, {}, [](const Footprint& each) { return each.span.low; });
  // The farthest end so far, and the farthest of other iterations than that one's.
  Footprint farthest{0, {0, -kAnything - 1}};
  std::int64_t farthest_other = -kAnything - 1;
  for (const Footprint& each : all) {
    const std::int64_t before =
        farthest.iteration == each.iteration ? farthest_other : farthest.span.high;
    if (before >= each.span.low) return false;
    if (each.span.high > farthest.span.high) {
      if (each.iteration != farthest.iteration) farthest_other = farthest.span.high;
      farthest = each;
    } else if (each.iteration != farthest.iteration) {
      farthest_other = std::max(farthest_other, each.span.high);
    }
  }
  return true;
}

Reason why_dependent(const Nest& nest, const Loop& loop) {
  const std::vector<Access> all = accesses(nest.expression());
  const std::vector<Axis>& axes = nest.expression().axes;
  for (const Access& write : all) {
    if (!write.write) continue;
    for (const Access& other : all) {
      if (other.buffer != write.buffer) continue;
      // Equal elements mean equal points, which belong to equal iterations.
      const bool names_axis = std::ranges::find(write.index.terms, loop.axis, &IndexTerm::axis) !=
                              write.index.terms.end();
      const bool same_point =
          other.index == write.index && names_axis && is_one_to_one(axes, write.index);
      if (!same_point && !apart_by_iteration(nest, loop, write, nest, other))
        return fmt::format("iterations of loop '{}' may touch the same elements of '{}'", loop.name,
                           write.buffer);
    }
  }
  return std::nullopt;
}

Reason why_lanes_depend(const Nest& nest) {
  const std::vector<Access> all = accesses(nest.expression());
  const std::vector<Axis>& axes = nest.expression().axes;
  for (const Access& write : all)
    for (const Access& other : all) {
      if (!write.write || other.buffer != write.buffer || other.index == write.index) continue;
      const Span a = span(axes, write.index);
      const Span b = span(axes, other.index);
      if (a.high >= b.low && b.high >= a.low)
        return fmt::format("lanes may touch what another lane stores in '{}'", write.buffer);
    }
  return std::nullopt;
}

Reason why_order_matters(const Nest& nest) {
  const std::vector<Access> all = accesses(nest.expression());
  const std::vector<Axis>& axes = nest.expression().axes;
  for (const Access& write : all) {
    if (!write.write) continue;
    const bool names_all = std::ranges::all_of(axes, [&](const Axis& axis) {
      return axis.end - axis.begin == 1 || (write.kept && axis.reduced) ||
             std::ranges::find(write.index.terms, axis.name, &IndexTerm::axis) !=
                 write.index.terms.end();
    });
    const bool once = names_all && is_one_to_one(axes, write.index);
    for (const Access& other : all) {
      if (other.buffer != write.buffer) continue;
      if (once && other.index == write.index && other.kept == write.kept) continue;
      const Span a = span(axes, write.index);
      const Span b = span(axes, other.index);
      if (a.high >= b.low && b.high >= a.low)
        return fmt::format("elements of '{}' are stored in the order of the loops", write.buffer);
    }
  }
  return std::nullopt;
}

}  // namespace bf_aot::loop
