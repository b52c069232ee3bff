#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aot/check/exact.h"

// ONNX files, as far as the checker's operators need them. Whatever is not read is refused where it
// could change what the network computes.

namespace bf_check {

constexpr i64 kMostElements = i64{1} << 26;  // of a tensor
constexpr i64 kMostMade = i64{1} << 24;      // of a tensor that an operator makes
constexpr i64 kMostTerms = i64{1} << 28;     // that an operator reads: elements by what each reads

// Numbers in row-major order. Those of a file stay as it has them until they are read: a rational
// takes a hundred bytes.
class Numbers {
 public:
  Numbers() = default;
  Numbers(std::vector<Rat> made) : made_(std::move(made)) {}
  // Takes an element type of the file, and its raw data, which must outlive this, or the bits of
  // each element. Throws Refused: what is no number.
  Numbers(u64 type, std::string_view raw);
  Numbers(u64 type, const std::vector<u64>& bits);

  std::size_t size() const;
  Rat operator[](std::size_t i) const;
  std::vector<Rat> all() const;
  void push(const Numbers& from, std::size_t i);

 private:
  u64 bits(std::size_t i) const;
  void expect_numbers() const;

  u64 type_ = 0;  // 0: rationals
  std::string_view raw_;
  std::shared_ptr<std::vector<u64>> bits_;  // shared by copies: only what is being made grows
  std::vector<Rat> made_;
};

struct Tensor {
  std::vector<i64> shape;
  Numbers data;  // as many as the shape's product
  u64 type = 0;  // of its elements, as in TensorProto
};

// The product of the extents. Throws Refused: a negative one, or more than kMostElements.
i64 size_of(const std::vector<i64>& shape);
// Throws Refused: a result of this shape, each element of which is made of so many, is too large.
void expect_work(const std::vector<i64>& shape, i64 terms);

struct Attribute {
  i64 type = 0;  // of AttributeProto: 1 float, 2 int, 3 string, 4 tensor, 7 ints
  i64 number = 0;
  Rat real = 0;
  std::string text;
  Tensor tensor;
  std::vector<i64> numbers;
};

struct Node {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> attributes;
};

// An input or output of the graph, as it is declared.
struct GraphValue {
  std::string name;
  std::vector<i64> shape;  // 1 for extents without a number
  std::vector<bool> open;  // by axis: whether it has none
  u64 type = 0;            // of its elements: 1 float, 11 double
  bool has_shape = false;
};

struct Model {
  i64 opset = 0;
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants;
  std::vector<GraphValue> inputs;  // without those that are constants
  std::vector<GraphValue> outputs;
};

// Throws Refused: a declared shape that is not this one.
void expect_shape(const GraphValue& value, const std::vector<i64>& shape);

// The model reads of `bytes`, which must outlive it.
Model read_onnx(std::string_view bytes);

}  // namespace bf_check
