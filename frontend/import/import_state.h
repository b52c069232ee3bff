#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph.h"
#include "frontend/import/tensors.h"

namespace bf {

// Its maker failed and said why; readers stay silent.
struct Poisoned {};

// Made by the model but of no use in a verifier: the mask of Dropout.
struct Unavailable {
  std::string maker;
};

// An initializer or Constant node; becomes a Literal node when an operator first reads it.
struct PendingLiteral {
  Constant value;
  std::string origin;
};

// What a tensor name of the ONNX graph stands for.
using Symbol = std::variant<Poisoned, Unavailable, ValueId, PendingLiteral, IntegerTensor>;

// The model while it is imported.
struct ImportState {
  Graph graph;
  TensorReader reader;
  std::int64_t opset = 0;
  std::unordered_map<std::string, Symbol> symbols;  // by ONNX name
  std::vector<Diagnostic> diagnostics;              // found so far
  std::unordered_set<std::string> names;            // of the graph's values

  // Adds a value for the ONNX tensor `name`, whose shape must be within the limits and not empty.
  // Throws: BF1005, BF1014.
  ValueId add_value(const std::string& name, const Shape& shape);

  // The graph's value for a name; makes the Literal node of a pending literal.
  // Throws: BF1018 not available, BF1019 an integer tensor. The name must be known, not poisoned.
  ValueId real_value(const std::string& name);
};

}  // namespace bf
