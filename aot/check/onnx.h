#pragma once

#include <map>
#include <string>
#include <vector>

#include "aot/check/exact.h"

// ONNX files, as far as the checker's operators need them. Whatever is not read is refused where it
// could change what the network computes.

namespace bf_check {

constexpr i64 kMostElements = i64{1} << 26;  // of a tensor
constexpr i64 kMostMade = i64{1} << 24;      // of a tensor that an operator makes
constexpr i64 kMostTerms = i64{1} << 28;     // that an operator reads: elements by what each reads

struct Tensor {
  std::vector<i64> shape;
  std::vector<Rat> data;  // row-major; as many as the shape's product
  bool integral = false;  // of an integer type
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

Model read_onnx(const std::string& bytes);

}  // namespace bf_check
