#pragma once

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/plan/config.h"
#include "tests/soundness/random_net.h"

// Networks whose neurons are split, for the proofs of the host's lanes and of generated verifiers.
namespace bf_aot::soundness {

inline mpq_class exact(double x) {
  return mpq_class(x);
}

// What the layers of a net are before their ReLUs, in order.
std::vector<std::vector<mpq_class>> values_of(const Net& net, const Numbers& x);

NetLayer with_bias(NetLayer layer, std::vector<double> bias);

// Layers whose row is 0 for every x, by two paths of the same four factors in another order: its
// coefficient in double is a rounding of either sign.
std::vector<NetLayer> layers_that_cancel(Random& random);

// Layers whose row is 2^-1120 x, which no double is.
std::vector<NetLayer> layers_below_the_range();

// Layers whose last bias is known up to 2^-20, and is that much less than it says.
std::vector<NetLayer> layers_of_inexact_bias();

struct SplitCase {
  Net net;
  FloatBox box;
  Form form = Form::kDense;
  std::string target;  // of the engine
  int number = 0;
};

// Random numbers that follow the test's name and BF_SEED.
class SplitTest : public ::testing::Test {
 protected:
  SplitTest();

  SplitCase random_case(int number);

  // take(case): whether it was one. Until so many were, times BF_ROUNDS.
  template <class Take>
  void for_each_case(int count, const Take& take) {
    const int wanted = count * rounds();
    for (int n = 0, made = 0; made < wanted; ++n) {
      ASSERT_LT(n, 1000 * wanted);
      const SplitCase one = random_case(n);
      SCOPED_TRACE("number " + std::to_string(n));
      made += take(one) ? 1 : 0;
      if (HasFatalFailure()) return;
    }
  }

  static int rounds();

  Random random_;
};

}  // namespace bf_aot::soundness
