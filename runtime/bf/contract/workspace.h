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

// Splits of inputs that follow splits of all neurons, at most.
constexpr std::size_t kMostHalvings = 128;

struct SplitExtents {
  std::size_t inputs, rows, neurons, widest, layers, terms;
};

// An open node, at most: its depth, its split, weights of terms, and a number of two bytes for each
// neuron.
static constexpr std::size_t open_node_bytes(std::size_t neurons, std::size_t terms) {
  return sizeof(float) * (2 + terms + (neurons + 1) / 2);
}

// All besides open nodes.
static constexpr std::size_t split_bytes(const SplitExtents& e) {
  return sizeof(double) * (2 * e.neurons + e.widest + e.inputs) +
         sizeof(float) * (11 * e.neurons + (e.neurons + 3) / 4 + 9 * e.inputs + 4 * e.rows +
                          e.layers + 4 * e.terms + kMostHalvings);
}

}  // namespace bf
