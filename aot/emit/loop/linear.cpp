#include "aot/emit/loop/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

// Numbers of the axis' tiles are not negative, so that C++ divides as floor does.
std::string quotient(const Linear& value, std::int64_t divisor) {
  const std::string text = to_text(value);
  const bool name = value.terms.size() == 1 && value.constant == 0 && value.terms[0].second == 1;
  return fmt::format("({} / {})", name ? text : "(" + text + ")", divisor);
}

}  // namespace

void Linear::add(const Linear& other, std::int64_t factor) {
  constant += other.constant * factor;
  for (const auto& [name, coefficient] : other.terms) {
    const auto same = std::ranges::find(terms, name, &std::pair<std::string, std::int64_t>::first);
    if (same != terms.end())
      same->second += coefficient * factor;
    else
      terms.emplace_back(name, coefficient * factor);
  }
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
}

std::string to_text(const Linear& linear) {
  std::string text;
  const auto append = [&](const std::string& name, std::int64_t coefficient) {
    if (!text.empty() || coefficient < 0)
      text += text.empty() ? "-" : coefficient < 0 ? " - " : " + ";
    const std::int64_t size = std::abs(coefficient);
    text += size == 1 ? name : fmt::format("{} * {}", size, name);
  };
  for (const auto& [name, coefficient] : linear.terms)
    if (coefficient > 0) append(name, coefficient);
  for (const auto& [name, coefficient] : linear.terms)
    if (coefficient < 0) append(name, coefficient);
  if (text.empty()) return std::to_string(linear.constant);
  if (linear.constant != 0)
    text += fmt::format(" {} {}", linear.constant < 0 ? '-' : '+', std::abs(linear.constant));
  return text;
}

Linear LoopValues::value_of(const Loop& loop) const {
  const bool single = nest_.runs_once(loop) && loop.kind != LoopKind::kVector;
  if (loop.is_counted() && !single) return {{{loop.name, 1}}, 0};
  Linear value = loop.outer.empty() ? Linear{{}, nest_.axis(loop.axis).begin}
                                    : value_of(nest_.loop(loop.outer));
  if (loop.kind == LoopKind::kUnrolled && !single) value.add({{{loop.name, 1}}, 0}, loop.step);
  return value;
}

const Loop* LoopValues::loop_of(const std::string& axis, std::int64_t step) const {
  for (const Loop& loop : nest_.loops())
    if (loop.axis == axis && loop.step == step) return &loop;
  return nullptr;
}

const Loop* LoopValues::tiles_of(const IndexTerm& term) const {
  const Axis& axis = nest_.axis(term.axis);
  if (axis.is_listed() && !term.place && (axis.walks_places() || term.tile == 1)) return nullptr;
  return axis.begin % term.tile == 0 ? loop_of(term.axis, term.tile) : nullptr;
}

Linear LoopValues::axis_value(const IndexTerm& term) const {
  const Linear place = value_of(*loop_of(term.axis, 1));
  const std::string& list = nest_.axis(term.axis).list;
  if (list.empty() || term.place) return place;
  return {{{fmt::format("{}({}, {})", entry_, list, to_text(place)), 1}}, 0};
}

Linear LoopValues::floor_of(const IndexTerm& term) const {
  const Axis& range = nest_.axis(term.axis);
  if (term.tile == 1) return axis_value(term);
  BF_CHECK(range.begin >= 0);
  const std::int64_t first = range.first_value() / term.tile;
  if (first == (range.end_of_values() - 1) / term.tile) return {{}, first};
  const Loop* const tiles = tiles_of(term);
  const Linear value = tiles != nullptr ? value_of(*tiles) : axis_value(term);
  return {{{quotient(value, term.tile), 1}}, 0};
}

Linear LoopValues::linear(const Index& index) const {
  Linear sum;
  sum.constant = index.constant;
  for (const IndexTerm& term : index.terms) {
    const Loop* const tiles = term.coefficient % term.tile == 0 ? tiles_of(term) : nullptr;
    if (tiles != nullptr)
      sum.add(value_of(*tiles), term.coefficient / term.tile);
    else
      sum.add(floor_of(term), term.coefficient);
  }
  for (const Lookup& each : index.lookups)
    sum.add({{{fmt::format("{}[{}]", each.table, to_text(linear(place(each)))), 1}}, 0},
            each.coefficient);
  return sum;
}

std::optional<std::int64_t> LoopValues::lane_stride(const Index& index) const {
  const std::int64_t lanes = nest_.lanes();
  if (lanes == 1) return 0;
  const Axis& range = nest_.axis(nest_.loops().back().axis);
  std::int64_t stride = 0;
  for (const IndexTerm& term : index.terms) {
    if (term.axis != range.name) continue;
    if (term.tile == 1) {
      stride += term.coefficient;
      continue;
    }
    // Vectors begin at the axis' beginning and at multiples of the lanes from there.
    const bool aligned = term.tile % lanes == 0 && range.begin % lanes == 0;
    const bool one_tile = range.begin / term.tile == (range.end - 1) / term.tile;
    if (!aligned && !one_tile) return std::nullopt;
  }
  for (const Lookup& each : index.lookups)
    if (lane_stride(place(each)) != 0) return std::nullopt;
  return stride;
}

}  // namespace bf_aot::loop
