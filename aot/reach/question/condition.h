#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "frontend/evaluate/scalar_program.h"

namespace bf_aot::reach {

// A formula over comparisons of values with 0, without negation.
struct Formula {
  enum class Kind : std::uint8_t { kCompare, kAll, kAny };
  Kind kind = Kind::kAll;      // of nothing: true
  std::size_t value = 0;       // kCompare: output of the condition's program
  bool strict = false;         // value < 0, else value <= 0
  std::vector<Formula> parts;  // of the others

  bool operator==(const Formula&) const = default;
};

// Says what is demanded of a state: a formula over values that are computed from elements of the
// state now, of the control that is held now, and of the state at the start, one after the other.
struct Condition {
  ScalarProgram values;
  Formula formula;
  std::string text;  // as it was typed

  // Returns the opposite formula. Values that it compares with the other sign are added.
  Condition negated() const;
};

// The tensors that a condition may speak of.
struct ConditionNames {
  std::size_t states = 0, controls = 0;
  std::vector<std::string> state_names;  // of elements, or empty
};

// Parses VNN-LIB's terms: (and ..), (or ..), (not ..), (=> a b), comparisons < <= > >= = of terms
// with + - * / min max abs sqrt sin cos exp tanh, decimals, and elements x[i] or X[0,i] of the
// state, u[j] of the control, x0[i] of the state at the start, and names of state elements.
// `where`: for messages. Throws: BF3610 syntax, BF3611 an element that does not exist.
Condition parse_condition(const std::string& text, const ConditionNames& names,
                          const std::string& where);

}  // namespace bf_aot::reach
