#include "aot/loop/expr.h"

#include <utility>

#include "frontend/diagnostic.h"

namespace bf::loop {
namespace {

ExprPtr make(ExprKind kind, Type type, std::vector<ExprPtr> operands) {
  return std::make_shared<const Expr>(Expr{kind, type, std::move(operands), 0, {}, {}});
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

Index operator+(Index a, const Index& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.constant += b.constant;
  return a;
}

Index axis(std::string name, std::int64_t coefficient) {
  return {{{std::move(name), 1, coefficient}}, 0};
}

Index floor(std::string name, std::int64_t tile, std::int64_t coefficient) {
  return {{{std::move(name), tile, coefficient}}, 0};
}

ExprPtr literal(double value, Type type) {
  return std::make_shared<const Expr>(Expr{ExprKind::kLiteral, type, {}, value, {}, {}});
}

ExprPtr scalar(std::string name, Type type) {
  return std::make_shared<const Expr>(Expr{ExprKind::kScalar, type, {}, 0, std::move(name), {}});
}

ExprPtr local(std::string name, Type type) {
  return std::make_shared<const Expr>(Expr{ExprKind::kLocal, type, {}, 0, std::move(name), {}});
}

ExprPtr load(std::string buffer, Index index, Type type) {
  return std::make_shared<const Expr>(
      Expr{ExprKind::kLoad, type, {}, 0, std::move(buffer), std::move(index)});
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

ExprPtr both(ExprPtr a, ExprPtr b) {
  return binary(ExprKind::kAnd, std::move(a), std::move(b));
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

}  // namespace bf::loop
