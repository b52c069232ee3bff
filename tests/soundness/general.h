#pragma once

#include <gmpxx.h>

#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/property/property.h"
#include "tests/property/passes_random_graph.h"
#include "tests/soundness/batch.h"

// Random graphs of all operators, and their exact values.
namespace bf_aot::soundness {

using Point = std::vector<mpq_class>;

struct Example {
  Graph graph;           // as imported
  bool exact = true;     // no smooth function: values are exact, else within 2^-120
  bool divides = false;  // by computed values: functions with poles are not checked
};

// numbers: of weights; 2 to 12 nodes, behind half of the graphs of floats attention.
Example random_example(Random& random, testing::Numbers numbers);

// Another output: logarithms of sums of powers of affine functions of the first one.
void append_log_sum_exp(Random& random, Example& example);

Point evaluate_at(const Example& example, const Point& x);

FloatBox random_general_box(Random& random, int inputs);
Point random_point_of(const FloatBox& box, Random& random);

// Bounds are numbers in order. Reports fatal failures of googletest.
void check_order(const Outcome& outcome);

// Exact values at a point of the box lie inside: outputs, or rows of a specification, which sum up
// the errors of so many outputs.
void check_values(const Example& example, const Point& y, const Outcome& outcome, double terms = 1);

// Of the rows, from all outputs.
Point rows_at(const LinearSpec& spec, const Point& y);

}  // namespace bf_aot::soundness
