#pragma once

#include "bf/contract/integers.h"

// Bytes that the runtime's searches and contexts take of memory that the plan lays out.

namespace bf {

// ---- contexts: core/context.h

// Room of the Context that a context begins with.
constexpr int kContextHeaderBytes = 128;

// BF_BLOB_HEADER_BYTES of bf.h.
constexpr int kBlobHeaderBytes = 112;

// ---- verdicts: search/verdict.h

// verify_property: a box, a point, and bounds of the rows.
static constexpr std::size_t verify_bytes(std::size_t inputs, std::size_t rows) {
  return sizeof(float) * (3 * inputs + 2 * rows);
}

// verify_property of integers: bounds of the rows in 8 bytes each, then a box and a point.
static constexpr std::size_t integer_verify_bytes(std::size_t inputs, std::size_t rows) {
  return sizeof(std::int64_t) * 2 * rows + sizeof(float) * 3 * inputs;
}

// verify_boxes: a box, bounds of the rows and two numbers for each of `boxes`, and a point.
static constexpr std::size_t verify_boxes_bytes(std::size_t inputs, std::size_t rows,
                                                std::size_t boxes) {
  return sizeof(float) * (boxes * (2 * inputs + 2 * rows + 2) + inputs);
}

// ---- branch and bound: search/branch_and_bound.h

// An open box: its ends, its share of the whole, and its clause, which names its case.
static constexpr std::size_t open_box_bytes(std::size_t inputs) {
  return sizeof(float) * (2 * inputs + 2);
}

// Numbers of the two lines of a row over the inputs: core/bounds.h, keep_line.
static constexpr std::size_t lines_of_row(std::size_t inputs) {
  return 2 * (inputs + 1);
}

// All besides open boxes; `kept`: with the rows' lines over the inputs.
static constexpr std::size_t round_bytes(std::size_t inputs, std::size_t rows, std::size_t batch,
                                         bool kept) {
  return sizeof(float) *
         (batch * (2 * inputs + 2 * rows + (kept ? rows * lines_of_row(inputs) : 0) + 3) +
          (kept ? 10 : 3) * inputs);
}

// ---- splits of neurons: search/neuron_splits.h

// Splits of inputs on the way to a node, at most.
constexpr std::size_t kMostHalvings = 128;

// Choices of a curve: of its line below and above, and the multipliers of both ends; of a product:
// of its planes below and above.
constexpr int kCurveChoices = 4;
constexpr int kProductChoices = 2;

// Lines of a curve on each side, of which a choice mixes two.
constexpr int kCurveLines = 3;
constexpr std::size_t kCurveBytes = sizeof(double) * (3 * kCurveLines + 1);

// choices: of all neurons, one of each that is neither a curve nor a product. activations: as many
// as neurons where there are products, else 0.
struct SplitExtents {
  std::size_t inputs, rows, neurons, widest, layers, terms, choices, curves, activations;
};

// An open node, at most: its depth, its split and the point of that, weights of terms, and a number
// of two bytes for each choice.
static constexpr std::size_t open_node_bytes(std::size_t choices, std::size_t terms) {
  return sizeof(float) * (3 + terms + (choices + 1) / 2);
}

// All besides open nodes.
static constexpr std::size_t split_bytes(const SplitExtents& e) {
  return sizeof(double) * (2 * e.neurons + e.widest + e.inputs) + kCurveBytes * e.curves +
         sizeof(float) * (9 * e.neurons + 4 * e.choices + (e.neurons + 3) / 4 + 2 * e.activations +
                          2 * e.curves + 11 * e.inputs + 4 * e.rows + e.layers + 4 * e.terms +
                          2 * kMostHalvings);
}

}  // namespace bf
