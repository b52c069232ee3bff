#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/decide/neurons/lanes/function_lines.h"
#include "aot/decide/neurons/lanes/lane_matrix.h"

namespace bf_aot::decide {

// Steps along gradients that are divided by the largest recent gradient: AdaMax, which is Adam with
// that in place of the root of a mean square (Kingma and Ba, 2015).
struct Ascent {
  static constexpr float kMean = 0.9F, kFade = 0.999F;

  float mean = 0, largest = 0;

  // The number to add to a choice. rate: with Adam's correction of the mean, which starts at 0.
  float step(float gradient, float rate) {
    mean = kMean * mean + (1 - kMean) * gradient;
    const float faded = kFade * largest, size = gradient < 0 ? -gradient : gradient;
    largest = size > faded ? size : faded;
    return largest > 0 ? rate * mean / largest : 0;
  }
};

// A neuron a = f(z) in one lane: lines below and above f on the range of z, and multipliers of the
// splits that keep z there.
struct FunctionState {
  FunctionInterval of_z;                       // the range of z
  bool keeps_low = false, keeps_high = false;  // there are splits z >= low, z <= high
  SlopeRange range;
  std::array<float, 2> slopes = {};       // of the lines below and above
  std::array<float, 2> multipliers = {};  // of z >= low and z <= high, >= 0, in units of a scale
  std::array<Ascent, 4> ascents = {};     // of slopes, then of multipliers
  FunctionOffset line;                    // used by the last pass; `above`: it lies above f
  bool above = false;
  std::array<float, 2> known_slopes = {};  // slopes of known_lines
  std::array<FunctionOffset, 2> known_lines = {};
  std::array<bool, 2> known = {};

  void set_interval(const FunctionInterval& interval);
  // Takes over the range of slopes, and begins with those of the lines of least area.
  void begin(const SlopeRange& best);
};

// kLanes neurons of one function side by side. over_a, over_z, z, a: [kLanes].
class FunctionLanes {
 public:
  // All but the first `lanes` lanes are left out.
  FunctionLanes(const bf::FunctionView& function, FunctionState* states, std::size_t lanes)
      : function_(function), states_(states), lanes_(lanes) {}

  // Writes coefficients over z for coefficients over a, and adds what the bounds gain.
  void pass(float bias, float scale, const float* over_a, float* over_z, float* bounds);
  // Writes the values at z of the lines of the last pass, and moves the choices by a step.
  void step(float scale, const std::array<float, kLanes>& rates, const float* over_a,
            const float* z, float* a);
  // Writes the values at z of the lines of the last pass, and gain and gap, see NodeLanes.
  void measure(const float* over_a, const float* z, float* a, float* gain, float* gap);
  // Writes f(z).
  void evaluate(const float* z, float* a) const;

 private:
  const FunctionOffset& line_of(FunctionState& state, bool above);

  const bf::FunctionView& function_;
  FunctionState* const states_;
  const std::size_t lanes_;
};

// The terms of a proof for one lane: the coefficient over z, the numbers to add to the bound, and
// the magnitudes whose roundings are multiplied by |z|. Proof: docs/proofs/neuron-splits.md.
struct FunctionProof {
  double over_z = 0;
  std::array<double, 3> offsets = {};
  double rounded = 0;
};
FunctionProof prove_function(const bf::FunctionView& function, const FunctionState& state,
                             double scale, double over_a);

}  // namespace bf_aot::decide
