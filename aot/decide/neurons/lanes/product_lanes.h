#pragma once

#include "aot/decide/neurons/lanes/lane_matrix.h"

// A product p = x y in all lanes, between planes below and above it on the rectangle of x and y.
// Arrays are [kLanes].
namespace bf_aot::decide {

// Where the factors lie in each lane, rounded to float.
struct ProductNeuron {
  const float *x_low, *x_high, *y_low, *y_high;
};

// What is chosen: how much of the second plane of a pair is mixed into the first, in [0, 1]. Below
// p the planes touch it at both low ends, and both high ends; above it at x_low and y_high, and
// x_high and y_low (McCormick, 1976).
struct ProductChoices {
  float *below, *above;
};

// Coefficients over p -> more over x and y, and what the bound gains. over_x and over_y may be one.
void pass_product(const ProductNeuron& n, const float* over_p, const ProductChoices& choices,
                  float* over_x, float* over_y, float* bounds);
// What the lanes' own planes make of x and y, and a step of the choices; see Ascent. mean, largest:
// of both choices, one after the other, [2][kLanes]. rates: of each lane.
void step_product(const ProductNeuron& n, const float* rates, const float* over_p, const float* x,
                  const float* y, const ProductChoices& choices, float* mean, float* largest,
                  float* p);
// The same without a step.
void apply_product(const ProductNeuron& n, const float* over_p, const float* x, const float* y,
                   const ProductChoices& choices, float* p);

// After apply_product(), whose result is p: what a bound may gain when a factor is halved, and what
// it loses at x and y, added to those of the factor. See LaneProposal.
void measure_product(const ProductNeuron& n, const float* over_p, const float* x, const float* y,
                     const float* p, float* gain, float* gap);

// What a proof makes of one lane: coefficients over x and y, and what is added to the bound.
// choice: any number. Proof: docs/proofs/neuron-splits.md.
struct ProductProof {
  double over_x = 0, over_y = 0, offset = 0;
};
ProductProof prove_product(double over_p, float choice, double x_low, double x_high, double y_low,
                           double y_high);

}  // namespace bf_aot::decide
