#include "tests/unit/aot_interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

namespace bf::testing {

using loop::Expr;
using loop::ExprKind;
using loop::Loop;
using loop::LoopKind;
using loop::Sum;

Interpreter::Interpreter(const loop::Nest& nest, Memory& memory, bool shared)
    : nest_(nest), memory_(memory), region_(shared ? 1 : 0) {
  const std::vector<Loop>& loops = nest.loops();
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (!is_reduced(loops[i]) && loops[i].kind == LoopKind::kSerial &&
        nest.trip_count(loops[i]) > 1)
      region_ = std::max(region_, i + 1);
}

void Interpreter::run() {
  run_loops(0);
}

void Interpreter::run_loops(std::size_t level) {
  if (level == region_)
    run_region();
  else
    iterate(level);
}

// All iterations of loop `level`, cut where its tiles and its axis end.
void Interpreter::iterate(std::size_t level) {
  if (level == nest_.loops().size()) return run_point();
  const Loop& loop = nest_.loops()[level];
  const loop::Axis& axis = nest_.axis(loop.axis);
  std::int64_t end = axis.end;
  for (std::string outer = loop.outer; !outer.empty(); outer = nest_.loop(outer).outer)
    end = std::min(end, loops_.at(outer) + nest_.loop(outer).step);
  const std::int64_t begin = loop.outer.empty() ? axis.begin : loops_.at(loop.outer);
  std::int64_t trips = 0;
  const bool is_partial = level >= region_ && loop.name == nest_.partial_loop();
  for (std::int64_t value = begin; value < end; value += loop.step, ++trips) {
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
  EXPECT_LE(trips, nest_.trip_count(loop)) << loop.name;
  if (nest_.is_exact(loop)) {
    EXPECT_EQ(trips, nest_.trip_count(loop)) << loop.name;
    EXPECT_EQ((end - begin) % loop.step, 0) << loop.name;
  } else {
    EXPECT_EQ(loop.kind, LoopKind::kSerial) << loop.name;
  }
}

// One iteration of the loops outside the accumulators.
void Interpreter::run_region() {
  sums_.clear();
  iterate(region_);
  for (const auto& [where, sums] : sums_) {
    std::size_t i = 0;
    for (const loop::Axis& axis : nest_.expression().axes)
      if (!axis.reduced) loops_[axis.name] = where[i++];
    leave(sums);
  }
}

void Interpreter::run_point() {
  for (const loop::Statement& statement : nest_.expression().body) execute(statement);
  const std::vector<Sum>& sums = nest_.expression().sums;
  Sums& to = nest_.partial_loop().empty() ? sums_ : partial_;
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
  if (store.limit && axis_value(store.limit->first) >= store.limit->second) return;
  element(store.buffer, store.index) = evaluate(*store.value);
}

Interpreter::Point Interpreter::point() const {
  Point values;
  for (const loop::Axis& axis : nest_.expression().axes)
    if (!axis.reduced) values.push_back(axis_value(axis.name));
  return values;
}

std::int64_t Interpreter::offset(const loop::Index& index) const {
  std::int64_t offset = index.constant;
  for (const loop::IndexTerm& term : index.terms) {
    const std::int64_t origin = axis_value(term.axis) / term.tile * term.tile;
    offset += origin * term.coefficient;
  }
  return offset;
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
    case ExprKind::kAnd:
      return {of[0].value * of[1].value, 0};
    case ExprKind::kSelect:
      return of[0].value != 0 ? of[1] : of[2];
    case ExprKind::kToDouble:
    case ExprKind::kToFloat:
      return of[0];
  }
  ADD_FAILURE() << "unknown expression";
  return {};
}

}  // namespace bf::testing
