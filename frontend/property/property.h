#pragma once

#include <gmpxx.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/graph/constant.h"

namespace bf_aot {

// One of the numbers of a matrix that is kept in rows: |exact number - value| <= error.
struct SpecEntry {
  std::int64_t column = 0;
  double value = 0, error = 0;

  bool operator==(const SpecEntry&) const = default;
};

// Linear specification rows over the flattened outputs, and inputs: the verifier bounds C y + A x -
// d as well as y. C: [rows, outputs] doubles; d: [rows].
struct LinearSpec {
  std::vector<std::vector<double>> rows;
  std::vector<double> offset;  // empty: zeros

  // |exact C_ij - rows_ij| <= row_error_ij; empty: the rows are exact. Bounds hold for the exact C.
  std::vector<std::vector<double>> row_error;
  std::vector<double> offset_error = {};  // the same of the offsets

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

// sum of factor_k t_index_k over the elements t of a flattened tensor. Indices ascend; no factor is
// zero.
using LinearForm = std::vector<std::pair<std::int64_t, mpq_class>>;

// outputs y + inputs x. Not both are empty.
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
  std::vector<Clause> clauses;  // distinct; at least one

  bool operator==(const PropertyCase&) const = default;
};

// A tensor as the property names its elements: X_0, X_1 (VNN-LIB 1.0) or X[0,0], X[0,1] (2.0).
struct PropertyTensor {
  std::string name;
  std::string element_type;  // "Real", or "float32"
  Shape shape;
  std::string model_name;  // of the ONNX tensor; may be empty

  bool operator==(const PropertyTensor&) const = default;
};

struct Property {
  std::string file_name;  // without folders
  std::string network;    // as it is declared in VNN-LIB 2.0; empty for 1.0
  std::vector<PropertyTensor> inputs;
  std::vector<PropertyTensor> outputs;
  std::int64_t input_count = 0;
  std::int64_t output_count = 0;

  // Distinct linear forms over the flattened outputs and inputs, each with coprime integer factors
  // of which the first, of the outputs where there are some, is positive: conditions on multiples
  // of a form, of either sign, share it.
  std::vector<PropertyRow> rows;

  const PropertyRow& row_of(const Condition& condition) const {
    return rows[static_cast<std::size_t>(condition.row)];
  }
  std::vector<PropertyCase> cases;  // of distinct boxes; none: nothing can violate the property

  bool operator==(const Property&) const = default;
};

// Returns true if the property is about evaluation in float32: all its tensors have that type.
bool is_float32(const Property& property);

// Leaves out rows that no condition speaks of.
void drop_unused_rows(Property& property);

// Returns true if some row speaks of inputs.
bool speaks_of_inputs(const Property& property);

// Returns true if every condition compares one output with another, y_i <= y_j or y_i < y_j, or
// speaks of inputs alone.
bool compares_outputs(const Property& property);

// The rows of a property as C and A, in the same order; no offsets, as each condition has its own
// limit. A factor that is no double is rounded, with the distance as error. One row y_0 when there
// is none. Throws: BF2009.
LinearSpec to_spec(const Property& property);

}  // namespace bf_aot
