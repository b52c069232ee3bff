#pragma once

#include <vector>

#include "tests/soundness/net.h"

namespace bf_aot::soundness {

// What the weights of a random network look like.
enum class Family : int {
  kTrained,    // floats of one size
  kMixed,      // exponents -20 to 20, some zeros
  kTiny,       // products and weights below the normal range
  kHuge,       // up to 2^60
  kIntegers,   // small, many sums vanish
  kPowers,     // powers of two and zeros
  kDoubles,    // not representable: weights and biases of folded layers
  kInexact,    // known up to an error: what folding leaves
  kSubnormal,  // folded weights in the subnormal range of float
  kAffine,     // no ReLU
  kSteep,      // ends in ReLU
  kSleepy,     // wide, of layers whose ReLUs are mostly 0 on small boxes: all, some, one or none
};
constexpr int kFamilies = 12;

// In [low, high].
int pick(Random& random, int low, int high);

// The family, the shape and the numbers are random. Widths lie around those where panels, lanes and
// chunks end.
Net random_net(Random& random, Family family);

// The same of given widths: inputs, then one per layer.
Net random_net(Random& random, Family family, const std::vector<int>& widths);

// Random widths: inputs, then one per layer.
std::vector<int> random_widths(Random& random);

// Boxes: points, of one ulp, subnormal, tiny, of size one, one-sided, mixed, large, up to the
// largest float.
constexpr int kBoxKinds = 12;
FloatBox random_box(Random& random, int inputs, int kind);

// A rational point of a box: a corner, or each coordinate at a random 1 / 2^12 of its side.
Numbers corner_of(const FloatBox& box, std::uint64_t corner);
Numbers point_of(const FloatBox& box, Random& random);
Numbers centre_of(const FloatBox& box);

}  // namespace bf_aot::soundness
