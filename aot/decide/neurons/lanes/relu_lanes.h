#pragma once

#include <cstdint>

#include "aot/decide/neurons/lanes/lane_matrix.h"

// A neuron in all lanes. Arrays are [kLanes].
namespace bf_aot::decide {

// An open ReLU in all lanes.
struct OpenNeuron {
  float bias, scale;
  const float *lower, *ratio;  // l and u / (u - l)
  const std::int32_t* phase;
};

// Coefficients over a -> over z, and what the bound gains, of one open neuron.
void pass_open(const OpenNeuron& n, const float* over_a, const float* choice, float* over_z,
               float* bounds);
// The same of a = z.
void pass_linear(float bias, const float* over_a, float* over_z, float* bounds);
// x where a lane's bound is least, and what the bound is there.
void to_corner(float lower, float upper, const float* coefficient, float* x, float* bounds);
// What a lane's own lines make of z, and a step of the choice; see Ascent. rates: of each lane.
void step_open(const OpenNeuron& n, const float* rates, const float* over_a, const float* z_at,
               float* choice, float* mean, float* largest, float* a_at);
// The same without a step. gain, gap: see LaneProposal.
void measure_open(const OpenNeuron& n, const float* over_a, const float* z_at, const float* choice,
                  float* a_at, float* gain, float* gap);

}  // namespace bf_aot::decide
