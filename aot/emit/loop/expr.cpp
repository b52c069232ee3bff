#include "aot/emit/loop/expr.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

ExprPtr make(ExprKind kind, Type type, std::vector<ExprPtr> operands) {
  return std::make_shared<const Expr>(Expr{kind, type, std::move(operands), 0, {}, {}, {}});
}

ExprPtr binary(ExprKind kind, ExprPtr a, ExprPtr b) {
  BF_CHECK(a->type == b->type);
  const Type type = a->type;
  return make(kind, type, {std::move(a), std::move(b)});
}

ExprPtr compare(ExprKind kind, ExprPtr a, ExprPtr b) {
  BF_CHECK(a->type == b->type && a->type == Type::kFloat32);
  return make(kind, Type::kMask, {std::move(a), std::move(b)});
}

}  // namespace

Index place(const Lookup& lookup) {
  return {lookup.terms, lookup.constant, {}};
}

Index operator+(Index a, const Index& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.constant += b.constant;
  a.lookups.insert(a.lookups.end(), b.lookups.begin(), b.lookups.end());
  return a;
}

Index operator+(Index a, std::int64_t constant) {
  a.constant += constant;
  return a;
}

Index axis(std::string name, std::int64_t coefficient) {
  return {{{std::move(name), 1, coefficient}}, 0, {}};
}

Index floor(std::string name, std::int64_t tile, std::int64_t coefficient) {
  return {{{std::move(name), tile, tile * coefficient}}, 0, {}};
}

Index lookup(std::string table, const Index& at, std::int64_t coefficient) {
  BF_CHECK(at.lookups.empty());  // tables of tables are one table
  return {{}, 0, {{std::move(table), at.terms, at.constant, coefficient}}};
}

ExprPtr literal(double value, Type type) {
  return std::make_shared<const Expr>(Expr{ExprKind::kLiteral, type, {}, value, {}, {}, {}});
}

ExprPtr scalar(std::string name, Type type) {
  return std::make_shared<const Expr>(
      Expr{ExprKind::kScalar, type, {}, 0, std::move(name), {}, {}});
}

ExprPtr local(std::string name, Type type) {
  return std::make_shared<const Expr>(Expr{ExprKind::kLocal, type, {}, 0, std::move(name), {}, {}});
}

ExprPtr load(std::string buffer, Index index, Type type) {
  return load_within(std::move(buffer), std::move(index), {}, type);
}

ExprPtr load_within(std::string buffer, Index index, std::vector<Range> within, Type type) {
  return std::make_shared<const Expr>(
      Expr{ExprKind::kLoad, type, {}, 0, std::move(buffer), std::move(index), std::move(within)});
}

ExprPtr abs(ExprPtr a) {
  const Type type = a->type;
  return make(ExprKind::kAbs, type, {std::move(a)});
}

ExprPtr max(ExprPtr a, ExprPtr b) {
  return binary(ExprKind::kMax, std::move(a), std::move(b));
}

ExprPtr less(ExprPtr a, ExprPtr b) {
  return compare(ExprKind::kLess, std::move(a), std::move(b));
}

ExprPtr less_equal(ExprPtr a, ExprPtr b) {
  return compare(ExprKind::kLessEqual, std::move(a), std::move(b));
}

ExprPtr select(ExprPtr condition, ExprPtr a, ExprPtr b) {
  BF_CHECK(condition->type == Type::kMask && a->type == b->type);
  const Type type = a->type;
  return make(ExprKind::kSelect, type, {std::move(condition), std::move(a), std::move(b)});
}

ExprPtr to_double(ExprPtr a) {
  return make(ExprKind::kToDouble, Type::kFloat64, {std::move(a)});
}

ExprPtr to_float(ExprPtr a) {
  return make(ExprKind::kToFloat, Type::kFloat32, {std::move(a)});
}

ExprPtr operator+(ExprPtr a, ExprPtr b) {
  return binary(ExprKind::kAdd, std::move(a), std::move(b));
}

ExprPtr operator-(ExprPtr a, ExprPtr b) {
  return binary(ExprKind::kSub, std::move(a), std::move(b));
}

ExprPtr operator*(ExprPtr a, ExprPtr b) {
  return binary(ExprKind::kMul, std::move(a), std::move(b));
}

ExprPtr operator-(ExprPtr a) {
  const Type type = a->type;
  return make(ExprKind::kNegate, type, {std::move(a)});
}

ExprPtr rewrite(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& change) {
  Expr copy = *expr;
  bool changed = false;
  for (ExprPtr& operand : copy.operands) {
    ExprPtr made = rewrite(operand, change);
    changed = changed || made != operand;
    operand = std::move(made);
  }
  return change(changed ? std::make_shared<const Expr>(std::move(copy)) : expr);
}

void visit(const Expr& expr, const std::function<void(const Expr&)>& see) {
  for (const ExprPtr& operand : expr.operands) visit(*operand, see);
  see(expr);
}

bool same(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.type == b.type && a.value == b.value && a.name == b.name &&
         a.index == b.index && a.within == b.within &&
         std::ranges::equal(a.operands, b.operands,
                            [](const ExprPtr& x, const ExprPtr& y) { return same(*x, *y); });
}

}  // namespace bf_aot::loop
