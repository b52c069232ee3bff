#include "aot/emit/loop/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "aot/emit/loop/substitute.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

// Rewrites indices by these identities. With a = begin + step q + r, 0 <= r < step, and a tile t of
// the axis,
//   floor(a / t) = begin / t + floor((step q + r) / t)       where t divides begin,
//                = begin / t + (step / t) q + floor(r / t)   where t divides the step,
//                = begin / t + floor(q / (t / step))         where the step divides t.
// With the fused axis f = q m + p, 0 <= p < m,
//   floor(q / t) = floor(f / (m t)),
//   floor(p / t) = floor(f / t) - (m / t) floor(f / m)       where t divides m.
class Rewriter {
 public:
  explicit Rewriter(const Digits& digits) : digits_(digits) {}

  bool can_be_written(const IndexTerm& term) const {
    const bool is_outer = term.axis == digits_.outer.name;
    if (!is_outer && term.axis != digits_.inner.name) return true;
    const Axis& axis = is_outer ? digits_.outer : digits_.inner;
    const std::int64_t step = is_outer ? digits_.outer_step : digits_.inner_step;
    if (axis.begin % term.tile != 0) return false;
    if (step % term.tile == 0) return true;
    if (term.tile % step != 0) return false;
    return is_outer || digits_.inner_trips % (term.tile / step) == 0;
  }

  Index operator()(const Index& index) const {
    Index made;
    made.constant = index.constant;
    for (const IndexTerm& term : index.terms) append(term, made);
    for (const Lookup& each : index.lookups) {
      const Index at = (*this)(place(each));
      made.lookups.push_back({each.table, at.terms, at.constant, each.coefficient});
    }
    std::erase_if(made.terms, [](const IndexTerm& term) { return term.coefficient == 0; });
    return made;
  }

 private:
  static void add(const IndexTerm& term, Index& to) {
    for (IndexTerm& each : to.terms)
      if (each.axis == term.axis && each.tile == term.tile) {
        each.coefficient += term.coefficient;
        return;
      }
    to.terms.push_back(term);
  }

  void append(const IndexTerm& term, Index& to) const {
    const bool is_outer = term.axis == digits_.outer.name;
    if (!is_outer && term.axis != digits_.inner.name) return add(term, to);
    const Axis& axis = is_outer ? digits_.outer : digits_.inner;
    const std::int64_t step = is_outer ? digits_.outer_step : digits_.inner_step;
    to.constant += term.coefficient * (axis.begin / term.tile);
    if (step % term.tile == 0) {
      add_digit(is_outer, 1, term.coefficient * (step / term.tile), to);
      if (step > term.tile) add(term, to);
    } else {
      add_digit(is_outer, term.tile / step, term.coefficient, to);
    }
  }

  // Adds coefficient floor(q / tile), if outer, or coefficient floor(p / tile).
  void add_digit(bool is_outer, std::int64_t tile, std::int64_t coefficient, Index& to) const {
    const std::int64_t trips = digits_.inner_trips;
    if (is_outer) return add({digits_.fused, trips * tile, coefficient}, to);
    add({digits_.fused, tile, coefficient}, to);
    add({digits_.fused, trips, -coefficient * (trips / tile)}, to);
  }

  const Digits& digits_;
};

}  // namespace

Digits digits_of(const Nest& nest, const Fuse& fuse) {
  const Loop& outer = nest.loop(fuse.outer);
  const Loop& inner = nest.loop(fuse.inner);
  const auto is_walked = [&](const std::string& name) {
    return std::ranges::find(nest.loops(), name, &Loop::outer) != nest.loops().end();
  };
  return {fuse.fused, nest.axis(outer.axis),  nest.axis(inner.axis), outer.step,
          inner.step, nest.trip_count(inner), is_walked(fuse.outer), is_walked(fuse.inner)};
}

Reason why_not_fused(const Expression& expression, const Digits& digits) {
  const Rewriter rewriter(digits);
  Reason reason;
  const std::function<void(const Index&)> look = [&](const Index& index) {
    for (const IndexTerm& term : index.terms)
      if (!rewriter.can_be_written(term))
        reason =
            fmt::format("floor({} / {}) is no quotient of the fused loop", term.axis, term.tile);
    for (const Lookup& each : index.lookups) look(place(each));
  };
  Expression copy = expression;
  change_indices(copy, [&](const Index& index) {
    look(index);
    return index;
  });
  return reason;
}

Expression fused(Expression expression, const Digits& digits) {
  change_indices(expression, Rewriter(digits));
  const auto leave = [&](const Axis& old, std::int64_t step, bool is_walked) {
    const auto at = std::ranges::find(expression.axes, old.name, &Axis::name);
    BF_CHECK(at != expression.axes.end());
    if (!is_walked)
      expression.axes.erase(at);
    else
      *at = {old.name, 0, step, old.reduced};
  };
  const std::int64_t outer_trips = (digits.outer.end - digits.outer.begin) / digits.outer_step;
  const auto at = std::ranges::find(expression.axes, digits.outer.name, &Axis::name);
  expression.axes.insert(at,
                         {digits.fused, 0, outer_trips * digits.inner_trips, digits.outer.reduced});
  leave(digits.outer, digits.outer_step, digits.outer_walked);
  leave(digits.inner, digits.inner_step, digits.inner_walked);
  return expression;
}

}  // namespace bf_aot::loop
