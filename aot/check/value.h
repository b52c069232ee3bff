#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aot/check/network.h"

// Tensors while the operators are read: numbers, or elements of the network.

namespace bf_check {

constexpr u64 kTruth = 9, kIndex = 7;  // types of TensorProto
constexpr std::size_t kMostOperands = 4096;

struct Value {
  std::vector<i64> shape;
  bool constant = true;
  u64 type = 0;          // 0: real numbers; else that of TensorProto
  Numbers data;          // where it is constant
  std::vector<u32> ids;  // else the elements

  i64 size() const { return size_of(shape); }
};

inline Value value_of(const Tensor& tensor) {
  return {
      tensor.shape, true, tensor.type == 1 || tensor.type == 11 ? 0 : tensor.type, tensor.data, {}};
}
inline Value constant_of(const std::vector<i64>& shape, const std::vector<Rat>& data) {
  return {shape, true, 0, data, {}};
}

// Elements of a tensor, in another order. filler: of which element 0 is taken for source -1; or
// null. Throws Refused: a source that is no element.
Value moved(const Value& from, const std::vector<i64>& shape, const std::vector<i64>& source,
            const Value* filler = nullptr);

// Numpy's broadcasting: the shape of both; and for each of its elements, that of `shape`.
std::vector<i64> joined(const std::vector<i64>& a, const std::vector<i64>& b);
std::vector<std::size_t> spread(const std::vector<i64>& shape, const std::vector<i64>& to);

// For each index of a shape, in row-major order, the sum of its positions times their steps.
std::vector<i64> strided(const std::vector<i64>& shape, const std::vector<i64>& step);

// A weight on the grid: floor(w 2^P), and whether that is not all of it.
struct GridWeight {
  i64 value = 0;
  bool rough = false;
};

// How the sums of a layer are evaluated in float32: not in the table; exactly; as sums of products
// in any order; or as elementwise operations, each of which may be merged into the sums that it
// reads. more: roundings besides those of products and additions, at most.
enum class Rounded { kUncovered, kExact, kSum, kMerged };
struct Rounding {
  Rounded how = Rounded::kUncovered;
  u64 more = 0;
};

// Appends elements to a network.
class Builder {
 public:
  Builder(const Grid& grid, Work& work)
      : work_(work), network_{grid, {Layer()}, 0, 0, 0, {}, {}, {}} {}

  Value input(const std::vector<i64>& shape);

  GridWeight on_grid(const Rat& weight) const;
  // on_grid(scale / sqrt(square)), for a positive square.
  GridWeight on_grid(const Rat& scale, const Rat& square) const;

  // Begins a layer of affine sums, of about so many terms.
  void begin(u64 terms = 0, const Rounding& rounding = {});
  // Returns whether the row has the term, which it has not where the weight is 0.
  bool term(u32 element, const GridWeight& weight);
  std::size_t row_terms() const { return layer_.column.size() - layer_.start.back(); }
  // single: the exact weight of a row's only term; 0: there is no such.
  void end_row(const Rat& bias, const Rat& single = 0);
  // Returns the layer's elements. bounds: whether what they read is bounded backwards.
  std::vector<u32> end(bool bounds = true);

  // The elements of a value; those of a constant are affine sums of nothing.
  std::vector<u32> elements_of(const Value& value);
  std::vector<u32> relus_of(const std::vector<u32>& ids);
  // A function of elements, and the products of pairs of them, by their forms: what depends on one
  // element alone is a function of it. In float32 each is an operation of its own, with a loss;
  // none: it is not in the table. bounds: whether arguments are bounded backwards.
  std::vector<u32> functions_of(const Program& function, const std::vector<u32>& ids,
                                const std::optional<Loss>& loss = std::nullopt, bool bounds = true);
  std::vector<u32> products_of(const std::vector<u32>& ids, const std::vector<u32>& others,
                               const std::optional<Loss>& loss = std::nullopt);
  // Has affine sums bounded as arguments of functions are.
  void read_by(ReadBy reader, const std::vector<u32>& ids);

  Network finish(const std::vector<u32>& outputs, Shapes shapes);

  void spend(u64 steps) { work_.spend(steps); }
  const Grid& grid() const { return network_.grid; }

 private:
  // An element that is a function of another: its program, or else weight times it plus bias.
  struct Link {
    u32 element;
    std::shared_ptr<const Program> program;
    Rat weight, bias;
  };

  void begin(Kind kind, u64 terms);
  void argument(u32 element);
  std::pair<u32, Program> form_of(u32 element) const;
  void turn_to(Kind kind, std::vector<u32>& ids);
  void function_row(u32 element, const Program& program);
  void take(const std::optional<Loss>& loss);
  Loss row_loss();

  Work& work_;
  Network network_;
  Layer layer_;
  Rounding rounding_;                              // of the layer, if it is of sums
  Loss loss_;                                      // of its rows, else
  std::vector<u32> readers_, layer_of_, addends_;  // by element; addends_: of a float32 sum
  std::map<u32, Link> links_;                      // of elements that have one
  std::map<Program, std::shared_ptr<const Program>> programs_;
};

// A node with its inputs; null for one that is left out.
struct Operands {
  const Node& node;
  std::vector<const Value*> inputs;
  Builder& builder;
  i64 opset;
  std::size_t output = 0;  // that is asked for

  const Value& in(std::size_t i) const;
  const Value* optional(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  const Value& constant(std::size_t i) const;

  // The attribute; null where there is none. Throws Refused: one of another type.
  const Attribute* attribute(const char* name, i64 type) const;
  i64 number(const char* name, i64 otherwise) const {
    return attribute(name, 2) != nullptr ? attribute(name, 2)->number : otherwise;
  }
  Rat real(const char* name, const Rat& otherwise) const {
    return attribute(name, 1) != nullptr ? attribute(name, 1)->real : otherwise;
  }
  std::string text(const char* name, const std::string& otherwise) const {
    return attribute(name, 3) != nullptr ? attribute(name, 3)->text : otherwise;
  }
  std::vector<i64> numbers(const char* name, const std::vector<i64>& otherwise) const {
    return attribute(name, 7) != nullptr ? attribute(name, 7)->numbers : otherwise;
  }
};

// An axis counted from the front. Throws Refused: none of `rank`.
std::size_t axis_of(i64 axis, std::size_t rank);
std::vector<i64> integers_of(const Value& value);

using Rule = Value (*)(const Operands&);  // of one output
struct Operator {
  const char* name;
  std::size_t inputs;      // at most
  const char* attributes;  // that it may have, between spaces
  Rule rule;
  std::size_t outputs = 1;  // at most
  bool has_axes = false;    // whether the second input is of integers
};
// Operators that move data; those that read shapes, or constants alone, also of integers;
// arithmetic of constant integers; and all that compute with real numbers.
const std::vector<Operator>& moving_operators();
const std::vector<Operator>& shape_operators();
const std::vector<Operator>& integer_operators();
const std::vector<Operator>& computing_operators();
const std::vector<Operator>& function_operators();
const std::vector<Operator>& sum_operators();
const std::vector<Operator>& window_operators();
// Operators of integers of 8 bits, and of their scales.
const std::vector<Operator>& quantised_operators();
// One that computes with real numbers; null where there is none.
const Operator* real_operator(const std::string& name);

}  // namespace bf_check
