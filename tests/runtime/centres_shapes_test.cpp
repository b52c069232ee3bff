// Double centres and radii of convolutions of constant shapes, with pixels in lanes and by blocks,
// against exact rationals and rows of pixels.

#include <gtest/gtest.h>

#include "rows_of_pixels.h"
#include "runtime/bf/conv/conv_forward.h"
#include "terms_random.h"

namespace bf_test {
namespace {

struct Centres {
  std::vector<double> centre;
  std::vector<float> radius;

  Centres(Random& random, const RandomTerm& term, Numbers kind)
      : centre(random.centres(term.out, kind)), radius(random.radii(term.out, kind)) {}
};

// Integers are exact in any order: as rows of pixels make them.
template <const bf::ConvShape& kShape, bool kResidual>
void expect_as_strips(const RandomTerm& term, const std::vector<double>& c,
                      const std::vector<float>& r, Centres sums) {
  Centres expected = sums;
  const float* const residual = kResidual ? term.weight.data() : nullptr;
  bf::conv_centre(bf::FixedShape<kShape>{}, term.weight.data(), residual, c.data(), r.data(), 1,
                  sums.centre.data(), sums.radius.data());
  bf::conv_strips<bf::CentreTiles<kResidual>>(
      kShape, term.weight.data(), residual, c.data(), r.data(),
      bf::CentreOut{expected.centre.data(), expected.radius.data(), 1});
  EXPECT_EQ(sums.centre, expected.centre);
  EXPECT_EQ(sums.radius, expected.radius);
}

// Products, and residuals of weights, go through the roundings that the planner counts; radii are
// never too small.
template <const bf::ConvShape& kShape>
void expect_sound(const RandomTerm& term, const std::vector<double>& c, const std::vector<float>& r,
                  Centres sums) {
  std::vector<mpq_class> centre, size, radius;
  for (const double x : sums.centre) {
    centre.push_back(exact(x));
    size.push_back(abs(centre.back()));
  }
  for (const float x : sums.radius) radius.push_back(exact(static_cast<double>(x)));
  for (const RandomTerm::Product& p : term.products) {
    const mpq_class product = (exact(p.weight) + exact(p.residual)) * exact(c[p.in]);
    centre[p.out] += product;
    size[p.out] += abs(product);
    radius[p.out] += abs(exact(p.weight)) * exact(static_cast<double>(r[p.in]));
  }
  bf::conv_centre(bf::FixedShape<kShape>{}, term.weight.data(), term.residuals(), c.data(),
                  r.data(), bf::kSumSlack, sums.centre.data(), sums.radius.data());
  const int roundings = 3 + term.most(false) + 1;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    EXPECT_LE(abs(exact(sums.centre[i]) - centre[i]),
              exact(gamma_double(roundings)) * size[i] + exact(roundings * 0x1p-1074))
        << i;
    const mpq_class made = exact(static_cast<double>(sums.radius[i]));
    EXPECT_GE(made, radius[i]) << i;
    EXPECT_LE(made, radius[i] * exact(1 + 0x1p-21) + exact(0x1p-146)) << i;
  }
}

template <const bf::ConvShape& kShape>
void check_sums(unsigned seeds) {
  for (unsigned seed = 0; seed < seeds; ++seed) {  // with residuals and without
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    const RandomTerm term = random_conv_term(random, kind, geometry_of(kShape));
    const std::vector<double> c = random.centres(term.in, kind);
    const std::vector<float> r = random.radii(term.in, kind);
    const Centres before(random, term, kind);
    if (kind == Numbers::kIntegers) {
      expect_as_strips<kShape, false>(term, c, r, before);
      expect_as_strips<kShape, true>(term, c, r, before);
    }
    expect_sound<kShape>(term, c, r, before);
  }
}

template <const bf::ConvShape& kShape>
void check() {
  static_assert(bf::kHasCentrePixels<bf::FixedShape<kShape>> == (bf::kVectorBytes >= 16));
  check_sums<kShape>(10);
}

template <const bf::ConvShape& kShape>
void check_blocks() {
  static_assert((bf::centre_block(kShape).rows > 0) == (bf::kVectorBytes >= 16));
  check_sums<kShape>(3);
}

TEST(Centres, ConstantShapesOfManyChannels) {
  check_blocks<kBlockRows>();
  check_blocks<kBlockParts>();
  check_blocks<kBlockColumns>();
  check_blocks<kBlockGroups>();
  check_blocks<kBlockPanels>();
  check_blocks<kBlockVolumes>();
  check_blocks<kBlockPixelwise>();
}

TEST(Centres, ConstantShapesOfFewProducts) {
  check<kFew>();
  check<kFewStrided>();
  check<kFewPairs>();
  check<kFewApart>();
  check<kFewWidePad>();
  check<kDepthwise>();
  check<kPooling>();
  check<kVolumes>();
}

// Sums that are no numbers, or too large for floats, are radii without end; neighbours in a vector
// and behind the row stay as they are.
TEST(Centres, InfiniteRadiiStayInTheirPixels) {
  Random random(1);
  const RandomTerm term = random_conv_term(random, Numbers::kIntegers, geometry_of(kFew));
  const std::vector<double> c = random.centres(term.in, Numbers::kIntegers);
  std::vector<float> r = random.radii(term.in, Numbers::kIntegers);
  const Centres before(random, term, Numbers::kIntegers);
  Centres finite = before, infinite = before;
  const auto run = [&](Centres& sums) {
    bf::conv_centre(bf::FixedShape<kFew>{}, term.weight.data(), nullptr, c.data(), r.data(), 1,
                    sums.centre.data(), sums.radius.data());
  };
  run(finite);
  const std::size_t broken = 40;  // an input
  r[broken] = std::numeric_limits<float>::infinity();
  run(infinite);
  std::vector<bool> reads(before.radius.size(), false);
  for (const RandomTerm::Product& p : term.products)
    if (p.in == broken) reads[p.out] = true;
  for (std::size_t i = 0; i < reads.size(); ++i)
    EXPECT_EQ(infinite.radius[i], reads[i] ? r[broken] : finite.radius[i]) << i;
  EXPECT_EQ(infinite.centre, finite.centre);
}

}  // namespace
}  // namespace bf_test
