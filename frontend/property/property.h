#pragma once

#include <gmpxx.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/graph/constant.h"

namespace bf_aot {

// sum of factor_k t_index_k over the elements t of a flattened tensor. Indices ascend; no factor is
// zero.
using LinearForm = std::vector<std::pair<std::int64_t, mpq_class>>;

// terms t + constant.
struct AffineForm {
  LinearForm terms;
  mpq_class constant;

  bool operator==(const AffineForm&) const = default;
};

// A value that is computed from the inputs x and the outputs y of a network. Its operands are over
// the elements t of x, of y, and of the derived values before it, one after the other.
struct DerivedValue {
  enum class Kind : std::uint8_t {
    kSum,      // the one operand
    kProduct,  // of two operands
    kMax,      // the largest of two or more operands
  };
  Kind kind = Kind::kSum;
  std::vector<AffineForm> operands;

  bool operator==(const DerivedValue&) const = default;
};

// One of the numbers of a matrix that is kept in rows: |exact number - value| <= error.
struct SpecEntry {
  std::int64_t column = 0;
  double value = 0, error = 0;

  bool operator==(const SpecEntry&) const = default;
};

// Linear specification rows over the flattened outputs, the derived values behind them, and inputs:
// the verifier bounds C y + A x - d as well as y. C: [rows, outputs and derived values] doubles; d:
// [rows].
struct LinearSpec {
  std::vector<std::vector<double>> rows;
  std::vector<double> offset;  // empty: zeros

  // |exact C_ij - rows_ij| <= row_error_ij; empty: the rows are exact. Bounds hold for the exact C.
  std::vector<std::vector<double>> row_error;
  std::vector<double> offset_error = {};  // the same of the offsets

  // See append_derived() of frontend/passes/passes.h.
  std::vector<DerivedValue> derived = {};

  // A, by row in ascending order of columns; empty: no row speaks of inputs.
  std::vector<std::vector<SpecEntry>> inputs = {};

  bool operator==(const LinearSpec&) const = default;
};

// One input box over the flattened inputs; lower_i <= upper_i, finite.
struct Box {
  std::vector<double> lower;
  std::vector<double> upper;

  bool operator==(const Box&) const = default;
};

// ---------------------------------------------------------------------------------------------
// A property: what must never happen. It is violated at x when, for some case, x lies in the case's
// box and all conditions of one of its clauses hold for x and y = network(x). All numbers are
// exact: nothing is rounded but where a member says so.

// outputs y + inputs x, where y has derived values behind the outputs. Not both are empty.
struct PropertyRow {
  LinearForm outputs;
  LinearForm inputs = {};

  bool operator==(const PropertyRow&) const = default;
};

// sign rows[row] <= limit, or < when strict.
struct Condition {
  int row = 0;
  bool negated = false;  // sign is -1
  bool strict = false;
  mpq_class limit;

  bool operator==(const Condition&) const = default;
};

using Clause = std::vector<Condition>;  // all of them; an empty one always holds

// An end of an exact box that is no double.
struct ExactEnd {
  std::int64_t input = 0;
  mpq_class value;
  bool closed = true;  // it belongs to the box

  bool operator==(const ExactEnd&) const = default;
};

// Cases of more inputs do not keep their exact ends.
inline constexpr std::size_t kMostExactEnds = 64;

// A box of inputs and the clauses of which none may hold in it.
//
// The exact box may have ends that are no doubles, or that are strict. `box` encloses its closure;
// `inner` holds the doubles in it, so a double x lies in the exact box if and only if inner.lower_i
// <= x_i <= inner.upper_i for all i. `between` has a point of each coordinate that holds no double
// (inner.lower_i > inner.upper_i).
struct PropertyCase {
  Box box;
  Box inner;
  LinearForm between;
  std::vector<Clause> clauses;                             // distinct; at least one
  std::vector<ExactEnd> lower_ends = {}, upper_ends = {};  // by ascending inputs

  bool operator==(const PropertyCase&) const = default;
};

// A tensor as the property names its elements: X_0, X_1 (VNN-LIB 1.0) or X[0,0], X[0,1] (2.0).
struct PropertyTensor {
  std::string name;
  std::string element_type;  // "Real", or "float32"
  Shape shape;
  std::string model_name;  // of the ONNX tensor; may be empty
  bool hidden = false;     // a tensor within the network, which has a model_name

  bool operator==(const PropertyTensor&) const = default;
};

// A network that VNN-LIB 2.0 declares, with the names of earlier ones that it is said to equal, or
// to have the structure of.
struct PropertyNetwork {
  std::string name;
  std::size_t inputs = 0, outputs = 0;  // tensors; hidden ones are among the outputs
  std::string equal_to, isomorphic_to;  // or empty

  bool operator==(const PropertyNetwork&) const = default;
};

struct Property {
  std::string file_name;                  // without folders
  std::vector<PropertyNetwork> networks;  // none in VNN-LIB 1.0
  std::vector<PropertyTensor> inputs;     // of all networks, one after the other
  std::vector<PropertyTensor> outputs;

  // Where several networks are declared, equations make inputs one, or outputs of networks before:
  // element k of all inputs is x_i for i = input_source_k, or y_i for i = input_source_k -
  // input_count. Empty: the elements are x.
  std::vector<std::int64_t> input_source;
  std::int64_t input_count = 0;
  std::int64_t output_count = 0;

  // Conditions that are not linear speak of these; see derived_values().
  std::vector<DerivedValue> derived;

  // Distinct linear forms over the flattened outputs, derived values and inputs, each with coprime
  // integer factors of which the first, of the outputs where there are some, is positive:
  // conditions on multiples of a form, of either sign, share it.
  std::vector<PropertyRow> rows;

  const PropertyRow& row_of(const Condition& condition) const {
    return rows[static_cast<std::size_t>(condition.row)];
  }
  std::vector<PropertyCase> cases;  // of distinct boxes; none: nothing can violate the property

  bool operator==(const Property&) const = default;
};

// The numbers of all elements of the networks' inputs from those of x and y; see
// Property::input_source.
template <class Number, class Output>
std::vector<Number> whole_inputs(const Property& property, const std::vector<Number>& x,
                                 const std::vector<Output>& y) {
  if (property.input_source.empty()) return x;
  std::vector<Number> whole;
  for (const std::int64_t source : property.input_source) {
    const auto i = static_cast<std::size_t>(source);
    whole.push_back(i < x.size() ? x[i] : Number(y[i - x.size()]));
  }
  return whole;
}

// Returns true if the property is about evaluation in float32: all its tensors have that type.
bool is_float32(const Property& property);

// Leaves out rows that no condition speaks of.
void drop_unused_rows(Property& property);

// Returns true if some row speaks of inputs.
bool speaks_of_inputs(const Property& property);

// Returns true if every condition compares one output with another, y_i <= y_j or y_i < y_j, or
// speaks of inputs alone. False where there are derived values.
bool compares_outputs(const Property& property);

// The rows of a property as C and A, in the same order; no offsets, as each condition has its own
// limit. A factor that is no double is rounded, with the distance as error. One row y_0 when there
// is none. The property's derived values are those of the specification. Throws: BF2009.
LinearSpec to_spec(const Property& property);

}  // namespace bf_aot
