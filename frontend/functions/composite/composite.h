#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "frontend/functions/function.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// A step of an expression of one variable x. `left` and `right` are numbers of steps before it.
struct CompositeStep {
  enum class Kind : std::uint8_t {
    kVariable,  // x
    kLine,      // factor left + offset
    kSum,       // left + right
    kProduct,   // left right
    kFunction,  // function(left)
  };
  Kind kind = Kind::kVariable;
  int left = 0;
  int right = 0;
  Bounded factor, offset;  // real numbers of which these bounds are known
  Function function;
  bool operator==(const CompositeStep&) const = default;
};

// A part of the real line, from `start` to the start of the next part.
struct CompositePart {
  enum class Kind : std::uint8_t {
    kLine,    // |f(x) - (intercept + slope x)| <= error
    kSmooth,  // each function is on one of its branches
    kBorder,  // functions bend or jump somewhere in it, at its end too
    kBeyond,  // low <= f(x) <= high; a side on which f, or a power in it, is beyond the floats
  };
  Kind kind = Kind::kLine;
  double start = 0;   // -inf in the first
  bool open = false;  // the start belongs to the part before
  double intercept = 0, slope = 0, error = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // Holds for each step the branch that its function is on; see branches.h.
  std::vector<std::uint8_t> branches;
  bool operator==(const CompositePart&) const = default;
};

// A function that is an expression of one variable. It has values at every real number. Where
// numbers of the expression are known up to an error, everything that is said of the function holds
// whatever they are.
class Composite {
 public:
  // The expression's value is its last step's. Null where the function comes neither near a line
  // nor leaves the floats on a side, or where it bends at points that are not found. Equal
  // expressions are one object, which lives until the program ends.
  static const Composite* of(const std::vector<CompositeStep>& steps);

  const std::vector<CompositeStep>& steps() const { return steps_; }
  const std::vector<CompositePart>& parts() const { return parts_; }
  // Returns the largest degree of the smooth parts, where all are polynomials; 7 where one is none.
  int degree() const { return degree_; }
  // "(x * (1 erf((0.7 x + 0)) + 1))"; other expressions have other texts.
  const std::string& text() const { return text_; }

 private:
  Composite() = default;

  std::vector<CompositeStep> steps_;
  std::vector<CompositePart> parts_;
  int degree_ = 0;
  std::string text_;
};

}  // namespace bf_aot
