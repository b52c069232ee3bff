#include <fmt/format.h>

#include <cmath>

#include "aot/emit/loop/expr.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

// "+ 4 i" or "- i" after other terms, "4 i" or "-i" first.
std::string signed_text(std::string before, std::int64_t coefficient, const std::string& what) {
  if (coefficient == 0) return before;
  const std::string sign = coefficient < 0 ? "-" : "+";
  const std::string number =
      std::abs(coefficient) == 1 ? "" : fmt::format("{} ", std::abs(coefficient));
  if (before.empty()) return (coefficient < 0 ? "-" : "") + number + what;
  return before + fmt::format(" {} {}{}", sign, number, what);
}

std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

std::string operand(const Expr& expr, std::size_t number, int least) {
  const Expr& of = *expr.operands.at(number);
  return precedence(of) < least ? "(" + to_string(of) + ")" : to_string(of);
}

std::string infix(const Expr& expr, const char* symbol) {
  const int own = precedence(expr);
  return fmt::format("{} {} {}", operand(expr, 0, own), symbol, operand(expr, 1, own + 1));
}

std::string call(const Expr& expr, const char* name) {
  std::string text;
  for (const ExprPtr& each : expr.operands) text += (text.empty() ? "" : ", ") + to_string(*each);
  return fmt::format("{}({})", name, text);
}

std::string load_text(const Expr& expr) {
  std::string text = fmt::format("{}[{}]", expr.name, to_string(expr.index));
  for (std::size_t i = 0; i < expr.within.size(); ++i)
    text += (i == 0 ? " if " : " and ") + to_string(expr.within[i]);
  return expr.within.empty() ? text : "(" + text + " else 0)";
}

}  // namespace

int precedence(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kSelect:
      return 0;
    case ExprKind::kLess:
    case ExprKind::kLessEqual:
      return 2;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return 3;
    case ExprKind::kMul:
      return 4;
    case ExprKind::kNegate:
      return 5;
    case ExprKind::kLiteral:
    case ExprKind::kScalar:
    case ExprKind::kLocal:
    case ExprKind::kLoad:
    case ExprKind::kMax:
    case ExprKind::kAbs:
    case ExprKind::kToDouble:
    case ExprKind::kToFloat:
      return 6;
  }
  return 6;
}

std::string to_string(const Index& index) {
  std::string text;
  for (const IndexTerm& term : index.terms) {
    const std::string value = term.place ? fmt::format("place({})", term.axis) : term.axis;
    text = signed_text(std::move(text), term.coefficient,
                       term.tile == 1 ? value : fmt::format("floor({} / {})", value, term.tile));
  }
  for (const Lookup& each : index.lookups)
    text = signed_text(std::move(text), each.coefficient,
                       fmt::format("{}[{}]", each.table, to_string(place(each))));
  if (text.empty()) return std::to_string(index.constant);
  if (index.constant != 0)
    text += fmt::format(" {} {}", index.constant < 0 ? '-' : '+', std::abs(index.constant));
  return text;
}

std::string to_string(const Range& range) {
  return fmt::format("{} <= {} < {}", range.begin, to_string(range.value), range.end);
}

std::string to_string(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return number_text(expr.value);
    case ExprKind::kScalar:
    case ExprKind::kLocal:
      return expr.name;
    case ExprKind::kLoad:
      return load_text(expr);
    case ExprKind::kAdd:
      return infix(expr, "+");
    case ExprKind::kSub:
      return infix(expr, "-");
    case ExprKind::kMul:
      return infix(expr, "*");
    case ExprKind::kMax:
      return call(expr, "max");
    case ExprKind::kNegate:
      return "-" + operand(expr, 0, 6);
    case ExprKind::kAbs:
      return fmt::format("|{}|", to_string(*expr.operands[0]));
    case ExprKind::kLess:
      return infix(expr, "<");
    case ExprKind::kLessEqual:
      return infix(expr, "<=");
    case ExprKind::kSelect:
      return fmt::format("{} if {} else {}", operand(expr, 1, 1), operand(expr, 0, 1),
                         operand(expr, 2, 1));
    case ExprKind::kToDouble:
      return call(expr, "double");
    case ExprKind::kToFloat:
      return call(expr, "float");
  }
  BF_CHECK(false);
  return {};
}

}  // namespace bf_aot::loop
