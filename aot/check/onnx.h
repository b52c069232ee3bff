#pragma once

#include <map>
#include <string>
#include <vector>

#include "aot/check/exact.h"

// ONNX files, as far as the checker's operators need them. Whatever is not read is refused where it
// could change what the network computes.

namespace bf_check {

constexpr i64 kMostElements = i64{1} << 26;  // of a tensor

struct Tensor {
  std::vector<i64> shape;
  std::vector<Rat> data;  // row-major; as many as the shape's product
  bool integral = false;  // of an integer type
};

// The product of the extents. Throws Refused: a negative one, or more than kMostElements.
i64 size_of(const std::vector<i64>& shape);

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

struct GraphInput {
  std::string name;
  std::vector<i64> shape;  // 1 for extents without a number
  bool real = false;       // float or double
};

struct Model {
  i64 opset = 0;
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants;
  std::vector<GraphInput> inputs;  // without those that are constants
  std::vector<std::string> outputs;
};

Model read_onnx(const std::string& bytes);

}  // namespace bf_check
