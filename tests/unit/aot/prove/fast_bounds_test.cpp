#include "aot/prove/fast_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/check/value.h"
#include "aot/prove/prover.h"
#include "tests/paths.h"

namespace bf_aot::prove {
namespace {

using bf_check::Kind;
using bf_check::Network;
using bf_check::Part;
using bf_check::Rat;

std::string read(const std::string& name) {
  std::ifstream stream(BF_SOURCE_DIR "/models/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A network with both ways to its bounds.
struct Both {
  explicit Both(Network made)
      : network(std::move(made)),
        exact(network, 40, work),
        other(network, 40, work),
        fast(other, weights_of(network), work) {}

  Part whole(double radius) const {
    const std::vector<Rat> lower(network.inputs, Rat(-radius)), upper(network.inputs, Rat(radius));
    return exact.whole(lower, upper);
  }

  bf_check::Work work;
  const Network network;
  bf_check::Bounder exact, other;
  FastBounds fast;
};

Network network_of(const std::string& name) {
  bf_check::Work work;
  const std::string file = read(name);
  const std::vector<bf_check::Model> models = {bf_check::read_onnx(file)};
  bf_check::Wiring wiring;
  for (const bf_check::GraphValue& input : models[0].inputs)
    for (bf_check::i64 i = bf_check::size_of(input.shape); i > 0; --i)
      wiring.source.push_back(wiring.inputs++);
  return bf_check::make_network(models, wiring, bf_check::Grid{}, work);
}

using Random = std::mt19937_64;

double between(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

std::size_t below(Random& random, std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

// Weights up to `size`, now and then none, a power of two, or one that the grid does not hold.
Rat weight(Random& random, double size) {
  const double value = between(random, -size, size);
  switch (below(random, 8)) {
    case 0:
      return 0;
    case 1:
      return Rat(std::ldexp(value > 0 ? 1.0 : -1.0, std::ilogb(value)));
    case 2:
      return Rat(value) / 3;
    default:
      return Rat(value);
  }
}

bf_check::Program program_of(bf_check::Op op) {
  bf_check::Program program;
  return program.ends_with(program.add(op, 0));
}

// Elements of functions of sums, or of their products with earlier elements.
std::vector<std::uint32_t> curved_of(bf_check::Builder& builder, Random& random,
                                     const std::vector<std::uint32_t>& sums,
                                     const std::vector<std::uint32_t>& earlier) {
  constexpr bf_check::Loss kLoss = {5 * bf_check::kRoundingUnit};
  if (below(random, 2) == 0)
    return builder.functions_of(
        program_of(below(random, 2) == 0 ? bf_check::Op::kSigmoid : bf_check::Op::kFloor), sums,
        kLoss);
  std::vector<std::uint32_t> others;
  for (std::size_t i = 0; i < sums.size(); ++i)
    others.push_back(earlier[below(random, earlier.size())]);
  return builder.products_of(sums, others, kLoss);
}

// Layers of sums, most of the layer before and some of earlier ones, each behind ReLUs, or where
// `curved` behind others as well. Of these, every other one loses what float32 does.
Network random_network(Random& random, double size, bool curved) {
  bf_check::Work work;
  bf_check::Grid grid;
  grid.float32 = curved && below(random, 2) == 0;
  bf_check::Builder builder(grid, work);
  const std::size_t inputs = 1 + below(random, 6), layers = 2 + below(random, 4);
  std::vector<std::uint32_t> from = builder.input({static_cast<std::int64_t>(inputs)}).ids;
  std::vector<std::uint32_t> earlier = from;
  for (std::size_t k = 0; k < layers; ++k) {
    builder.begin(0, {bf_check::Rounded::kSum});
    // Some layers read all of the one before, and some have no weight but 1.
    const bool dense = below(random, 3) == 0, ones = !dense && below(random, 3) == 0;
    const double share = dense ? 2 : ones || below(random, 3) == 0 ? 0.2 : 0.9;
    for (std::size_t row = 0, rows = 1 + below(random, 24); row < rows; ++row) {
      const auto read = [&](std::uint32_t element) {
        const double on_grid = std::ldexp(std::round(between(random, -size, size) * 0x1p30), -30);
        const Rat w = ones ? Rat(1) : dense ? Rat(on_grid) : weight(random, size);
        if (w != 0) builder.term(element, builder.on_grid(w));
      };
      for (const std::uint32_t element : from)
        if (between(random, 0, 1) < share) read(element);
      if (!dense && below(random, 3) == 0) read(earlier[below(random, earlier.size())]);
      builder.end_row(weight(random, 1));
    }
    const std::vector<std::uint32_t> sums = builder.end();
    earlier.insert(earlier.end(), sums.begin(), sums.end());
    if (k + 1 == layers) return builder.finish(sums, {});
    from = curved && below(random, 2) == 0 ? curved_of(builder, random, sums, earlier)
                                           : builder.relus_of(sums);
    earlier.insert(earlier.end(), from.begin(), from.end());
  }
  return {};
}

void expect_same(const Part& exact, const Part& fast) {
  EXPECT_EQ(exact.empty, fast.empty);
  EXPECT_EQ(exact.derived, fast.derived);
  EXPECT_EQ(exact.lower, fast.lower);
  EXPECT_EQ(exact.upper, fast.upper);
  EXPECT_EQ(exact.rough_lower, fast.rough_lower);
  EXPECT_EQ(exact.rough_upper, fast.rough_upper);
  EXPECT_EQ(exact.chord, fast.chord);
  EXPECT_EQ(exact.below, fast.below);
  EXPECT_EQ(exact.above, fast.above);
}

// How many parts, and sums, were bounded by digits, and how many by the checker.
struct Count {
  std::size_t by_digits = 0, by_checker = 0, sums = 0, other_sums = 0;
};

// Bounds sums of inputs and outputs by both, on a part and on a half of its box.
void expect_same_sums(Both& both, const Part& part, Random& random, Count& count) {
  std::vector<bf_check::Sum> sums(1 + below(random, 10));
  for (bf_check::Sum& sum : sums) {
    for (std::size_t i = 0, terms = 1 + below(random, 3); i < terms; ++i) {
      const bool of_inputs = below(random, 3) == 0;
      const std::uint32_t element =
          of_inputs ? static_cast<std::uint32_t>(below(random, both.network.inputs))
                    : both.network.outputs[below(random, both.network.outputs.size())];
      sum.terms.emplace_back(element, std::lround(between(random, -9, 9)));
    }
    sum.constant = weight(random, 5);
  }
  const std::vector<SumBound> fast = both.fast.lower_bounds(part, sums);
  Part half = part;
  const std::size_t input = below(random, both.network.inputs);
  half.upper[input] = (half.lower[input] + half.upper[input]) / 2;
  const unsigned bits = both.exact.bits()[0];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto exact = both.exact.lower_bound(part, sums[i], {}, bits);
    ASSERT_EQ(fast[i].has, exact.has_value());
    if (!exact) continue;
    EXPECT_TRUE(fast[i].value == *exact);
    ASSERT_EQ(fast[i].coefficient, both.exact.input_coefficients());
    ++(fast[i].has_inputs ? count.sums : count.other_sums);
    if (!fast[i].has_inputs) continue;
    const auto of_half = both.exact.lower_bound(half, sums[i], {}, bits);
    ASSERT_TRUE(of_half);
    EXPECT_TRUE(value_on(fast[i], half) == *of_half);
  }
}

// Derives a part and parts of it, each from what is known of the one before, by both.
void expect_same_below(Both& both, double radius, int depth, Random& random, Count& count) {
  Part fast = both.whole(radius);
  Part exact = fast;
  for (; depth > 0 && !exact.empty; --depth) {
    try {
      both.exact.derive(exact);
    } catch (const bf_check::NotProven&) {
      EXPECT_THROW(both.fast.derive(fast), bf_check::NotProven);
      return;
    }
    const bool by_digits = both.fast.try_derive(fast);
    ++(by_digits ? count.by_digits : count.by_checker);
    if (!by_digits) both.fast.derive(fast);
    ASSERT_NO_FATAL_FAILURE(expect_same(exact, fast));
    if (!fast.empty) expect_same_sums(both, fast, random, count);
    if (below(random, 3) == 0 && !both.network.relaxations.empty()) {
      const auto neuron =
          static_cast<std::uint32_t>(below(random, both.network.relaxations.size()));
      if (both.network.relaxations[neuron].kind != Kind::kRelu) continue;
      for (const int side : {1, -1}) {  // by both sides its argument is 0
        if (below(random, 3) == 0) continue;
        both.exact.split(exact, neuron, side);
        both.exact.split(fast, neuron, side);
      }
      continue;
    }
    const std::size_t input = below(random, both.network.inputs);
    const std::int64_t middle = (fast.lower[input] + fast.upper[input]) / 2;
    const bool is_below = below(random, 2) == 0;
    (is_below ? fast.upper : fast.lower)[input] = middle;
    (is_below ? exact.upper : exact.lower)[input] = middle;
  }
}

TEST(FastBounds, are_the_checkers_of_models) {
  Random random(7);
  Count count;
  for (const char* const name : {"collision_avoidance_6x50.onnx", "tiny.onnx", "tiny_scale.onnx"}) {
    Both both(network_of(name));
    for (int round = 0; round < 10; ++round)
      expect_same_below(both, round % 2 == 0 ? 0.3 : 2, 8, random, count);
  }
  Both digits(network_of("digits_64x2.onnx"));
  expect_same_below(digits, 0.05, 3, random, count);
  EXPECT_GT(count.by_digits, 4 * count.by_checker);
}

TEST(FastBounds, are_the_checkers_of_random_networks) {
  Random random(11);
  Count count;
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Both both(random_network(random, round % 3 == 0 ? 0.5 : 3, false));
    expect_same_below(both, between(random, 0.01, 2), 6, random, count);
  }
  EXPECT_GT(count.by_digits, 4 * count.by_checker);
  EXPECT_GT(count.sums, 4 * count.other_sums);
}

TEST(FastBounds, are_the_checkers_of_functions_and_products) {
  Random random(17);
  Count count;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Both both(random_network(random, round % 3 == 0 ? 3 : 0.5, true));
    expect_same_below(both, between(random, 0.01, 2), 4, random, count);
  }
  EXPECT_GT(count.by_digits, count.by_checker);
  EXPECT_GT(count.sums, 0u);
}

// Coefficients that the checker takes on a coarser grid, or that need more than two digits.
TEST(FastBounds, are_the_checkers_where_coefficients_are_large) {
  Random random(13);
  Count count;
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Both both(random_network(random, round % 2 == 0 ? 40 : 300, false));
    expect_same_below(both, between(random, 1e-6, 1e-3), 4, random, count);
  }
  EXPECT_GT(count.by_digits, 50u);
  EXPECT_GT(count.by_checker, 50u);
}

// A part whose numbers are beyond the grid is refused as the checker refuses it.
TEST(FastBounds, refuse_numbers_beyond_the_grid) {
  Both both(network_of("collision_avoidance_6x50.onnx"));
  Part part = both.whole(200'000), exact = part;
  EXPECT_THROW(both.exact.derive(exact), bf_check::NotProven);
  EXPECT_THROW(both.fast.derive(part), bf_check::NotProven);
}

// The bound of a leaf is exactly 0 at a corner, which closes it.
TEST(FastBounds, close_leaves_that_meet_a_limit_exactly) {
  ProofRequest asked;
  std::string certificate;
  asked.models = {read("tiny.onnx")};
  asked.property =
      "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
      "(declare-const Y_1 Real)(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))(assert (> Y_0 3.5))";
  asked.tool = "test";
  asked.stop = system::Stop().within(20);
  asked.write = [&](const std::string& bytes) { certificate += bytes; };
  EXPECT_LT(write_proof(asked).leaves, 100u);
  bf_check::Work work;
  EXPECT_EQ(bf_check::check(asked.models, asked.property, certificate, work), bf_check::kHolds);
  asked.property.replace(asked.property.find("> Y_0"), 5, ">= Y_0");
  asked.stop = system::Stop().within(0.5);
  EXPECT_THROW(write_proof(asked), NoCertificate);
}

}  // namespace
}  // namespace bf_aot::prove
