#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bf::loop {

enum class Type : std::uint8_t { kFloat32, kFloat64, kMask };

// floor(axis / tile) * tile, times a coefficient; tile 1 is the axis itself.
struct IndexTerm {
  std::string axis;
  std::int64_t tile = 1;
  std::int64_t coefficient = 1;
};

// Where an element lies in a flat buffer: linear in the axes and their tiles. Packed layouts are
// written with tiles: [out / panel][in][panel] is  i panel + o + (in - 1) floor(o, panel).
struct Index {
  std::vector<IndexTerm> terms;
  std::int64_t constant = 0;
};

Index operator+(Index a, const Index& b);
Index axis(std::string name, std::int64_t coefficient = 1);
Index floor(std::string name, std::int64_t tile, std::int64_t coefficient);

enum class ExprKind : std::uint8_t {
  kLiteral,  // value
  kScalar,   // a parameter of the kernel, by name
  kLocal,    // a let or an accumulator at the current point, by name
  kLoad,     // buffer[index]
  kAdd,
  kSub,
  kMul,
  kMax,  // of two numbers, the second when they do not compare
  kNegate,
  kAbs,
  kLess,       // a < b
  kLessEqual,  // a <= b
  kAnd,
  kSelect,    // a ? b : c
  kToDouble,  // exact
  kToFloat,   // to nearest
};

// What is computed at one point of a nest's axes. Immutable; shared.
struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  ExprKind kind;
  Type type;
  std::vector<ExprPtr> operands;
  double value = 0;
  std::string name;  // of a scalar, local or buffer
  Index index;
};

ExprPtr literal(double value, Type type = Type::kFloat32);
ExprPtr scalar(std::string name, Type type = Type::kFloat32);
ExprPtr local(std::string name, Type type = Type::kFloat32);
ExprPtr load(std::string buffer, Index index, Type type = Type::kFloat32);
ExprPtr abs(ExprPtr a);
ExprPtr max(ExprPtr a, ExprPtr b);
ExprPtr less(ExprPtr a, ExprPtr b);
ExprPtr less_equal(ExprPtr a, ExprPtr b);
ExprPtr both(ExprPtr a, ExprPtr b);
ExprPtr select(ExprPtr condition, ExprPtr a, ExprPtr b);
ExprPtr to_double(ExprPtr a);
ExprPtr to_float(ExprPtr a);
ExprPtr operator+(ExprPtr a, ExprPtr b);
ExprPtr operator-(ExprPtr a, ExprPtr b);
ExprPtr operator*(ExprPtr a, ExprPtr b);
ExprPtr operator-(ExprPtr a);

}  // namespace bf::loop
