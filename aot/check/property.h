#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/check/exact.h"

// VNN-LIB files: what must never happen, as a formula over inputs and outputs.

namespace bf_check {

// sum of coefficient * variable + constant <= 0, or < 0. Variables: input elements from 0, then the
// outputs of all networks, then products.
struct Condition {
  std::vector<std::pair<u32, Rat>> terms;  // by variable; none is 0
  Rat constant;
  bool strict = false;
};

// kAtom: conditions[atom]; kAll: all parts hold (true where there is none); kAny: one does.
struct Formula {
  enum Form { kAtom, kAll, kAny } form = kAll;
  std::size_t atom = 0;
  std::vector<Formula> parts;
};

// A conjunction of conditions, for inputs in a box: those with multiples that are integers.
struct Clause {
  struct Atom {
    std::vector<std::pair<u32, Int>> terms;
    Rat constant;
    bool strict = false;
  };
  std::vector<Atom> atoms;
};

// The clauses whose boxes of inputs are the same, ends included.
struct Case {
  std::vector<Rat> lower, upper;
  std::vector<Clause> clauses;
};

// A network that the property declares.
struct Declared {
  std::string name;
  u32 inputs = 0, outputs = 0;           // elements
  std::vector<std::vector<i64>> shapes;  // of inputs, then of outputs; or none: they are not said
  std::optional<std::size_t> equal, isomorphic;  // to which earlier network
};

// How networks that are one behind the other are one network.
struct Wiring {
  u32 inputs = 0;  // elements
  // Holds, for each input of all networks, the element that it is, or `inputs` and the number of
  // the output of an earlier network.
  std::vector<u32> source;
  std::vector<std::pair<u32, u32>> products;  // of two variables each
};

struct Property {
  u32 inputs = 0, outputs = 0;  // elements; outputs of all networks
  std::vector<Declared> networks;
  Wiring wiring;
  std::vector<Condition> conditions;
  Formula violation;  // what must not happen
  // The alternatives of the violation: it happens only in one of them. In the order in which they
  // are written, by box.
  std::vector<Case> cases;
};

// Throws Refused: text that is not in the grammar of docs/reference/certificate.md; an input
// without a lower and an upper bound in an alternative.
Property read_property(const std::string& text);

// Whether the violation happens at a point, given by input element, for all outputs that are not
// below `lower` and not above `upper`.
bool is_violated(const Property& property, const std::vector<Rat>& inputs, std::vector<Rat> lower,
                 std::vector<Rat> upper);

}  // namespace bf_check
