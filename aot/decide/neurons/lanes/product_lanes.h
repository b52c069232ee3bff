#pragma once

#include "aot/decide/neurons/lanes/lane_matrix.h"

// A product p = x y in all lanes, between planes below and above it on the rectangle of x and y.
// Arrays are [kLanes].
namespace bf_aot::decide {

// The ranges of the factors in each lane, rounded to float.
struct ProductNeuron {
  const float *x_low, *x_high, *y_low, *y_high;
};

// Two choices: how much of the second plane of a pair is mixed into the first, in [0, 1], below p
// and above it. Below p one plane touches it at both low ends, the other at both high ends; above p
// one at x_low and y_high, the other at x_high and y_low (McCormick, 1976).
struct ProductChoices {
  float *below, *above;
};

// Adds to coefficients over x and y what coefficients over p become, and to the bounds what they
// gain. over_x and over_y may be the same array.
void pass_product(const ProductNeuron& n, const float* over_p, const ProductChoices& choices,
                  float* over_x, float* over_y, float* bounds);
// Writes the values at x and y of the planes of each lane's coefficient, and moves the choices by a
// step, see Ascent. mean, largest: [2][kLanes], of the choice below, then above. rates: [kLanes].
void step_product(const ProductNeuron& n, const float* rates, const float* over_p, const float* x,
                  const float* y, const ProductChoices& choices, float* mean, float* largest,
                  float* p);
// Writes the values at x and y of the planes of each lane's coefficient, and leaves the choices.
void apply_product(const ProductNeuron& n, const float* over_p, const float* x, const float* y,
                   const ProductChoices& choices, float* p);

// Adds to gain and gap of a factor (see NodeLanes) what the bound may gain when its range is
// halved, and what the bound loses at x and y. p: the result of apply_product().
void measure_product(const ProductNeuron& n, const float* over_p, const float* x, const float* y,
                     const float* p, float* gain, float* gap);

// The terms of a proof for one lane: coefficients over x and y, and the number to add to the bound.
// The proof holds for any `choice`, also NaN. Proof: docs/proofs/neuron-splits.md.
struct ProductProof {
  double over_x = 0, over_y = 0, offset = 0;
};
ProductProof prove_product(double over_p, float choice, double x_low, double x_high, double y_low,
                           double y_high);

}  // namespace bf_aot::decide
