#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "frontend/graph/graph.h"

namespace bf_aot {

// For each value a number that no element is below, whatever the inputs, neither exactly nor in any
// evaluation in float32; -infinity: none is known. Rounding keeps what follows from signs alone:
// sums of squares are not negative, and sums with a positive number are positive.
std::vector<double> least_values(const Graph& graph);

// Divisors that may be smaller in magnitude are as good as zero: bounds of quotients by them are
// infinite. Any other quotient is less than 1 / kLeastDivisor of what is divided.
constexpr double kLeastDivisor = 0x1p-40;

// Holds what the nodes around a node tell of its evaluation, in the graph as import makes it.
class EvaluationFacts {
 public:
  explicit EvaluationFacts(const Graph& graph);

  // See least_values().
  double least(ValueId id) const;

  // Node `i` adds copies of elements that lie at different places, with zeros around them.
  bool joins_copies(std::size_t i) const { return joins_[i]; }

  // The operands of the operator whose additions node `i` is one of, and whether the node's own
  // operand `side` is one of them, and no sum of others.
  std::int64_t operands(std::size_t i) const { return operands_[i]; }
  bool is_operand(std::size_t i, std::size_t side) const { return !inner_[i][side]; }

  // Node `i` is x less the mean of the group that each of its elements is in.
  bool is_centred(std::size_t i) const { return centred_[i]; }

  // Node `i` makes sums or differences of two numbers each, whose sign alone counts.
  bool is_compared(std::size_t i) const { return compared_[i]; }

  // Node `i` is the logarithm of sums of so many powers e^x; 0: of anything else.
  std::int64_t powers_inside(std::size_t i) const { return powers_[i]; }

 private:
  void find_joins(const Graph& graph);
  void find_operands(const Graph& graph);
  void find_centred(const Graph& graph);
  void find_compared(const Graph& graph);
  void find_powers(const Graph& graph);
  const Node* maker(const Graph& graph, ValueId id) const;

  std::vector<int> makers_;
  std::vector<double> least_;
  // These are indexed by the node.
  std::vector<bool> joins_, centred_, compared_;
  std::vector<std::int64_t> operands_, powers_;
  std::vector<std::vector<bool>> inner_;  // by operand
};

}  // namespace bf_aot
