#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/integer/chain.h"
#include "planner/plan/integer.h"

namespace bf_aot {

// The meaning of a value of the network while its codes are not known: a source, and what is done
// to each element of it.

// Numbers of a tensor's elements, or one for all of them.
class Numbers {
 public:
  explicit Numbers(const Constant& constant);

  Range at(std::size_t element) const;
  bool uniform() const { return values_.size() == 1; }
  // A key that is equal for elements of equal numbers alone.
  std::pair<double, double> key(std::size_t element) const;
  // Element i becomes element source[i].
  void gather(const std::vector<std::int64_t>& source);

 private:
  std::size_t index(std::size_t element) const { return uniform() ? 0 : element; }

  std::vector<double> values_, errors_;
};

// factor x + offset
struct ElementScale {
  Numbers factor, offset;
};

using ElementLink = std::variant<ElementScale, ReluLink, Function>;

// Elements of the network's input.
struct InputSource {
  std::vector<std::int64_t> source;  // empty: in order
};

// Codes of a tensor.
struct CodeSource {
  GridId tensor = 0;
  std::vector<std::int64_t> source;  // empty: in order
};

// Codes that mean scale code + offset, for all elements.
struct CodeView {
  CodeSource codes;
  mpq_class scale, offset;
};

// The result of a dense, sparse or convolutional node that reads a tensor.
struct LinearSource {
  CodeView in;
  const Node* node = nullptr;
};

// a + b
struct PairSource {
  CodeView a, b;
};

// Each element is one of a part, or 0. From concatenations and padding.
struct PartsSource {
  std::vector<CodeView> parts;
  std::vector<int> part;           // of each element; -1: 0
  std::vector<std::int64_t> from;  // which code of the part's tensor
};

using Source = std::variant<InputSource, CodeSource, LinearSource, PairSource, PartsSource>;

struct GridExpression {
  Source source;
  std::vector<ElementLink> links;
  Origin origin;
};

// The links of one element.
Chain chain_at(const std::vector<ElementLink>& links, std::size_t element);

// Elements of equal links have the same number; numbers count from 0.
struct LinkClasses {
  std::vector<int> of;              // each element
  std::vector<std::size_t> leader;  // the first element of each class
};
LinkClasses classes_of(const std::vector<ElementLink>& links, std::size_t count);

// The expression as codes of one scale; none when it is no such thing.
std::optional<CodeView> view_of(const GridExpression& expression);

// The ends between which all codes lie, if the last link is kQuantise, or a clip behind a rounding
// and offsets.
struct CodeLimits {
  std::int64_t low = 0, high = 0;
};
std::optional<CodeLimits> code_limits(const std::vector<ElementLink>& links, std::size_t count);

}  // namespace bf_aot
