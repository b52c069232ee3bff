#include "aot/emit/loop/print/print_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "aot/emit/loop/access.h"
#include "aot/emit/text/literals.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

std::string number(const Expr& expr, const emit::Dialect& dialect) {
  if (std::isinf(expr.value))
    return fmt::format("{}{}", expr.value < 0 ? "-" : "",
                       dialect.is_c() ? dialect.infinity() : "kInfinity");
  return expr.type == Type::kFloat64 ? emit::double_literal(expr.value)
                                     : emit::float_literal(static_cast<float>(expr.value));
}

// Parentheses keep two signs from being a decrement.
std::string negated(const std::string& text) {
  return text.starts_with('-') ? "-(" + text + ")" : "-" + text;
}

std::string in_parentheses(const Linear& linear) {
  return linear.terms.size() > 1 ? "(" + to_text(linear) + ")" : to_text(linear);
}

constexpr std::int64_t kMostConverted = 2048;  // floats, 16 KiB of doubles: within the first cache

}  // namespace

std::string ExprPrinter::helper(std::string_view name) const {
  return fmt::format("{}{}", dialect_.is_c() ? "bf_" : "", name);
}

// A helper that C has for each type.
std::string ExprPrinter::of_type(std::string_view name, Type element) const {
  if (!dialect_.is_c()) return std::string(name);
  return fmt::format("{}_{}", helper(name), element == Type::kFloat64 ? "double" : "float");
}

std::string ExprPrinter::type(Type element) {
  if (lanes_ > 1 && element != Type::kMask) needs_.vectors.insert({element, lanes_});
  return type_name(element, lanes_);
}

std::string ExprPrinter::broadcast(const std::string& value, Type element) {
  if (lanes_ == 1) return value;
  return fmt::format("broadcast<{}>({})", type(element), value);
}

bool ExprPrinter::follows_lanes(const Index& index) const {
  const std::optional<std::int64_t> stride = values_.lane_stride(index);
  BF_CHECK(stride == 0 || stride == 1);  // lanes are neighbours in memory or equal
  return stride == 1;
}

const Loop* ExprPrinter::loop_beside(const IndexTerm& term) const {
  for (const Loop& loop : nest_.loops())
    if (loop.axis == term.axis && loop.step == 1 && loop.kind == LoopKind::kUnrolled) return &loop;
  return nullptr;
}

Index ExprPrinter::beside(const Index& index) const {
  Index found;
  for (const IndexTerm& term : index.terms) {
    if (nest_.axis(term.axis).is_listed() && loop_beside(term) != nullptr)
      found.terms.push_back(term);
  }
  return found;
}

// Returns whether one of the loops changes the term's value. Inside its own loop a tile of several
// values keeps its value.
bool ExprPrinter::varies(const IndexTerm& term, const std::vector<const Loop*>& reduced) const {
  const bool has_loop = values_.tiles_of(term) != nullptr;
  return std::ranges::any_of(reduced, [&](const Loop* loop) {
    return loop->axis == term.axis && (!has_loop || loop->step >= term.tile);
  });
}

// A pointer for each entry of the tile, to where the reduced loops begin: each keeps a register,
// and what these loops add is one number for all.
bool ExprPrinter::split_listed(const Index& entries, const std::vector<const Loop*>& reduced,
                               Pointer& pointer) const {
  Index fixed, moving;
  fixed.constant = pointer.index.constant;
  for (const IndexTerm& term : pointer.index.terms)
    (varies(term, reduced) ? moving : fixed).terms.push_back(term);
  const Linear rest = values_.linear(moving);
  const auto is_beside = [&](const IndexTerm& term) {  // with a loop inside of the reduced ones
    return std::ranges::any_of(unrolled(),
                               [&](const Loop* loop) { return loop->axis == term.axis; });
  };
  if (entries.terms.size() != 1 || rest.is_zero() ||
      std::ranges::count_if(fixed.terms, is_beside) != 1)
    return false;
  pointer.of_entries = loop_beside(entries.terms.front());
  pointer.part = pointer.buffer + " + " + to_text(values_.linear(fixed));
  pointer.rest = fmt::format("[{}][{}]", pointer.of_entries->name, to_text(rest));
  return true;
}

// One pointer in each iteration of the reduced loops, from which the tile's are constants apart.
bool ExprPrinter::split_counted(const std::vector<const Loop*>& reduced, Pointer& pointer) const {
  Linear first, apart;
  const Linear place = values_.linear(pointer.index);
  first.constant = place.constant;
  const std::vector<const Loop*> tile = unrolled();
  for (const auto& term : place.terms)
    (std::ranges::any_of(tile, [&](const Loop* loop) { return loop->name == term.first; }) ? apart
                                                                                           : first)
        .terms.push_back(term);
  const bool moves = std::ranges::any_of(
      pointer.index.terms, [&](const IndexTerm& term) { return varies(term, reduced); });
  if (apart.terms.empty() || first.terms.empty() || !moves) return false;
  pointer.part = fmt::format("{}{} + {}{}", dialect_.is_c() ? "" : "pinned(", pointer.buffer,
                             to_text(first), dialect_.is_c() ? "" : ")");
  pointer.rest = fmt::format("[{}]", to_text(apart));
  pointer.converted = neighbours(apart);
  return true;
}

std::int64_t ExprPrinter::neighbours(const Linear& apart) const {
  if (apart.terms.size() != 1 || apart.terms.front().second != 1) return 0;
  return nest_.trip_count(nest_.loop(apart.terms.front().first));
}

void ExprPrinter::convert_together(Pointer& pointer) {
  pointer.part = fmt::format("widened_tile<{}, {}>({}, {}_wide)", type(Type::kFloat64),
                             type(Type::kFloat32), pointer.part, pointer.buffer);
  pointer.type = Type::kFloat64;
}

const Pointer* ExprPrinter::pointer_to(const std::string& buffer, const Index& index) const {
  for (const Pointer& pointer : pointers_)
    if (pointer.buffer == buffer && pointer.index == index) return &pointer;
  return nullptr;
}

const Pointer* ExprPrinter::point_at(const Expr& load, bool as_double,
                                     const std::vector<const Loop*>& reduced) {
  if (lanes_ == 1 || !load.within.empty() || !load.index.lookups.empty() ||
      follows_lanes(load.index))
    return nullptr;
  Pointer pointer{load.name, load.index, load.name + "_at", {}, {}, nullptr, load.type, 0};
  if (std::ranges::count(pointers_, load.name, &Pointer::buffer) > 0) return nullptr;
  const Index entries = beside(load.index);
  if (!(entries.terms.empty() ? split_counted(reduced, pointer)
                              : split_listed(entries, reduced, pointer)))
    return nullptr;
  if (!as_double) pointer.converted = 0;
  if (pointer.converted > 0) convert_together(pointer);
  return &pointers_.emplace_back(std::move(pointer));
}

const ConvertedRows* ExprPrinter::rows_at(const std::string& buffer, const Index& index) const {
  for (const ConvertedRows& rows : rows_)
    if (rows.buffer == buffer && rows.index == index) return &rows;
  return nullptr;
}

// The one loop of the register tile that the place varies with.
const Loop* ExprPrinter::only_loop_beside(const Index& index) const {
  const Loop* found = nullptr;
  for (const Loop* loop : unrolled()) {
    const auto names = [&](const IndexTerm& term) { return term.axis == loop->axis; };
    if (std::ranges::none_of(index.terms, names)) continue;
    if (found != nullptr) return nullptr;
    found = loop;
  }
  return found;
}

const ConvertedRows* ExprPrinter::rows_of(const Expr& load,
                                          const std::vector<const Loop*>& reduced) {
  if (lanes_ == 1 || reduced.empty() || !load.within.empty() || !load.index.lookups.empty() ||
      follows_lanes(load.index))
    return nullptr;
  if (const ConvertedRows* const known = rows_at(load.name, load.index)) return known;
  const Loop& along = *reduced.back();
  const Axis& axis = nest_.axis(along.axis);
  const Loop* const entries = only_loop_beside(load.index);
  if (entries == nullptr || entries->axis == axis.name || along.step != 1 || axis.begin != 0)
    return nullptr;
  const Loop* const tiles = along.outer.empty() ? nullptr : &nest_.loop(along.outer);
  const std::int64_t length = tiles == nullptr ? axis.end : std::min(axis.end, tiles->step);
  if (nest_.trip_count(*entries) * length > kMostConverted) return nullptr;
  // The first of a row: the element where the axis stands at the beginning of the tile.
  ConvertedRows rows{load.name, load.index, load.name + "_wide", entries, length, {}, {}, {}};
  Index first = load.index;
  bool follows = false;
  for (IndexTerm& term : first.terms) {
    if (term.axis != axis.name) continue;
    if (term.tile == 1) {
      if (follows || term.coefficient != 1) return nullptr;
      follows = true;
      term = {axis.name, length, length};
    } else if (term.tile < axis.end &&
               (term.tile % length != 0 || values_.tiles_of(term) == nullptr)) {
      return nullptr;  // the axis' own loop would have to say which tile it is
    }
  }
  if (!follows) return nullptr;
  rows.from = at(load.name, first);
  const Linear begin =
      tiles == nullptr || nest_.runs_once(*tiles) ? Linear{} : values_.value_of(*tiles);
  rows.count = axis.end % length == 0 ? std::to_string(length)
                                      : fmt::format("{}({}, {} - {})", helper("smaller"), length,
                                                    axis.end, to_text(begin));
  const Index place{{{axis.name, 1, 1}, {axis.name, length, -length}}, 0, {}};
  rows.rest = fmt::format("[{}][{}]", entries->name, to_text(values_.linear(place)));
  type(Type::kFloat32);
  return &rows_.emplace_back(std::move(rows));
}

// A float for all lanes as a double.
std::string ExprPrinter::widened(const Expr& load) {
  if (const ConvertedRows* const rows = rows_at(load.name, load.index))
    return broadcast(rows->name + rows->rest, Type::kFloat64);
  const std::string text = element(load.name, load.index);
  const Pointer* const pointer = pointer_to(load.name, load.index);
  if (pointer != nullptr && pointer->converted > 0) return broadcast(text, Type::kFloat64);
  // The number is converted before it is broadcast: GCC 12 takes twice as long the other way round.
  return broadcast(fmt::format("static_cast<double>({})", text), Type::kFloat64);
}

std::string ExprPrinter::at(const std::string& buffer, const Index& index) const {
  beside(index);
  const Linear offset = values_.linear(index);
  return offset.is_zero() ? buffer : buffer + " + " + to_text(offset);
}

// Entries of the register tile stand apart from what varies with the loops around it, so that
// compilers compute their places once, outside these loops.
std::string ExprPrinter::element(const std::string& buffer, const Index& index) const {
  if (const Pointer* const pointer = pointer_to(buffer, index))
    return pointer->name + pointer->rest;
  const Index entries = beside(index);
  Index others = index;
  std::erase_if(others.terms,
                [&](const IndexTerm& term) { return std::ranges::count(entries.terms, term) > 0; });
  const Linear offset = values_.linear(others);
  if (entries.terms.empty() || offset.is_zero())
    return fmt::format("{}[{}]", buffer, to_text(values_.linear(index)));
  return fmt::format("({} + {})[{}]", buffer, to_text(offset), to_text(values_.linear(entries)));
}

std::string ExprPrinter::condition(const std::vector<Range>& within) const {
  std::string text;
  const auto demand = [&](const std::string& part) { text += (text.empty() ? "" : " && ") + part; };
  for (const Range& range : within) {
    if (!can_fail(nest_.expression().axes, range) || follows_lanes(range.value)) continue;
    const Span values = span(nest_.expression().axes, range.value);
    const std::string value = to_text(values_.linear(range.value));
    if (values.low < range.begin) demand(fmt::format("{} >= {}", value, range.begin));
    if (values.high >= range.end) demand(fmt::format("{} < {}", value, range.end));
  }
  return text;
}

std::string ExprPrinter::lane_count(const std::vector<Range>& within) const {
  for (const Range& range : within) {
    if (!can_fail(nest_.expression().axes, range) || !follows_lanes(range.value)) continue;
    Linear position = values_.linear(range.value);
    const std::int64_t end = range.end - position.constant;
    position.constant = 0;
    if (position.terms.empty()) return std::to_string(end);
    return fmt::format("{} - {}", end, in_parentheses(position));
  }
  return {};
}

std::string ExprPrinter::load_text(const Expr& expr) {
  std::string text;
  if (const std::string count = lane_count(expr.within); !count.empty()) {
    text = fmt::format("load_first<{}>({}, {})", type(expr.type), at(expr.name, expr.index), count);
  } else if (follows_lanes(expr.index)) {
    text = fmt::format("load<{}>({})", type(expr.type), at(expr.name, expr.index));
  } else {
    text = broadcast(element(expr.name, expr.index), expr.type);
  }
  const std::string condition_text = condition(expr.within);
  if (condition_text.empty()) return text;
  const std::string zero =
      lanes_ > 1 ? type(expr.type) + "{}"
                 : number({ExprKind::kLiteral, expr.type, {}, 0, {}, {}, {}}, dialect_);
  return fmt::format("({} ? {} : {})", condition_text, text, zero);
}

std::string ExprPrinter::infix(const Expr& expr, const char* symbol) {
  const int own = precedence(expr);
  return fmt::format("{} {} {}", operand(*expr.operands[0], own), symbol,
                     operand(*expr.operands[1], own + 1));
}

// An operand's text, in parentheses when it binds less tightly than `least`.
std::string ExprPrinter::operand(const Expr& expr, int least) {
  const std::string text = expression(expr);
  return precedence(expr) < least ? "(" + text + ")" : text;
}

std::string ExprPrinter::expression(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return broadcast(number(expr, dialect_), expr.type);
    case ExprKind::kScalar:
      return broadcast(expr.name, expr.type);
    case ExprKind::kLocal:
      return local_text(expr.name);
    case ExprKind::kLoad:
      return load_text(expr);
    case ExprKind::kAdd:
      return infix(expr, "+");
    case ExprKind::kSub:
      return infix(expr, "-");
    case ExprKind::kMul:
      return infix(expr, "*");
    case ExprKind::kMax:
      return fmt::format("{}({}, {})", of_type("larger", expr.type), expression(*expr.operands[0]),
                         expression(*expr.operands[1]));
    case ExprKind::kNegate:
      return negated(operand(*expr.operands[0]));
    case ExprKind::kAbs:
      return fmt::format("{}({})", of_type("magnitude", expr.type), expression(*expr.operands[0]));
    case ExprKind::kLess:
      return infix(expr, "<");
    case ExprKind::kLessEqual:
      return infix(expr, "<=");
    case ExprKind::kSelect:
      return fmt::format("{} ? {} : {}", operand(*expr.operands[0], 2),
                         operand(*expr.operands[1], 3), operand(*expr.operands[2], 3));
    case ExprKind::kToDouble: {
      const Expr& from = *expr.operands[0];
      if (lanes_ > 1 && from.kind == ExprKind::kLoad && from.within.empty() &&
          !follows_lanes(from.index))
        return widened(from);
      [[fallthrough]];
    }
    case ExprKind::kToFloat:
      return lanes_ == 1
                 ? dialect_.cast(type(expr.type), expression(*expr.operands[0]))
                 : fmt::format("convert<{}>({})", type(expr.type), expression(*expr.operands[0]));
  }
  BF_CHECK(false);
  return {};
}

std::vector<const Loop*> ExprPrinter::unrolled() const {
  std::vector<const Loop*> found;
  const std::vector<Loop>& loops = nest_.loops();
  for (std::size_t i = nest_.region(); i < loops.size(); ++i)
    if (!nest_.is_reduced(loops[i]) && loops[i].kind == LoopKind::kUnrolled &&
        nest_.trip_count(loops[i]) > 1)
      found.push_back(&loops[i]);
  return found;
}

std::string ExprPrinter::subscript() const {
  std::string text;
  for (const Loop* loop : unrolled()) text += fmt::format("[{}]", loop->name);
  return text;
}

std::string ExprPrinter::extents() const {
  std::string text;
  for (const Loop* loop : unrolled()) text += fmt::format("[{}]", nest_.trip_count(*loop));
  return text;
}

std::string ExprPrinter::local_text(const std::string& name) const {
  for (const Sum& sum : nest_.expression().sums)
    if (sum.accumulator == name) return name + subscript();
  return name;
}

}  // namespace bf_aot::loop
