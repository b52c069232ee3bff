#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bf_aot::loop {

enum class Type : std::uint8_t { kFloat32, kFloat64, kMask };

// A term of an index: floor(axis / tile) times a coefficient; tile 1 is the axis itself. place: of
// a kept axis with a list, its place in the list instead of its value.
struct IndexTerm {
  std::string axis;
  std::int64_t tile = 1;
  std::int64_t coefficient = 1;
  bool place = false;
  bool operator==(const IndexTerm&) const = default;
};

// A gather: table[terms + constant] times a coefficient. Entries are 32-bit integers.
struct Lookup {
  std::string table;
  std::vector<IndexTerm> terms;
  std::int64_t constant = 0;
  std::int64_t coefficient = 1;
  bool operator==(const Lookup&) const = default;
};

// The place of an element in a flat buffer: linear in the axes, their tiles, and entries of tables.
// Packed layouts are written with tiles: [out / panel][in][panel] is i panel + o + (in - 1) panel
// floor(o / panel).
struct Index {
  std::vector<IndexTerm> terms;
  std::int64_t constant = 0;
  std::vector<Lookup> lookups = {};
  bool operator==(const Index&) const = default;
};

// The place in its table that a lookup reads.
Index place(const Lookup& lookup);

Index operator+(Index a, const Index& b);
Index operator+(Index a, std::int64_t constant);
Index axis(std::string name, std::int64_t coefficient = 1);
// An index that is the first value of the axis in its tile, times a coefficient.
Index floor(std::string name, std::int64_t tile, std::int64_t coefficient);
Index lookup(std::string table, const Index& at, std::int64_t coefficient = 1);

// A padding predicate: begin <= value < end. Elsewhere a load reads zero, and a store does nothing.
struct Range {
  Index value;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Range&) const = default;
};

enum class ExprKind : std::uint8_t {
  kLiteral,  // value
  kScalar,   // a parameter of the kernel, by name
  kLocal,    // a let or an accumulator at the current point, by name
  kLoad,     // buffer[index] within all ranges, else 0
  kAdd,
  kSub,
  kMul,
  kMax,  // larger of two numbers; the second when they do not compare
  kNegate,
  kAbs,
  kLess,       // a < b
  kLessEqual,  // a <= b
  kSelect,     // a ? b : c
  kToDouble,   // exactly
  kToFloat,    // rounded to nearest
};

// A computation at one point of a nest's axes. Immutable; shared.
struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  ExprKind kind;
  Type type;
  std::vector<ExprPtr> operands;
  double value = 0;
  std::string name;  // of a scalar, local or buffer
  Index index;
  std::vector<Range> within;  // of a load
};

ExprPtr literal(double value, Type type = Type::kFloat32);
ExprPtr scalar(std::string name, Type type = Type::kFloat32);
ExprPtr local(std::string name, Type type = Type::kFloat32);
ExprPtr load(std::string buffer, Index index, Type type = Type::kFloat32);
ExprPtr load_within(std::string buffer, Index index, std::vector<Range> within,
                    Type type = Type::kFloat32);
ExprPtr abs(ExprPtr a);
ExprPtr max(ExprPtr a, ExprPtr b);
ExprPtr less(ExprPtr a, ExprPtr b);
ExprPtr less_equal(ExprPtr a, ExprPtr b);
ExprPtr select(ExprPtr condition, ExprPtr a, ExprPtr b);
ExprPtr to_double(ExprPtr a);
ExprPtr to_float(ExprPtr a);
ExprPtr operator+(ExprPtr a, ExprPtr b);
ExprPtr operator-(ExprPtr a, ExprPtr b);
ExprPtr operator*(ExprPtr a, ExprPtr b);
ExprPtr operator-(ExprPtr a);

// A copy in which `change` replaces nodes: operands first, then the node with the new operands.
ExprPtr rewrite(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& change);

// Calls `see` for every node of an expression, operands first.
void visit(const Expr& expr, const std::function<void(const Expr&)>& see);

// Returns whether both are the same computation, node by node.
bool same(const Expr& a, const Expr& b);

// The precedence of a node, in C++ and in the notation below; signs bind less tightly than calls
// and names.
int precedence(const Expr& expr);

// Notation for human readers: "w * max(x[i + 3], 0)", "4 i + 20 floor(o / 4)", "0 <= i - 1 < 8".
std::string to_string(const Expr& expr);
std::string to_string(const Index& index);
std::string to_string(const Range& range);

}  // namespace bf_aot::loop
