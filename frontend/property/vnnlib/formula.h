#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/numbers/numbers.h"
#include "frontend/property/property.h"
#include "frontend/property/vnnlib/declarations.h"
#include "frontend/property/vnnlib/lexer.h"

namespace bf_aot::vnnlib {

// x_input <= value or x_input >= value, or < and > when strict.
struct InputBound {
  std::int64_t input = 0;
  bool upper = false;
  bool strict = false;
  Number value;
};

// A conjunction.
struct Disjunct {
  std::vector<InputBound> bounds;
  std::vector<Condition> conditions;

  std::size_t literals() const { return bounds.size() + conditions.size(); }
  bool always_holds() const { return literals() == 0; }
};

// A disjunction; empty: false.
using Disjunction = std::vector<Disjunct>;

// a and b, multiplied out. Throws: BF3404 beyond the limits, at `place`.
Disjunction conjoin(Disjunction a, Disjunction b, const PropertyLimits& limits, const Lexer& lexer,
                    const Token& place);

// Linear forms by number; see Property::rows.
class RowTable {
 public:
  // form = scale times row `index`, where scale < 0 when negated.
  struct Match {
    int index = 0;
    mpq_class scale;
  };
  Match find(const PropertyRow& form);

  const std::vector<PropertyRow>& all() const { return rows_; }
  std::vector<PropertyRow> take() { return std::move(rows_); }

 private:
  std::vector<PropertyRow> rows_;
  std::unordered_map<std::string, int> numbers_;
};

// sum of factor_k variable_k + constant, not in order, variables possibly repeated.
struct Affine {
  std::vector<std::pair<Variable, mpq_class>> terms;
  mpq_class constant;
};

// Reads formulas into disjunctive normal form.
class FormulaReader {
 public:
  FormulaReader(Lexer& lexer, const Declarations& declarations, const PropertyLimits& limits)
      : lexer_(lexer), declarations_(declarations), limits_(limits) {}

  // The formula that follows. Throws: BF3403 to BF3406.
  Disjunction read() { return read_formula(false, 0); }

  RowTable& rows() { return rows_; }

 private:
  enum class Relation : std::uint8_t { kLessEqual, kLess, kEqual, kNotEqual };

  // A number or a variable stays what it is: those are nearly all operands.
  struct Operand {
    enum class Kind : std::uint8_t { kNumber, kVariable, kAffine } kind = Kind::kNumber;
    Number number;
    Variable variable = 0;
    Affine affine;
  };

  Disjunction read_formula(bool negate, int depth);
  Disjunction read_connective(bool conjunction, bool negate, int depth);
  Disjunction read_implication(bool negate, int depth);
  Disjunction read_comparison(const Token& op, bool negate, int depth);
  Disjunction relate(const Operand& a, const Operand& b, Relation relation, const Token& place);
  Disjunction less(const Operand& a, const Operand& b, bool strict, const Token& place);
  Disjunction below_zero(Affine affine, bool strict, const Token& place);

  Operand read_operand(int depth);
  Affine read_arithmetic(const Token& op, int depth);
  Affine multiply(Affine a, Affine b, const Token& place) const;
  Affine divide(Affine a, const Affine& b, const Token& place) const;
  void combine_terms(Affine& affine, const Token& place) const;
  void check_size(const mpq_class& number, const Token& place) const;
  void check_depth(int depth, const Token& place) const;
  Number keep(const mpq_class& value);

  Lexer& lexer_;
  const Declarations& declarations_;
  const PropertyLimits& limits_;
  RowTable rows_;
  std::deque<std::string> computed_;  // texts of numbers that do not stand in the file
};

}  // namespace bf_aot::vnnlib
