#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/decide/neurons/lanes/function_lines.h"
#include "aot/decide/neurons/lanes/lane_matrix.h"

namespace bf_aot::decide {

// Steps along gradients whose largest becomes 1: Adam with that in place of the root of a mean
// square (AdaMax; Kingma and Ba, 2015).
struct Ascent {
  static constexpr float kMean = 0.9F, kFade = 0.999F;

  float mean = 0, largest = 0;

  // What is added to a choice. rate: with the correction of the mean's start.
  float step(float gradient, float rate) {
    mean = kMean * mean + (1 - kMean) * gradient;
    const float faded = kFade * largest, size = gradient < 0 ? -gradient : gradient;
    largest = size > faded ? size : faded;
    return largest > 0 ? rate * mean / largest : 0;
  }
};

// A neuron a = f(z) in one lane: lines below and above f where z lies, and multipliers of what
// keeps it there.
struct FunctionState {
  FunctionInterval of_z;                       // where z lies
  bool keeps_low = false, keeps_high = false;  // by splits z >= low, z <= high
  SlopeRange range;
  std::array<float, 2> slopes = {};       // of the line below, and above
  std::array<float, 2> multipliers = {};  // of z >= low and z <= high, >= 0, in units of a scale
  std::array<Ascent, 4> ascents = {};     // of slopes, and of multipliers
  FunctionOffset line;                    // of the last pass; which is `above`
  bool above = false;
  std::array<float, 2> known_slopes = {};  // whose lines are known
  std::array<FunctionOffset, 2> known_lines = {};
  std::array<bool, 2> known = {};

  void set_interval(const FunctionInterval& interval);
  // The slopes of least area on it.
  void begin(const SlopeRange& best);
};

// kLanes such neurons side by side. over_a, over_z, z, a: [kLanes].
class FunctionLanes {
 public:
  // Those behind the first `lanes` stay 0.
  FunctionLanes(const bf::FunctionView& function, FunctionState* states, std::size_t lanes)
      : function_(function), states_(states), lanes_(lanes) {}

  // Coefficients over a -> over z, and what the bound gains.
  void pass(float bias, float scale, const float* over_a, float* over_z, float* bounds);
  // What the lines of the last pass make of z, and a step of the choices.
  void step(float scale, const std::array<float, kLanes>& rates, const float* over_a,
            const float* z, float* a);
  // The same without a step. gain, gap: see LaneProposal.
  void measure(const float* over_a, const float* z, float* a, float* gain, float* gap);
  // f(z).
  void evaluate(const float* z, float* a) const;

 private:
  const FunctionOffset& line_of(FunctionState& state, bool above);

  const bf::FunctionView& function_;
  FunctionState* const states_;
  const std::size_t lanes_;
};

// What a proof makes of one lane: the coefficient over z, what is added to the bound, and
// magnitudes whose roundings meet |z|. Proof: docs/proofs/neuron-splits.md.
struct FunctionProof {
  double over_z = 0;
  std::array<double, 3> offsets = {};
  double rounded = 0;
};
FunctionProof prove_function(const bf::FunctionView& function, const FunctionState& state,
                             double scale, double over_a);

}  // namespace bf_aot::decide
