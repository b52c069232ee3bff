#include "aot/prove/fast_bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/prove/prover.h"
#include "tests/paths.h"

namespace bf_aot::prove {
namespace {

using bf_check::Rat;

std::string read(const std::string& name) {
  std::ifstream stream(BF_SOURCE_DIR "/models/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A network with both ways to its bounds.
struct Both {
  explicit Both(const std::string& name)
      : network(bf_check::make_network(bf_check::read_onnx(read(name)), bf_check::Grid{}, work)),
        exact(network, 40, work),
        fast(network, weights_of(network), work) {}

  Bounds whole(double radius) const {
    Bounds part;
    const std::vector<Rat> lower(network.inputs, Rat(-radius)), upper(network.inputs, Rat(radius));
    static_cast<bf_check::Part&>(part) = exact.whole(lower, upper);
    return part;
  }

  bf_check::Work work;
  const bf_check::Network network;
  bf_check::Bounder exact;
  FastBounds fast;
};

// Expects the bounds to differ by no more than was counted.
void expect_near(const bf_check::Part& exact, const Bounds& fast) {
  ASSERT_EQ(exact.empty, fast.empty);
  for (std::size_t i = 0; i < exact.lower.size(); ++i) {
    const double low = static_cast<double>(exact.lower[i] - fast.lower[i]);
    const double high = static_cast<double>(exact.upper[i] - fast.upper[i]);
    EXPECT_LE(std::fabs(low), fast.deviation[i].low) << i;
    EXPECT_LE(std::fabs(high), fast.deviation[i].high) << i;
  }
}

TEST(FastBounds, differ_from_the_checkers_by_no_more_than_they_say) {
  std::mt19937 random(7);
  for (const char* const name : {"collision_avoidance_6x50.onnx", "tiny.onnx"}) {
    Both both(name);
    for (int round = 0; round < 10; ++round) {
      Bounds fast = both.whole(round % 2 == 0 ? 0.3 : 2);
      bf_check::Part exact = fast;
      for (int depth = 0; depth < 8; ++depth) {  // halves keep what was known
        ASSERT_TRUE(both.fast.derive(fast));
        both.exact.derive(exact);
        expect_near(exact, fast);
        const std::uint32_t input = random() % both.network.inputs;
        const std::int64_t middle = (fast.lower[input] + fast.upper[input]) / 2;
        const bool below = random() % 2 == 0;
        (below ? fast.upper : fast.lower)[input] = middle;
        (below ? exact.upper : exact.lower)[input] = middle;
      }
    }
  }
}

TEST(FastBounds, tell_by_how_much_bounds_of_sums_differ) {
  Both both("collision_avoidance_6x50.onnx");
  Bounds fast = both.whole(0.3);
  bf_check::Part exact = fast;
  ASSERT_TRUE(both.fast.derive(fast));
  both.exact.derive(exact);
  for (const int sign : {1, -1}) {
    bf_check::Sum sum;
    sum.terms = {{both.network.outputs[0], sign}, {both.network.outputs[1], -sign}};
    const auto of_exact = both.exact.lower_bound(exact, sum, {}, 40);
    const auto of_fast = both.exact.lower_bound(fast, sum, {}, 40);
    ASSERT_TRUE(of_exact && of_fast);
    const double apart = std::ldexp(static_cast<double>(*of_exact - *of_fast), -40);
    EXPECT_LE(std::fabs(apart), both.fast.deviation_of(fast, sum));
    EXPECT_LT(both.fast.deviation_of(fast, sum), std::ldexp(1.0, 36 - 10));  // of 2^-36: little
  }
}

// A part whose numbers are beyond the grid is the checker's to refuse.
TEST(FastBounds, leave_numbers_that_are_too_large_to_the_checker) {
  Both both("collision_avoidance_6x50.onnx");
  Bounds part = both.whole(200'000);
  const Bounds before = part;
  EXPECT_FALSE(both.fast.derive(part));
  EXPECT_EQ(part.upper, before.upper);
  EXPECT_FALSE(part.derived);
}

// The bound of a leaf is exactly 0 at a corner: what is about 0 in doubles closes no leaf, and the
// checker's own bounds do.
TEST(FastBounds, close_leaves_that_meet_a_limit_exactly) {
  ProofRequest asked;
  std::string certificate;
  asked.model = read("tiny.onnx");
  asked.property =
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))(assert (> Y_0 3.5))";
  asked.tool = "test";
  asked.stop = system::Stop().within(20);
  asked.write = [&](const std::string& bytes) { certificate += bytes; };
  EXPECT_LT(write_proof(asked).leaves, 100u);
  bf_check::Work work;
  EXPECT_EQ(bf_check::check(asked.model, asked.property, certificate, work), bf_check::kHolds);
  asked.property.replace(asked.property.find("> Y_0"), 5, ">= Y_0");
  asked.stop = system::Stop().within(0.5);
  EXPECT_THROW(write_proof(asked), NoCertificate);
}

}  // namespace
}  // namespace bf_aot::prove
