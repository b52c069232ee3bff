#pragma once

#include <string>
#include <vector>

#include "aot/check/onnx.h"

// The network as the checker sees it: elements, each an input, an affine sum of earlier elements,
// or the ReLU or sigmoid of one. Operators that only move data make no elements.

namespace bf_check {

// Weights are multiples of 2^-weight_bits and values of 2^-value_bits. Any grid gives a sound
// checker; which one is a choice of the certificate.
struct Grid {
  unsigned weight_bits = 44, value_bits = 36;
};
constexpr unsigned kWeightSize = 56;  // |weight| < 2^56, in units of the grid
constexpr unsigned kValueSize = 54;   // |value| < 2^54
constexpr u32 kMostElementsOfNetwork = 1u << 18;
constexpr u32 kMostReaders = 1u << 16;  // of an element, and most elements that one reads

enum class Kind { kInput, kAffine, kRelu, kSigmoid };
enum ReadBy : unsigned char { kReadByRelu = 1, kReadBySigmoid = 2 };

// Elements first .. first + count - 1. What row r reads is column[start[r]] .. column[start[r+1]-1]
// (kInput: nothing; kRelu, kSigmoid: one element each).
//
// kAffine: the element is  sum of (weight[k] + d_k) 2^-P column[k]  +  (bias + d) 2^-T,  where
// 0 <= d < 1 for a weight or bias that is no multiple of the grid, and d = 0 for all others.
// rough[rough_start[r]] .. are the columns of the former weights.
struct Layer {
  Kind kind = Kind::kInput;
  u32 first = 0, count = 0;
  std::vector<u32> start, column;
  std::vector<i64> weight, bias;
  std::vector<u32> rough_start, rough;
  std::vector<unsigned char> rough_bias;
  // Holds the same sums by what they read: source[i] is read by rows reader[reader_start[i]] ..
  // with reader_weight[...].
  std::vector<u32> source, reader_start, reader;
  std::vector<i64> reader_weight;
  u32 first_number = 0;                  // of its first among all ReLUs, or among all sigmoids
  std::vector<unsigned char> functions;  // by element: those that read it, as bits of ReadBy
};

struct Network {
  Grid grid;
  std::vector<Layer> layers;  // the first is the inputs
  u32 inputs = 0, elements = 0, sigmoids = 0;
  std::vector<u32> outputs;              // elements
  std::vector<std::vector<i64>> shapes;  // of the inputs, then of the outputs
  std::vector<u32> argument;             // of neuron n: the element whose ReLU it is
};

// Throws Refused: an operator, attribute or shape that is not in the table of
// docs/reference/certificate.md, or a number beyond the grid's range; as work does.
Network make_network(const Model& model, const Grid& grid, Work& work);

// Bounds of the outputs at a point; equal where no number on the way to the output is irrational.
struct Outputs {
  std::vector<Rat> lower, upper;
  std::vector<std::vector<i64>> shapes;  // of the inputs, then of the outputs
};
// Throws as make_network(); NotProven: a value beyond the grid's range.
Outputs evaluate(const Model& model, const std::vector<Rat>& point, const Grid& grid,
                 unsigned coefficient_bits, Work& work);

}  // namespace bf_check
