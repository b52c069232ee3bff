#include "aot/prove/slope_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/check/value.h"

namespace bf_aot::prove {
namespace {

using bf_check::Kind;
using bf_check::Network;
using bf_check::Part;
using bf_check::Rat;

using Random = std::mt19937_64;

double between(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Sums of three inputs, a kind of relaxation of each, and sums of those, twice.
Network random_network(Random& random) {
  bf_check::Work work;
  bf_check::Builder builder(bf_check::Grid{}, work);
  std::vector<std::uint32_t> from = builder.input({3}).ids;
  bf_check::Program sigmoid;
  sigmoid.ends_with(sigmoid.add(bf_check::Op::kSigmoid, 0));
  for (int k = 0; k < 3; ++k) {
    builder.begin(0, {});
    for (int row = 0; row < 8; ++row) {
      for (const std::uint32_t element : from)
        builder.term(element, builder.on_grid(Rat(between(random, -1, 1))));
      builder.end_row(Rat(between(random, -1, 1)));
    }
    const std::vector<std::uint32_t> sums = builder.end();
    if (k == 2) return builder.finish(sums, {});
    const std::vector<std::uint32_t> first(sums.begin(), sums.begin() + 3);
    const std::vector<std::uint32_t> second(sums.begin() + 3, sums.begin() + 6);
    const std::vector<std::uint32_t> last(sums.begin() + 5, sums.end());
    from = builder.functions_of(sigmoid, first);
    for (const std::uint32_t element : builder.products_of(first, second)) from.push_back(element);
    for (const std::uint32_t element : builder.relus_of(last)) from.push_back(element);
  }
  return {};
}

// Bounds by a proposal are the checker's by the same choices, but for rounding.
void expect_near(bf_check::Bounder& bounder, SlopeSearch& search, const Part& part,
                 const bf_check::Sum& sum, const Proposal& proposal) {
  const std::size_t count = bounder.network().relaxations.size();
  bf_check::Choices choices;
  for (std::size_t n = 0; n < count; ++n)
    choices.slope.push_back(proposal.slope[n] == kNoChoice
                                ? bf_check::kRuleSlope
                                : static_cast<unsigned char>(std::lround(proposal.slope[n] * 128)));
  const auto exact = bounder.lower_bound(part, sum, choices, bounder.bits()[0]);
  ASSERT_TRUE(exact);
  const double value =
      std::ldexp(static_cast<double>(*exact), -static_cast<int>(bounder.bits()[0] + 36));
  const double proposed = search.bound(part, sum, std::vector<signed char>(count), proposal);
  EXPECT_NEAR(proposed, value, 1e-5 * (1 + std::abs(value)));
}

TEST(SlopeSearch, bounds_as_the_checker_does_by_its_choices) {
  Random random(3);
  std::size_t better = 0;
  for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    bf_check::Work work;
    const Network network = random_network(random);
    bf_check::Bounder bounder(network, 40, work);
    SlopeSearch search(network, work);
    const Rat radius(between(random, 0.05, 1));
    Part part = bounder.whole(std::vector<Rat>(3, -radius), std::vector<Rat>(3, radius));
    bounder.derive(part);
    bf_check::Sum sum;
    sum.terms.emplace_back(network.outputs[0], round % 2 == 0 ? 1 : -2);
    const std::vector<signed char> side(network.relaxations.size());
    Proposal proposal = search.rule(part);
    expect_near(bounder, search, part, sum, proposal);
    const double rule = search.bound(part, sum, side, proposal);
    const double improved = search.improve(part, sum, side, proposal, 40, 1e9);
    EXPECT_GE(improved, rule);
    better += improved > rule + 1e-3 * std::abs(rule) ? 1 : 0;
    for (double& slope : proposal.slope)
      if (slope != kNoChoice) slope = std::round(slope * 128) / 128;
    expect_near(bounder, search, part, sum, proposal);
    // What is cut is bounded by lines for what is left.
    for (std::uint32_t n = 0; n < network.relaxations.size(); ++n) {
      const bf_check::Relaxed& relaxed = network.relaxations[n];
      if (relaxed.kind == Kind::kRelu) continue;
      part.upper[relaxed.argument] =
          (part.lower[relaxed.argument] + part.upper[relaxed.argument]) / 2;
      proposal.slope[n] = std::floor(between(random, 0, 129)) / 128;
    }
    expect_near(bounder, search, part, sum, proposal);
  }
  EXPECT_GT(better, 20u);
}

}  // namespace
}  // namespace bf_aot::prove
