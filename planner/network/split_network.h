#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Networks whose neurons are split. Proofs: docs/proofs/neuron-splits.md.

// Counts what the pass of a node's proof meets, for a plan or for what a box leaves of it. Whole
// numbers.
class SplitCounts {
 public:
  SplitCounts(double inputs, double rows) : inputs_(inputs), rows_(rows) {}

  // Adds so many neurons of a layer.
  void add_neurons(SplitRole role, double count);
  // Adds what a layer reads of a tensor: its products, and the most that read one element.
  void add_map(double products, double column_products);
  // Adds what a layer of products reads of a tensor: the most products that read one element.
  void add_factor(double column_products) { coefficients_ += column_products; }

  // Returns n, the roundings that a number or coefficient meets, at most.
  double roundings() const;
  double products() const { return products_; }
  // Returns what all products lose together below the normal range, of numbers up to `largest`.
  double underflow(double largest) const;

 private:
  double inputs_, rows_;
  double numbers_ = 0;       // that neurons multiply or add up
  double coefficients_ = 0;  // additions of a coefficient over each tensor
  double products_ = 0;
};

// The error terms of a node's proof, as factors of what they meet: of items 3, 3, 5 and 6 of
// "Rounding". 0 where the configuration drops them (mutation test).
struct SplitErrors {
  double coefficient = 0;  // of |coefficient| reach
  double row = 0;          // of the weights of a row that is read, or that several terms speak of
  double sum = 0;          // of the magnitudes of all that is added up
  double underflow = 0;    // itself
};
SplitErrors split_errors(const PlannerConfig& config, const SplitCounts& counts, double largest);

// Whether a plan is made of layers whose neurons can be split, all of them: affine ones, products,
// ReLUs, and functions other than floor, ceiling and rounding. Some neuron bends, and rows of the
// specification are affine.
bool can_split_neurons(const Plan& plan);
// Whether can_split_neurons() holds once maxima are written as ReLUs, and softmax and
// contractions as functions and products of elements.
bool can_split_but_for_maxima(const Plan& plan);

// The network of the layers that are taken, with what these read.
SplitNetworkPlan split_network_of(const Plan& plan, const PerLayer<bool>& taken);
// The network of all layers.
SplitNetworkPlan split_network_of(const Plan& plan);

}  // namespace bf_aot
