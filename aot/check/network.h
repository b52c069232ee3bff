#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aot/check/onnx.h"
#include "aot/check/program.h"
#include "aot/check/property.h"

// The network as the checker sees it: elements, each an input, an affine sum of earlier elements,
// the ReLU or another function of one, or the product of two. Operators that only move data make no
// elements.

namespace bf_check {

constexpr u32 kMostElementsOfNetwork = 1u << 18;
constexpr u32 kMostReaders = 1u << 16;  // of an element, and most elements that one reads

enum class Kind { kInput, kAffine, kRelu, kFunction, kProduct };
enum ReadBy : unsigned char { kReadByRelu = 1, kReadByOther = 2 };  // functions and products

// An evaluation in float32 loses at most `relative` of a row's size, and `absolute`, both in 2^-40,
// and a unit of the grid for what underflows; nothing where both are 0.
struct Loss {
  i64 relative = 0, absolute = 0;
};
constexpr unsigned kLossBits = 40;
constexpr i64 kRoundingUnit = i64{1} << (kLossBits - 24);  // 2^-24

// Elements first .. first + count - 1. What row r reads is column[start[r]] .. column[start[r+1]-1]
// (kInput: nothing; kRelu, kFunction: one element each; kProduct: two).
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
  u32 first_number = 0;                                 // of its first among all relaxations
  std::vector<std::shared_ptr<const Program>> program;  // by element of kFunction
  u32 first_line = 0;                                   // of its first among all functions
  std::vector<unsigned char> read_by;                   // by element: bits of ReadBy
  std::vector<Loss> loss;  // by row; empty: none. Where the row merges, of all sums that it reads
  bool merges = false;
};

// An element that is bounded by choices: a ReLU, function or product, and the first element that it
// reads.
struct Relaxed {
  Kind kind;
  u32 element, argument;
};

// Holds, for each model, the shapes of its inputs, then of its outputs.
using Shapes = std::vector<std::vector<std::vector<i64>>>;

struct Network {
  Grid grid;
  std::vector<Layer> layers;  // the first is the inputs
  u32 inputs = 0, elements = 0, functions = 0;
  std::vector<u32> outputs;  // elements: those of all models, then products of a property
  Shapes shapes;
  std::vector<Relaxed> relaxations;  // in the order of elements
};

// The network of models, one behind the other. Throws Refused: an operator, attribute or shape that
// is not in the table of docs/reference/certificate.md, a number beyond the grid's range, or models
// with another number of inputs or outputs than are wired; as work does.
Network make_network(const std::vector<Model>& models, const Wiring& wiring, const Grid& grid,
                     Work& work);

// Bounds of the outputs at a point; equal where no number on the way to the output is irrational.
struct Outputs {
  std::vector<Rat> lower, upper;
  Shapes shapes;
};
// Throws as make_network(); NotProven: a value beyond the grid's range.
Outputs evaluate(const std::vector<Model>& models, const Wiring& wiring,
                 const std::vector<Rat>& point, const Grid& grid, unsigned coefficient_bits,
                 Work& work);

}  // namespace bf_check
