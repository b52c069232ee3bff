#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/integer/expression.h"
#include "planner/integer/requantize.h"
#include "planner/plan/integer.h"

namespace bf_aot {

// An output as a function of codes: a chain of a sum of weights times codes of a tensor.
struct OutputForm {
  GridId in = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> terms;  // which code, and its weight
  Chain chain;                                               // begins with an affine link
  Origin origin;
};

// Makes steps of expressions whose codes are known. Throws: CompileError BF2113, BF2115.
class LayerMaker {
 public:
  explicit LayerMaker(IntegerPlan& plan) : plan_(plan) {}

  // The codes between limits.low and limits.high of an expression that ends with their clip: a
  // tensor whose code 0 means limits.low.
  GridId make_codes(const GridExpression& expression, const CodeLimits& limits, std::size_t count);

  // Makes codes of which each is that of `codes`, one more or one less, see Function::slack.
  GridId make_loose(GridId codes, const CodeLimits& limits);

  // The elementwise largest codes of the rows of a node.
  GridId make_largest(const CodeSource& codes, const GroupMax& op, const Origin& origin);

  // The codes of parts that have one scale; every element is of one.
  GridId make_copies(const PartsSource& parts, const Origin& origin);

  // Bounds of the outputs first .. first + count - 1.
  void make_outputs(const GridExpression& expression, int first, std::size_t count);

  // The outputs whose bounds were made, in their order.
  const std::vector<OutputForm>& outputs() const { return outputs_; }

 private:
  struct Target {
    const GridExpression& expression;
    CodeLimits limits;
    std::size_t count;
    int codes() const { return static_cast<int>(limits.high - limits.low) + 1; }
  };
  class Rows;

  // Makes outputs that are no codes from the sums themselves.
  void make_sum_outputs(const GridExpression& expression, const LinearSource& linear, int first);
  GridId make(const InputSource& input, const Target& target);
  GridId make(const CodeSource& codes, const Target& target);
  GridId make(const LinearSource& linear, const Target& target);
  GridId make(const PairSource& pair, const Target& target);
  GridId make(const PartsSource& parts, const Target& target);

  GridId make_linear(const Affine& op, const LinearSource& linear, const Target& target);
  GridId make_linear(const SparseAffine& op, const LinearSource& linear, const Target& target);
  GridId make_linear(const Conv& op, const LinearSource& linear, const Target& target);
  GridId add_sums(std::string_view kind, const Requantization& codes, const Target& target);

  GridId add_parts(GridParts step, const PartsSource& parts, const Origin& origin);
  // `kind`: begins its name.
  GridId add_tensor(std::string_view kind, const Origin& origin, std::size_t count, int low,
                    int high);
  // A tensor of the codes in order.
  GridId in_order(const CodeSource& codes, const Origin& origin, std::size_t count);

  // The chain from a sum to the code.
  Chain chain_of(const Target& target, std::size_t element) const;

  IntegerPlan& plan_;
  std::vector<OutputForm> outputs_;
};

}  // namespace bf_aot
