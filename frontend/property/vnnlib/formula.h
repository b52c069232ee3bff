#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/numbers/numbers.h"
#include "frontend/property/property.h"
#include "frontend/property/vnnlib/declarations.h"
#include "frontend/property/vnnlib/derived_table.h"
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

// a or b.
Disjunction unite(Disjunction a, Disjunction b);

// a and b, multiplied out. Throws: BF3404 beyond the limits, at `place`.
Disjunction conjoin(Disjunction a, Disjunction b, const PropertyLimits& limits, const Lexer& lexer,
                    const Token& place);

struct TiedInputs;

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

// Reads formulas into disjunctive normal form.
class FormulaReader {
 public:
  FormulaReader(Lexer& lexer, const Declarations& declarations, const PropertyLimits& limits)
      : lexer_(lexer), declarations_(declarations), limits_(limits), derived_(lexer, limits) {}

  // The formula that follows. Throws: BF3403 to BF3406.
  Disjunction read() { return read_formula(false, 0); }

  // Writes a disjunct with what takes the place of its inputs. A condition that is left with one
  // input becomes a bound of it, and a bound of an output a condition. Throws as read(), at
  // `place`.
  void rename_inputs(Disjunct& disjunct, const TiedInputs& tied, const Token& place);

  const std::vector<PropertyRow>& rows() const { return rows_.all(); }

  // Gives the property, whose cases are there, the rows and derived values that these speak of.
  void take(Property& property);

 private:
  enum class Relation : std::uint8_t { kLessEqual, kLess, kEqual, kNotEqual };

  // A value that a term has where its guard holds; no guard: everywhere.
  struct Choice {
    std::optional<Disjunction> guard;
    Affine value;
  };

  // A number or a variable stays what it is: those are nearly all operands. Guards of choices
  // exclude each other, and one of them holds always.
  struct Operand {
    enum class Kind : std::uint8_t { kNumber, kVariable, kAffine, kChoices } kind = Kind::kNumber;
    Number number;
    Variable variable = 0;
    Affine affine;
    std::vector<Choice> choices;
  };

  // The meaning of a name of `let`. The text of a formula is read again where it is negated.
  struct Binding {
    bool is_formula = false;
    Operand term;
    Disjunction formula;
    Lexer text;
  };

  struct Scope {
    const Scope* outer = nullptr;
    std::unordered_map<std::string_view, Binding> names;
  };

  struct Bound {
    const Binding* binding = nullptr;
    const Scope* outer = nullptr;  // the names that its text sees
  };

  Disjunction read_formula(bool negate, int depth);
  Disjunction read_connective(bool conjunction, bool negate, int depth);
  Disjunction read_implication(bool negate, int depth);
  Disjunction read_formula_choice(bool negate, int depth, const Token& place);
  Disjunction read_bound_formula(const Bound& bound, bool negate, int depth, const Token& place);
  Disjunction read_distinct(const Token& op, bool negate, int depth);
  Disjunction read_comparison(const Token& op, bool negate, int depth);
  Disjunction relate(const Operand& a, const Operand& b, Relation relation, const Token& place);
  Disjunction relate_choices(const Operand& a, const Operand& b, Relation relation,
                             const Token& place);
  Disjunction less(const Operand& a, const Operand& b, bool strict, const Token& place);
  Disjunction below_zero(Affine affine, bool strict, const Token& place);
  Disjunction split_maximum(Affine affine, std::size_t term, bool strict, const Token& place);
  Condition condition_of(Affine affine, bool strict, const Token& place);
  std::optional<std::size_t> maximum_to_split(const Affine& affine) const;
  std::size_t alternatives(const Affine& affine) const;

  Operand read_operand(int depth);
  Operand read_term(const Token& op, int depth);
  Operand read_arithmetic(const Token& op, int depth);
  Operand read_extremum(const Token& op, int depth);
  Operand read_term_choice(const Token& op, int depth);
  void apply(const Token& op, Affine& result, Affine term);
  Affine multiply(Affine a, Affine b, const Token& place);
  Affine divide(Affine a, const Affine& b, const Token& place);
  Affine extremum(std::string_view op, std::vector<Affine> operands, const Token& place);
  Affine largest(std::vector<Affine> operands, const Token& place);
  void combine_terms(Affine& affine, const Token& place) const;
  void check_size(const mpq_class& number, const Token& place) const;
  void check_depth(int depth, const Token& place) const;
  Number keep(const mpq_class& value);

  static std::vector<Choice> choices_of(Operand operand);
  static Operand operand_of(std::vector<Choice> choices);
  std::optional<Disjunction> both(const std::optional<Disjunction>& a,
                                  const std::optional<Disjunction>& b, const Token& place) const;
  void check_choices(std::size_t count, const Token& place) const;

  // Reads the bindings of `let`, and by `body` what they are for.
  template <class Body>
  auto read_let(int depth, const Body& body);
  void read_binding(Scope& scope, int depth);
  Bound find_bound(std::string_view name) const;
  bool formula_follows(Lexer ahead) const;
  template <class Read>
  auto read_again(const Lexer& from, const Token& place, const Read& read);

  Lexer& lexer_;
  const Declarations& declarations_;
  const PropertyLimits& limits_;
  RowTable rows_;
  DerivedTable derived_;
  std::deque<std::string> computed_;  // texts of numbers that do not stand in the file
  const Scope* scope_ = nullptr;
  std::size_t repeated_ = 0;  // bytes that were read again
};

}  // namespace bf_aot::vnnlib
