#pragma once

#include <cstdint>

#include "aot/decide/neurons/lanes/lane_matrix.h"

// Functions on one neuron in all lanes. Arrays are [kLanes].
namespace bf_aot::decide {

// An open ReLU in all lanes. lower and ratio are l and u / (u - l) of its range [l, u].
struct OpenNeuron {
  float bias, scale;
  const float *lower, *ratio;  // l and u / (u - l)
  const std::int32_t* phase;
};

// Writes coefficients over z for coefficients over a of an open neuron, and adds what the bounds
// gain.
void pass_open(const OpenNeuron& n, const float* over_a, const float* choice, float* over_z,
               float* bounds);
// Writes coefficients over z for coefficients over a where a = z, and adds what the bounds gain.
void pass_linear(float bias, const float* over_a, float* over_z, float* bounds);
// Writes the end x of [lower, upper] where coefficient x is least in each lane, and adds
// coefficient x to the bounds.
void to_corner(float lower, float upper, const float* coefficient, float* x, float* bounds);
// Writes the values at z of the lines that the lanes use, and moves the choice by a step, see
// Ascent. rates: [kLanes].
void step_open(const OpenNeuron& n, const float* rates, const float* over_a, const float* z_at,
               float* choice, float* mean, float* largest, float* a_at);
// Writes the values at z of the lines that the lanes use, and gain and gap, see NodeLanes.
void measure_open(const OpenNeuron& n, const float* over_a, const float* z_at, const float* choice,
                  float* a_at, float* gain, float* gap);

}  // namespace bf_aot::decide
