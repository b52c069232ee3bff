#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/property/property.h"
#include "frontend/property/vnnlib/declarations.h"
#include "frontend/property/vnnlib/lexer.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::vnnlib {

// sum of factor_k variable_k + constant, not in order, variables possibly repeated.
struct Affine {
  std::vector<std::pair<Variable, mpq_class>> terms;
  mpq_class constant;

  bool is_constant() const { return terms.empty(); }
  bool operator==(const Affine&) const = default;
};

// A factor times a variable.
struct Multiple {
  Variable variable = 0;
  mpq_class factor;
};

// The derived values of a property by number, while its file is read. Equal ones share a number;
// factors that values have in common stand outside of them. Forms that are handed in have ascending
// distinct variables and no zero factors.
class DerivedTable {
 public:
  using Kind = DerivedValue::Kind;

  // A value over variables; `degree` as of a polynomial in inputs and outputs.
  struct Entry {
    Kind kind = Kind::kSum;
    std::vector<Affine> operands;
    int degree = 1;
  };

  DerivedTable(const Lexer& lexer, const PropertyLimits& limits) : lexer_(lexer), limits_(limits) {}

  // Find the value of forms that are not constant. Throw: BF3404, at `place`.
  Multiple sum(Affine form, const Token& place);
  Multiple product(Affine a, Affine b, const Token& place);

  // Finds that of two or more distinct forms, not all of them constant.
  Multiple largest(std::vector<Affine> forms, const Token& place);

  const Entry& at(Variable variable) const {
    return entries_.at(static_cast<std::size_t>(variable - kFirstDerived));
  }

  // The values that the property's rows read, directly or not, over its inputs, which input_source
  // numbers. Renames the rows' derived variables, which follow kFirstDerived - kFirstOutput, to
  // match.
  std::vector<DerivedValue> take(Property& property) const;

 private:
  int degree_of(const Affine& form) const;
  Multiple find(Kind kind, std::vector<Affine> operands, int degree, mpq_class factor,
                const Token& place);

  const Lexer& lexer_;
  const PropertyLimits& limits_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, Variable> numbers_;
};

}  // namespace bf_aot::vnnlib
