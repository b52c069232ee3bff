#include "tests/unit/aot/emit/kernels/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

namespace bf_aot::testing {

using loop::Expr;
using loop::ExprKind;
using loop::Loop;
using loop::LoopKind;
using loop::Sum;

namespace {

std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  const std::int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

}  // namespace

Interpreter::Interpreter(const loop::Nest& nest, Memory& memory)
    : nest_(nest), memory_(memory), region_(nest.shared()) {
  const std::vector<Loop>& loops = nest.loops();
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (!is_reduced(loops[i]) && loops[i].is_counted() && !nest.runs_once(loops[i]))
      region_ = std::max(region_, i + 1);
}

void Interpreter::run(const Values& outside) {
  loops_ = outside;
  run_loops(outside.size());
}

const std::string& Interpreter::walker(const std::string& axis) const {
  for (const Loop& loop : nest_.loops())
    if (loop.axis == axis && loop.step == 1) return loop.name;
  ADD_FAILURE() << "no loop walks axis " << axis;
  return axis;
}

std::int64_t Interpreter::axis_value(const std::string& axis) const {
  const std::int64_t place = place_of(axis);
  if (!nest_.axis(axis).walks_places()) return place;
  const std::vector<Number>& list = memory_.at(nest_.axis(axis).list);
  return static_cast<std::int64_t>(list.at(static_cast<std::size_t>(1 + place)).value);
}

bool Interpreter::counts(const loop::Axis& axis, std::int64_t value) const {
  const std::vector<Number>& list = memory_.at(axis.list);
  const auto end = list.begin() + 1 + static_cast<std::ptrdiff_t>(list.at(0).value);
  return std::any_of(list.begin() + 1, end, [&](const Number& entry) {
    return entry.value == static_cast<double>(value);
  });
}

void Interpreter::run_loops(std::size_t level) {
  if (level == region_)
    run_region();
  else
    iterate(level);
}

std::vector<std::int64_t> Interpreter::values_of(std::size_t level, const Values& outside) {
  loops_ = outside;
  const Loop& loop = nest_.loops()[level];
  const std::int64_t end = end_of(loop);
  std::vector<std::int64_t> values;
  const std::int64_t begin =
      loop.outer.empty() ? nest_.axis(loop.axis).begin : loops_.at(loop.outer);
  const loop::Axis& axis = nest_.axis(loop.axis);
  const bool chooses = axis.is_listed() && axis.reduced && loop.step == 1;
  for (std::int64_t value = begin; value < end; value += loop.step)
    if (!chooses || counts(axis, value)) values.push_back(value);
  // Any order must do.
  if (loop.kind == LoopKind::kParallel) std::ranges::reverse(values);
  return values;
}

std::int64_t Interpreter::end_of(const Loop& loop) const {
  const loop::Axis& axis = nest_.axis(loop.axis);
  std::int64_t end = axis.end;
  if (axis.walks_places() && loop.is_counted())
    end = std::min(end, static_cast<std::int64_t>(memory_.at(axis.list).at(0).value));
  for (std::string outer = loop.outer; !outer.empty(); outer = nest_.loop(outer).outer)
    end = std::min(end, loops_.at(outer) + nest_.loop(outer).step);
  return end;
}

// All iterations of loop `level`, cut where its tiles and its axis end.
void Interpreter::iterate(std::size_t level) {
  if (level == nest_.loops().size()) return run_point();
  const Loop& loop = nest_.loops()[level];
  const std::vector<std::int64_t> values = values_of(level, Values(loops_));
  const bool is_partial = level >= region_ && loop.name == nest_.partial_loop();
  for (const std::int64_t value : values) {
    loops_[loop.name] = value;
    if (level < region_) {
      run_loops(level + 1);
      continue;
    }
    iterate(level + 1);
    if (!is_partial) continue;
    for (const auto& [where, sums] : partial_)
      for (std::size_t i = 0; i < sums.size(); ++i) add(sums_, where, i, sums[i]);
    partial_.clear();
  }
  const auto trips = static_cast<std::int64_t>(values.size());
  EXPECT_LE(trips, nest_.trip_count(loop)) << loop.name;
  if (nest_.axis(loop.axis).is_listed() && loop.is_counted()) return;
  if (nest_.is_exact(loop)) {
    EXPECT_EQ(trips, nest_.trip_count(loop)) << loop.name;
    EXPECT_EQ(std::ranges::max(values) + loop.step, end_of(loop)) << loop.name;
  } else {
    EXPECT_TRUE(loop.is_counted() || loop.kind == LoopKind::kCall) << loop.name;
  }
}

// One iteration of the loops outside the accumulators.
void Interpreter::run_region() {
  sums_.clear();
  iterate(region_);
  if (!nest_.expression().sums.empty()) fill_sums(region_);
  for (const auto& [where, sums] : sums_) {
    std::size_t i = 0;
    for (const loop::Axis& axis : nest_.expression().axes)
      if (!axis.reduced) loops_[walker(axis.name)] = where[i++];
    leave(sums);
  }
}

// Sums over a list of which nothing counts are 0.
void Interpreter::fill_sums(std::size_t level) {
  if (level == nest_.loops().size()) {
    sums_.try_emplace(point(), nest_.expression().sums.size(), Number{});
    return;
  }
  const Loop& loop = nest_.loops()[level];
  if (is_reduced(loop)) return fill_sums(level + 1);
  for (const std::int64_t value : values_of(level, Values(loops_))) {
    loops_[loop.name] = value;
    fill_sums(level + 1);
  }
}

// Outside the accumulators a loop's sums leave anyway.
bool Interpreter::has_partial_sums() const {
  for (std::size_t i = region_; i < nest_.loops().size(); ++i)
    if (nest_.loops()[i].name == nest_.partial_loop()) return true;
  return false;
}

void Interpreter::run_point() {
  for (const loop::Statement& statement : nest_.expression().body) execute(statement);
  const std::vector<Sum>& sums = nest_.expression().sums;
  Sums& to = has_partial_sums() ? partial_ : sums_;
  for (std::size_t i = 0; i < sums.size(); ++i) add(to, point(), i, evaluate(*sums[i].value));
}

// The first addition, to zero, is exact.
void Interpreter::add(Sums& to, const Point& where, std::size_t sum, Number value) {
  std::vector<Number>& sums = to[where];
  if (sum < sums.size())
    sums[sum] = {sums[sum].value + value.value, std::max(sums[sum].depth, value.depth) + 1};
  else
    sums.push_back(value);
  deepest_ = std::max(deepest_, sums[sum].depth);
}

bool Interpreter::in_first_block() const {
  for (std::size_t i = 0; i < region_; ++i) {
    const Loop& loop = nest_.loops()[i];
    if (is_reduced(loop) && loops_.at(loop.name) != nest_.axis(loop.axis).begin) return false;
  }
  return true;
}

void Interpreter::leave(const std::vector<Number>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = nest_.expression().sums[i];
    locals_[sum.accumulator] = sums[i];
    if (sum.buffer.empty()) continue;
    Number& to = element(sum.buffer, sum.index);
    if (sum.add || !in_first_block())
      to = {to.value + sums[i].value, std::max(to.depth, sums[i].depth) + 1};
    else
      to = sums[i];
    deepest_ = std::max(deepest_, to.depth);
  }
  for (const loop::Statement& statement : nest_.expression().epilogue) execute(statement);
}

void Interpreter::execute(const loop::Statement& statement) {
  if (const auto* let = std::get_if<loop::Let>(&statement)) {
    locals_[let->name] = evaluate(*let->value);
    return;
  }
  const auto& store = std::get<loop::Store>(statement);
  if (!are_within(store.within)) return;
  element(store.buffer, store.index) = evaluate(*store.value);
}

Interpreter::Point Interpreter::point() const {
  Point values;
  for (const loop::Axis& axis : nest_.expression().axes)
    if (!axis.reduced) values.push_back(place_of(axis.name));
  return values;
}

std::int64_t Interpreter::offset(const loop::Index& index) const {
  std::int64_t offset = index.constant;
  for (const loop::IndexTerm& term : index.terms)
    offset += floor_divide(term.place ? place_of(term.axis) : axis_value(term.axis), term.tile) *
              term.coefficient;
  for (const loop::Lookup& each : index.lookups) {
    const Number& entry = memory_.at(each.table).at(static_cast<std::size_t>(offset_of(each)));
    offset += static_cast<std::int64_t>(entry.value) * each.coefficient;
  }
  return offset;
}

std::int64_t Interpreter::offset_of(const loop::Lookup& lookup) const {
  return offset(place(lookup));
}

bool Interpreter::are_within(const std::vector<loop::Range>& ranges) const {
  return std::ranges::all_of(ranges, [&](const loop::Range& range) {
    const std::int64_t value = offset(range.value);
    return range.begin <= value && value < range.end;
  });
}

Number& Interpreter::element(const std::string& buffer, const loop::Index& index) {
  return memory_.at(buffer).at(static_cast<std::size_t>(offset(index)));
}

Number Interpreter::evaluate(const Expr& expr) {
  std::vector<Number> of;
  int depth = 0;
  for (const loop::ExprPtr& operand : expr.operands) {
    of.push_back(evaluate(*operand));
    depth = std::max(depth, of.back().depth);
  }
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return {expr.value, 0};
    case ExprKind::kScalar:
      return memory_.at(expr.name).at(0);
    case ExprKind::kLocal:
      return locals_.at(expr.name);
    case ExprKind::kLoad:
      if (!are_within(expr.within)) return {0, 0};
      return element(expr.name, expr.index);
    case ExprKind::kAdd:
      return {of[0].value + of[1].value, depth + 1};
    case ExprKind::kSub:
      return {of[0].value - of[1].value, depth + 1};
    case ExprKind::kMul:
      return {of[0].value * of[1].value, depth + 1};
    case ExprKind::kMax:
      return {of[0].value > of[1].value ? of[0].value : of[1].value, depth};
    case ExprKind::kNegate:
      return {-of[0].value, depth};
    case ExprKind::kAbs:
      return {std::fabs(of[0].value), depth};
    case ExprKind::kLess:
      return {of[0].value < of[1].value ? 1.0 : 0.0, 0};
    case ExprKind::kLessEqual:
      return {of[0].value <= of[1].value ? 1.0 : 0.0, 0};
    case ExprKind::kSelect:
      return of[0].value != 0 ? of[1] : of[2];
    case ExprKind::kToDouble:
    case ExprKind::kToFloat:
      return of[0];
  }
  ADD_FAILURE() << "unknown expression";
  return {};
}

// ---- Programs

namespace {

// Runs nest `at` and what runs in it, inside the loops whose values are given.
void run_placed(const loop::Program& program, std::size_t at, const Interpreter::Values& outside,
                Memory& memory, int& deepest) {
  const std::size_t opened = outside.size();
  const auto run = [&](std::size_t nest) {
    Interpreter one(program.nests()[nest].nest, memory);
    one.run(outside);
    deepest = std::max(deepest, one.deepest());
  };
  bool deeper = false;
  for (const std::size_t guest : program.guests(at)) {
    deeper = deeper || program.nests()[guest].depth > opened;
    if (guest < at && program.nests()[guest].depth == opened) run(guest);
  }
  if (deeper) {
    const loop::Nest& nest = program.nests()[at].nest;
    for (const std::int64_t value : Interpreter(nest, memory).values_of(opened, outside)) {
      Interpreter::Values inside = outside;
      inside[nest.loops()[opened].name] = value;
      run_placed(program, at, inside, memory, deepest);
    }
  } else {
    run(at);
  }
  for (const std::size_t guest : program.guests(at))
    if (guest > at && program.nests()[guest].depth == opened) run(guest);
}

}  // namespace

int interpret(const loop::Program& program, Memory& memory) {
  int deepest = 0;
  for (const loop::Program::Local& each : program.locals())
    memory[each.name].assign(static_cast<std::size_t>(each.size), {});
  for (std::size_t i = 0; i < program.nests().size(); ++i)
    if (program.nests()[i].host.empty()) run_placed(program, i, {}, memory, deepest);
  return deepest;
}

}  // namespace bf_aot::testing
