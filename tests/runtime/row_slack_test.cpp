// What the centre of each row may miss, against exact rationals: rows and inputs of all scales
// beside each other.

#include "runtime/bf/sums/row_slack.h"

#include <gtest/gtest.h>

#include "runtime/bf/conv/conv_slack.h"
#include "terms_random.h"

namespace bf_test {
namespace {

using Kind = RandomTerm::Kind;

constexpr double kRelative = 0x1.8p-46, kFactor = 1 + 0x1p-7, kAbsolute = 0x1p-143;

// Numbers of a layer, by boxes side by side.
struct Layer {
  std::vector<double> bias, slack;
  std::vector<float> radius;

  // Some radii are far above the layer's slack, some are below, some are 0 and NaN.
  Layer(Random& random, int n, int boxes, Numbers kind) {
    bias = random.centres(n, kind);
    for (double& b : bias) b *= std::ldexp(1, random.between(-40, 40));
    slack.assign(static_cast<std::size_t>((bf::kSlack + n) * boxes), 7);
    for (int b = 0; b < boxes; ++b)
      slack[static_cast<std::size_t>(b)] = std::ldexp(1 + random.unit(), random.between(-40, 40));
    for (int i = 0; i < n * boxes; ++i)
      radius.push_back(random.below(5) == 0 ? 0
                                            : static_cast<float>(std::ldexp(
                                                  1 + random.unit(), random.between(-60, 80))));
    if (random.below(3) == 0) radius[0] = std::numeric_limits<float>::quiet_NaN();
  }
};

// sums: the exact ones of |w| |c| of each row and box.
void expect_rows(const Layer& before, const std::vector<double>& slack,
                 const std::vector<mpq_class>& sums, int boxes) {
  const auto lanes = static_cast<std::size_t>(boxes);
  std::vector<int> open(lanes, 0);
  for (std::size_t at = 0; at < sums.size(); ++at) {
    const double common = before.slack[at % lanes];
    const double made = slack[bf::kSlack * lanes + at];
    const bool small = common <= bf::kSmallSlack * static_cast<double>(before.radius[at]);
    const mpq_class size = sums[at] + exact(kFactor) * abs(exact(before.bias[at / lanes]));
    const mpq_class least = exact(kRelative) * size + exact(kAbsolute);
    if (!small) ++open[at % lanes];
    if (small || least >= exact(common)) {
      EXPECT_EQ(made, common) << at;
      continue;
    }
    EXPECT_GE(exact(made), least) << at;
    EXPECT_LE(exact(made), least * exact(1 + 0x1p-18)) << at;
  }
  for (std::size_t b = 0; b < lanes; ++b) {
    EXPECT_EQ(slack[bf::kOpenRows * lanes + b], open[b]);
    EXPECT_EQ(slack[b], before.slack[b]) << "the layer's own";
  }
}

std::vector<double> mixed_inputs(Random& random, int n, Numbers kind) {
  std::vector<double> made = random.centres(n, kind);
  for (double& c : made) c *= std::ldexp(1, random.between(0, 1) * random.between(-50, 100));
  return made;
}

void add_term(const RandomTerm& term, const std::vector<double>& c, double* slack) {
  switch (term.kind) {
    case Kind::kConv:
      return bf::conv_row_slack(term.shape, term.weight.data(), c.data(), slack);
    case Kind::kSparse:
      return bf::sparse_row_slack(term.out, term.row_start.data(), term.column.data(),
                                  term.weight.data(), c.data(), slack);
    case Kind::kGather:
      return bf::gather_row_slack(term.out, term.sources(), c.data(), slack);
  }
}

TEST(RowSlack, OfSums) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    std::vector<RandomTerm> terms;
    if (random.below(2) == 0) terms.push_back(random_conv_term(random, kind));
    const int n = terms.empty() ? random.between(1, 40) : terms[0].out;
    for (int more = random.between(terms.empty() ? 1 : 0, 2); more > 0; --more)
      terms.push_back(random_term(random, kind, n));
    Layer layer(random, n, 1, kind);
    const int run = n % 3 == 0 ? 3 : 1;
    const bool biases = random.below(4) > 0;
    std::vector<double> shared;
    for (std::size_t i = 0; i < layer.bias.size(); ++i) {
      layer.bias[i] =
          biases ? layer.bias[i / static_cast<std::size_t>(run) * static_cast<std::size_t>(run)]
                 : 0;
      if (i % static_cast<std::size_t>(run) == 0) shared.push_back(layer.bias[i]);
    }
    std::vector<double> slack = layer.slack;
    bf::start_row_slack<1>(biases ? shared.data() : nullptr, n, run, layer.radius.data(), kFactor,
                           slack.data());
    std::vector<mpq_class> sums(static_cast<std::size_t>(n));
    for (const RandomTerm& term : terms) {
      const std::vector<double> c = mixed_inputs(random, term.in, kind);
      for (const RandomTerm::Product& p : term.products)
        sums[p.out] += abs(exact(p.weight) * exact(c[p.in]));
      add_term(term, c, slack.data());
    }
    bf::finish_row_slack<1>(n, kRelative, kAbsolute, slack.data());
    expect_rows(layer, slack, sums, 1);
  }
}

template <int kBoxes>
void check_dense() {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    constexpr int kPanels[] = {1, 4, 8, 16};
    const int n = random.between(1, 40), in = random.between(1, 20);
    const int panel = kPanels[random.below(4)];
    const Layer layer(random, n, kBoxes, kind);
    const std::vector<float> weight =
        random.numbers(std::int64_t{in} * ((n + panel - 1) / panel * panel), kind);
    const std::vector<double> c = mixed_inputs(random, in * kBoxes, kind);
    std::vector<double> slack = layer.slack;
    bf::start_row_slack<kBoxes>(layer.bias.data(), n, 1, layer.radius.data(), kFactor,
                                slack.data());
    bf::dense_row_slack<kBoxes>(weight.data(), in, panel, c.data(), n, slack.data());
    bf::finish_row_slack<kBoxes>(n, kRelative, kAbsolute, slack.data());
    std::vector<mpq_class> sums(static_cast<std::size_t>(n * kBoxes));
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < in; ++k)
        for (int b = 0; b < kBoxes; ++b) {
          const auto w = weight[static_cast<std::size_t>(bf::weight_of(j, in, panel) +
                                                         std::ptrdiff_t{k} * panel)];
          sums[static_cast<std::size_t>(j * kBoxes + b)] += abs(
              exact(static_cast<double>(w)) * exact(c[static_cast<std::size_t>(k * kBoxes + b)]));
        }
    expect_rows(layer, slack, sums, kBoxes);
  }
}

TEST(RowSlack, OfDenseLayers) {
  check_dense<1>();
}

#if defined(__SSE2__) || defined(__ARM_NEON)
TEST(RowSlack, OfBoxesInLanes) {
  check_dense<4>();
  check_dense<16>();
}
#endif

// An input whose weight is 0 costs nothing, however large it is.
TEST(RowSlack, ZeroWeightsCostNothing) {
  const float weight[] = {0, 1}, radius[] = {0};  // [in][panel of 1]
  const double centre[] = {5.7e19, 1e-30}, bias[] = {0};
  double slack[bf::kSlack + 1] = {5.7e19};
  bf::start_row_slack<1>(bias, 1, 1, radius, 1, slack);
  bf::dense_row_slack<1>(weight, 2, 1, centre, 1, slack);
  bf::finish_row_slack<1>(1, 0x1p-50, 0, slack);
  EXPECT_GT(slack[bf::kSlack], 1e-46);
  EXPECT_LT(slack[bf::kSlack], 1e-44);
}

// What is infinite stays so, in its own row.
TEST(RowSlack, OverflowStaysInItsRow) {
  const std::int32_t row_start[] = {0, 1, 2}, column[] = {0, 1};
  const float weight[] = {1e30F, 1}, radius[] = {0, 0};
  const double centre[] = {1e300, 1};
  double slack[bf::kSlack + 2] = {std::numeric_limits<double>::infinity()};
  bf::start_row_slack<1>(nullptr, 2, 1, radius, 1, slack);
  bf::sparse_row_slack(2, row_start, column, weight, centre, slack);
  bf::finish_row_slack<1>(2, 0x1p-50, 0x1p-147, slack);
  EXPECT_EQ(slack[bf::kSlack], std::numeric_limits<double>::infinity());
  EXPECT_LT(slack[bf::kSlack + 1], 0x1.01p-50);
  bf::common_slack<1>(2, slack);
  EXPECT_EQ(slack[bf::kSlack + 1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(slack[bf::kOpenRows], 0);
}

}  // namespace
}  // namespace bf_test
