// Lines that rows give to branch and bound, and boxes that are clipped by them, in rational
// numbers.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/bf/core/bounds.h"
#include "runtime/bf/dense/boxes.h"
#include "runtime/bf/search/combine.h"
#include "terms_random.h"

namespace bf_test {
namespace {

using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// ---- keep_coefficients

// least + (what the row loses besides, and the sums) <= centre, in rational numbers.
void expect_least(const float* line, std::size_t inputs, double centre, float offset, float spread,
                  const bf::RowErrors& errors, float radius, const mpq_class& absolute) {
  const mpq_class lost =
      exact(static_cast<double>(spread)) * exact(errors.concretize_inflate) +
      exact(errors.weight_relative) * exact(static_cast<double>(radius)) * exact(errors.inflate) +
      absolute;
  const mpq_class claim = exact(centre) + exact(static_cast<double>(offset)) - lost;
  EXPECT_LE(exact(static_cast<double>(line[inputs])), claim);
  EXPECT_GE(static_cast<double>(line[inputs]),
            claim.get_d() - 1e-5 * (1 + std::fabs(claim.get_d())));
}

bf::RowErrors random_errors(Random& random) {
  return {1 + 0x1p-20 * random.unit(), 0x1p-24 * random.unit(), 1 + 0x1p-30 * random.unit(),
          0x1p-18 * random.unit(), nullptr};
}

struct RandomRows {
  RandomRows(Random& random, int rows, int inputs, int neurons)
      : over_inputs(random.numbers(inputs * rows, Numbers::kEven)),
        sums(random.numbers(2 * rows, Numbers::kEven)),
        radius(random.numbers(neurons, Numbers::kEven)) {
    for (float& x : radius) x = std::fabs(x);
    for (std::size_t r = static_cast<std::size_t>(rows); r < sums.size(); ++r)
      sums[r] = std::fabs(sums[r]);
    for (int i = 0; i < neurons; ++i) centre.push_back(8 * random.unit() - 4);
    for (int i = 0; i < neurons; ++i) slack.push_back(0x1p-18 * random.unit());
  }
  Floats over_inputs, sums, radius;
  std::vector<double> centre, slack;
};

TEST(KeptLines, SayWhatTheirRowsDo) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    constexpr int kPairs = 8, kNeurons = 9;
    const int inputs = random.between(1, 5), count = random.between(1, kPairs), position = 2;
    const RandomRows r(random, 2 * kPairs, inputs, kNeurons);
    bf::RowErrors errors = random_errors(random);
    errors.row = r.slack.data();
    std::vector<std::int32_t> neurons;
    for (int i = 0; i < kPairs; ++i) neurons.push_back(i + (i < 4 ? 0 : 1));
    const auto line = static_cast<std::size_t>(inputs) + 1;
    Floats kept(2 * line * (kNeurons + position), 7777.0F);
    bf::keep_coefficients(neurons.data(), count, kPairs, inputs, r.over_inputs.data(),
                          r.sums.data(), errors, r.radius.data(), r.centre.data(), position,
                          kept.data());
    for (int i = 0; i < kNeurons; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto found = std::find(neurons.begin(), neurons.begin() + count, i) - neurons.begin();
      for (int side = 0; side < 2; ++side) {
        const float* const a = &kept[(2 * (at + position) + static_cast<std::size_t>(side)) * line];
        if (found == count) {
          EXPECT_EQ(*a, 7777.0F) << "not of the list";
          continue;
        }
        const auto row = static_cast<std::size_t>(found + side * kPairs);
        for (std::size_t k = 0; k + 1 < line; ++k)
          EXPECT_EQ(a[k], r.over_inputs[k * 2 * kPairs + row]);
        expect_least(a, line - 1, side == 0 ? r.centre[at] : -r.centre[at], r.sums[row],
                     r.sums[2 * kPairs + row], errors, r.radius[at],
                     exact(errors.absolute) + exact(r.slack[at]));
      }
    }
  }
}

TEST(KeptLines, OfBoxesInLanes) {
  constexpr int kBoxes = 4, kNeurons = 3;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int inputs = random.between(1, 4), used = random.between(1, kBoxes);
    const RandomRows r(random, 2 * kBoxes, inputs, kNeurons * kBoxes);
    bf::RowErrors errors = random_errors(random);
    errors.row = r.slack.data();
    bf::BoxGroup<kBoxes> group = {};
    group.used = used;
    std::vector<std::int32_t> neurons;
    std::vector<double> absolute;
    for (int b = 0; b < kBoxes; ++b) {
      group.box[b] = static_cast<std::size_t>(used - 1 - std::min(b, used - 1));
      neurons.push_back(random.below(kNeurons));
      absolute.push_back(0x1p-18 * random.unit());
    }
    constexpr std::size_t kStride = 5;
    const auto line = static_cast<std::size_t>(inputs) + 1;
    Floats kept(2 * line * kStride * kBoxes, 7777.0F);
    bf::keep_coefficients_of_boxes(group, neurons.data(), inputs, r.over_inputs.data(),
                                   r.sums.data(), errors, absolute.data(), r.radius.data(),
                                   r.centre.data(), 1, kStride, kept.data());
    for (int b = 0; b < used; ++b) {
      const auto box = static_cast<std::size_t>(b);
      const auto neuron = static_cast<std::size_t>(neurons[box]);
      const std::size_t at = neuron * kBoxes + box;
      for (std::size_t side = 0; side < 2; ++side) {
        const float* const a = &kept[(2 * (group.box[b] * kStride + 1 + neuron) + side) * line];
        const std::size_t row = box + side * kBoxes;
        for (std::size_t k = 0; k + 1 < line; ++k)
          EXPECT_EQ(a[k], r.over_inputs[k * 2 * kBoxes + row]);
        expect_least(a, line - 1, side == 0 ? r.centre[at] : -r.centre[at], r.sums[row],
                     r.sums[2 * kBoxes + row], errors, r.radius[at],
                     exact(absolute[box]) + exact(r.slack[at]));
      }
    }
  }
}

// Each rounding by itself: of the sum of losses, which is 1 + 2^-60, and of 1 - 2^-60.
TEST(KeptLines, CountEachRounding) {
  const std::int32_t neuron = 0;
  const float radius = 0, over[] = {1, -1};
  for (const double centre : {0.0, 1.0}) {
    const float offset = centre == 0 ? 1 : 0, spread = centre == 0 ? 1 : 0;
    const float sums[] = {offset, offset, spread, spread};
    const double slack = 0;
    const bf::RowErrors errors = {1, 0, 1, 0x1p-60, &slack};
    float kept[4];
    bf::keep_coefficients(&neuron, 1, 1, 1, over, sums, errors, &radius, &centre, 0, kept);
    expect_least(kept, 1, centre, offset, spread, errors, radius, exact(errors.absolute));
    expect_least(kept + 2, 1, -centre, offset, spread, errors, radius, exact(errors.absolute));
  }
}

TEST(KeptLines, ClaimNothingWhereRowsAreNoNumbers) {
  const std::int32_t neuron = 0;
  const float radius = 1, over[] = {kNan, kInfinity};
  const double centre = 1, slack = 0;
  for (const float bad : {kNan, kInfinity}) {
    const float sums[] = {0, 0, bad, bad};
    float kept[4];
    bf::keep_coefficients(&neuron, 1, 1, 1, over, sums, {1, 0, 1, 0, &slack}, &radius, &centre, 0,
                          kept);
    EXPECT_EQ(kept[1], -kInfinity);
    EXPECT_EQ(kept[3], -kInfinity);
    bf::keep_coefficients(&neuron, 1, 1, 1, over, sums, {1, 0, 1, 0, &slack}, &radius, &centre, 0,
                          nullptr);
  }
}

// ---- clip_by_term

// The box of one input after clipping by a row whose violations are below `limit`: those of a
// threshold that is the float below it, and of any real number between the two.
std::pair<float, float> clipped(float a, float least, float limit, float lower, float upper,
                                bool at_least = false) {
  const float lines[] = {a, least, a, least};
  const float threshold = std::nextafter(limit, -kInfinity);
  const bf::VerdictTerm term = {0, at_least, at_least ? -threshold : threshold};
  float to_lower = lower, to_upper = upper;
  bf::clip_by_term(term, lines, 1, {&lower, &upper}, {&to_lower, &to_upper});
  return {to_lower, to_upper};
}

// Beyond the ends that are left |a| d >= limit - least, so that no violation is there.
void expect_none_lost(float a, float least, float limit, float lower, float upper,
                      bool at_least = false) {
  const auto [low, high] = clipped(a, least, limit, lower, upper, at_least);
  const auto number = [](float x) { return exact(static_cast<double>(x)); };
  const mpq_class room = number(limit) - number(least);
  EXPECT_LE(lower, low);
  EXPECT_LE(high, upper);
  if (high < upper) {
    EXPECT_GE((number(high) - number(lower)) * number(std::fabs(a)), room)
        << a << " " << least << " " << limit << " " << lower;
  }
  if (low > lower) {
    EXPECT_GE((number(upper) - number(low)) * number(std::fabs(a)), room)
        << a << " " << least << " " << limit << " " << upper;
  }
}

TEST(Clip, KeepsTheSideWhereTheLineIsLeast) {
  EXPECT_EQ(clipped(2, -1, 1, -4, 4).first, -4);
  EXPECT_NEAR(clipped(2, -1, 1, -4, 4).second, -3, 1e-6);
  EXPECT_NEAR(clipped(-2, -1, 1, -4, 4).first, 3, 1e-6);
  EXPECT_EQ(clipped(-2, -1, 1, -4, 4).second, 4);
  EXPECT_EQ(clipped(0.25F, -1, 1, -4, 4), std::pair(-4.0F, 4.0F)) << "it leaves all of it";
}

TEST(Clip, LosesNoPoint) {
  for (unsigned seed = 0; seed < 40'000; ++seed) {
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    const float x = random.number(kind), y = random.number(kind);
    const float least = random.number(kind), limit = random.number(kind);
    expect_none_lost(random.number(Numbers::kSpread), std::min(least, limit),
                     std::max(least, limit), std::min(x, y), std::max(x, y), seed % 2 == 1);
  }
}

// Each rounding by itself: without the slack the end is -1 + 1, without add_up 1024, without
// float_up the float below 1/3.
TEST(Clip, CountsEachRounding) {
  expect_none_lost(3, -0x1p-60F, 3, -1, 8);
  expect_none_lost(-3, -0x1p-60F, 3, -8, 1);
  expect_none_lost(1, -0x1p-60F, 0, 1024, 2048);
  expect_none_lost(-1, -0x1p-60F, 0, -2048, -1024);
  expect_none_lost(3, 0, 1, 0, 8);
  expect_none_lost(-3, 0, 1, -8, 0);
}

// Y <= 1 + 2^-24 has the threshold 1, and is true at 1 + 2^-24.
TEST(Clip, ViolationsBetweenTheThresholdAndTheNextFloatStay) {
  for (const bool at_least : {false, true}) {
    const float lines[] = {0x1p-10F, 1, 0x1p-10F, 1};
    const bf::VerdictTerm term = {0, at_least, at_least ? -1.0F : 1.0F};
    const float lower = 0, upper = 1;
    float to_lower = lower, to_upper = upper;
    bf::clip_by_term(term, lines, 1, {&lower, &upper}, {&to_lower, &to_upper});
    EXPECT_EQ(to_lower, 0);
    EXPECT_GE(to_upper, 0x1p-14F);
    EXPECT_LT(to_upper, 0x1p-12F) << "still clipped";
  }
}

TEST(Clip, DoesNothingWhereNothingIsKnown) {
  const auto all = std::pair(-1.0F, 1.0F);
  EXPECT_EQ(clipped(kNan, -1, 1, -1, 1), all);
  EXPECT_EQ(clipped(kInfinity, -1, 1, -1, 1), all);
  EXPECT_EQ(clipped(5, -kInfinity, 1, -1, 1), all);
  EXPECT_EQ(clipped(5, kNan, 1, -1, 1), all);
  EXPECT_EQ(clipped(5, -1, kInfinity, -1, 1), all);
  EXPECT_EQ(clipped(0, -1, -1, -1, 1), all);
  EXPECT_EQ(clipped(5, 2, 1, -1, 1), all) << "the bound excludes the term by itself";
  EXPECT_EQ(clipped(5, -1, 1, 1, 1), std::pair(1.0F, 1.0F));
  EXPECT_EQ(clipped(FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX, FLT_MAX).first, -FLT_MAX);
}

// ---- clip_box

// Terms of clauses, in order, of a property on one row.
struct Clauses {
  std::vector<bf::VerdictTerm> terms;
  std::vector<std::uint32_t> first;
};

struct Clipped {
  bool any;
  Floats lower, upper;
};

// Two inputs in [0, 8], the row x_0 - x_1 and its lines, which are exact.
Clipped clip(const Clauses& clauses, float row_lower = -8, float row_upper = 8) {
  const float lines[] = {1, -1, -8, -1, 1, -8};
  const float lower[] = {0, 0}, upper[] = {8, 8};
  bf::PropertyTables tables = {};
  tables.clause_terms = clauses.first.data();
  tables.terms = clauses.terms.data();
  Floats memory(8);
  Clipped made = {false, Floats(2), Floats(2)};
  made.any =
      bf::clip_box(tables, 0, static_cast<std::uint32_t>(clauses.first.size() - 1),
                   {&row_lower, &row_upper, lines}, 2, {lower, upper}, {memory.data(), &memory[2]},
                   &memory[4], {made.lower.data(), made.upper.data()});
  return made;
}

TEST(Clip, EachTermOfAClauseCounts) {
  const Clipped one = clip({{{0, false, -6}}, {0, 1}});
  EXPECT_TRUE(one.any);
  EXPECT_NEAR(one.upper[0], 2, 1e-6);
  EXPECT_NEAR(one.lower[1], 6, 1e-6);
  const Clipped other = clip({{{0, true, 6}}, {0, 1}});
  EXPECT_NEAR(other.lower[0], 6, 1e-6);
  EXPECT_NEAR(other.upper[1], 2, 1e-6);
  EXPECT_FALSE(clip({{{0, false, -6}, {0, true, 6}}, {0, 2}}).any) << "nothing satisfies both";
}

TEST(Clip, LeavesWhatAnyClauseLeaves) {
  const Clipped both = clip({{{0, false, -6}, {0, true, 5}}, {0, 1, 2}});
  EXPECT_TRUE(both.any);
  EXPECT_EQ(both.lower, Floats({0, 0}));
  EXPECT_EQ(both.upper, Floats({8, 8}));
  const Clipped near = clip({{{0, false, -6}, {0, false, -4}}, {0, 1, 2}});
  EXPECT_NEAR(near.upper[0], 4, 1e-6);
  const Clipped second = clip({{{0, false, -6}, {0, true, 6}, {0, false, -4}}, {0, 2, 3}});
  EXPECT_TRUE(second.any);
  EXPECT_NEAR(second.upper[0], 4, 1e-6) << "of the clause that can hold";
  const Clipped excluded = clip({{{0, false, -6}, {0, true, 6}}, {0, 1, 2}}, -5);
  EXPECT_EQ(excluded.upper[0], 8) << "bounds exclude the first";
  EXPECT_NEAR(excluded.lower[0], 6, 1e-6);
  EXPECT_FALSE(clip({{{0, false, -6}}, {0, 1}}, -5).any);
  const Clipped none = clip({{}, {0, 0}});
  EXPECT_TRUE(none.any) << "a clause without terms may hold anywhere";
  EXPECT_EQ(none.upper, Floats({8, 8}));
}

// ---- clip_by_combinations

// Lines q_i >= least_i + sum |a_ik| d_ik of a clause's terms q_i < limit_i on a box.
struct Terms {
  std::size_t inputs = 0;
  Floats lower, upper, lines;
  std::vector<bf::VerdictTerm> terms;
  std::vector<std::uint32_t> first;

  // coefficients and what the line is at least, and the limit: the float above the threshold.
  void add(const Floats& coefficients, float least, float limit) {
    const float threshold = std::nextafter(limit, -kInfinity);
    const bool at_least = terms.size() % 2 == 1;
    terms.push_back(
        {static_cast<std::int32_t>(terms.size()), at_least, at_least ? -threshold : threshold});
    for (int side = 0; side < 2; ++side) {
      lines.insert(lines.end(), coefficients.begin(), coefficients.end());
      lines.push_back(least);
    }
  }

  // The box that is left; nothing where the clause is excluded.
  std::optional<std::pair<Floats, Floats>> clip() {
    first = {0, static_cast<std::uint32_t>(terms.size())};
    bf::PropertyTables tables = {};
    tables.clause_terms = first.data();
    tables.terms = terms.data();
    Floats memory(2 * inputs), low = lower, high = upper;
    if (bf::clip_by_combinations(tables, 0, {nullptr, nullptr, lines.data()}, inputs,
                                 {lower.data(), upper.data()}, memory.data(),
                                 {low.data(), high.data()}))
      return std::nullopt;
    return std::pair(low, high);
  }

  // Whether all terms may hold at a point of the box, by their lines.
  bool may_hold(const std::vector<mpq_class>& x) const {
    const auto number = [](float each) { return exact(static_cast<double>(each)); };
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const float* const line = &lines[t * 2 * (inputs + 1)];
      mpq_class q = number(line[inputs]);
      for (std::size_t k = 0; k < inputs; ++k) {
        const mpq_class d =
            line[k] > 0 ? mpq_class(x[k] - number(lower[k])) : mpq_class(number(upper[k]) - x[k]);
        q += number(std::fabs(line[k])) * d;
      }
      const float threshold = terms[t].at_least ? -terms[t].threshold : terms[t].threshold;
      if (q >= number(std::nextafter(threshold, kInfinity))) return false;
    }
    return true;
  }
};

TEST(Combine, TermsExcludeTogetherWhatNoneDoesAlone) {
  Terms both{2, {0, 0}, {1, 1}, {}, {}, {}};
  both.add({1, 1}, 0, 0.5F);      // x_0 + x_1 < 1/2
  both.add({-1, -1}, -2, -0.6F);  // x_0 + x_1 > 0.6
  EXPECT_FALSE(both.clip().has_value());
  Terms meet{2, {0, 0}, {1, 1}, {}, {}, {}};
  meet.add({1, 1}, 0, 0.5F);
  meet.add({-1, -1}, -2, -0.4F);
  EXPECT_TRUE(meet.clip().has_value());
}

// x_0 < x_1 < .. < x_5 < x_0, in any order of the terms.
TEST(Combine, ChainsAddUp) {
  constexpr std::size_t kInputs = 6;
  for (const bool reversed : {false, true}) {
    Terms chain{kInputs, Floats(kInputs, 0), Floats(kInputs, 1), {}, {}, {}};
    for (std::size_t k = 0; k < kInputs; ++k) {
      const std::size_t i = reversed ? kInputs - 1 - k : k;
      Floats a(kInputs);
      a[i] = 1;
      a[(i + 1) % kInputs] = -1;
      chain.add(a, -1, i + 1 == kInputs ? -0.01F : 0.0F);
    }
    EXPECT_FALSE(chain.clip().has_value()) << reversed;
  }
}

TEST(Combine, LosesNoPoint) {
  int excluded = 0, clipped = 0, held = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    Random random(seed);
    const Numbers kind = seed % 4 == 0 ? Numbers::kSpread : kAllNumbers[seed % 5];
    Terms terms;
    terms.inputs = static_cast<std::size_t>(random.between(1, 4));
    for (std::size_t k = 0; k < terms.inputs; ++k) {
      const float x = random.number(kind), y = random.number(kind);
      terms.lower.push_back(std::min(x, y));
      terms.upper.push_back(std::max(x, y));
    }
    for (int t = random.between(2, 5); t > 0; --t) {
      const Floats a = random.numbers(static_cast<std::int64_t>(terms.inputs), kind);
      float reach = 0;
      for (std::size_t k = 0; k < terms.inputs; ++k)
        reach += std::fabs(a[k]) * (terms.upper[k] - terms.lower[k]);
      const float least = random.number(kind);
      terms.add(a, least, least + reach * static_cast<float>(random.below(9)) / 8);
    }
    const auto left = terms.clip();
    excluded += left ? 0 : 1;
    clipped += left && *left != std::pair(terms.lower, terms.upper) ? 1 : 0;
    for (int i = 0; i < 20; ++i) {
      std::vector<mpq_class> x;
      for (std::size_t k = 0; k < terms.inputs; ++k) {
        const mpq_class low = exact(static_cast<double>(terms.lower[k]));
        const mpq_class high = exact(static_cast<double>(terms.upper[k]));
        x.push_back(low + (high - low) * random.below(9) / 8);
      }
      if (!terms.may_hold(x)) continue;
      ++held;
      ASSERT_TRUE(left.has_value()) << seed;
      for (std::size_t k = 0; k < terms.inputs; ++k) {
        ASSERT_LE(exact(static_cast<double>(left->first[k])), x[k]) << seed;
        ASSERT_GE(exact(static_cast<double>(left->second[k])), x[k]) << seed;
      }
    }
  }
  EXPECT_GT(excluded, 500);
  EXPECT_GT(clipped, 500);
  EXPECT_GT(held, 5000);
}

// x < 1 and 1 - x < 2^-60: their sum is 2^-60 below 0, which is lost where 1 is added.
TEST(Combine, PaysForItsRoundings) {
  Terms terms{1, {0}, {1}, {}, {}, {}};
  terms.add({1}, 0, 1);
  terms.add({-1}, 0, 0x1p-60F);
  EXPECT_TRUE(terms.may_hold({exact(1) - exact(0x1p-61)}));
  EXPECT_TRUE(terms.clip().has_value());
}

TEST(Combine, DoesNothingWhereNothingIsKnown) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    Terms terms{1, {0}, {1}, {}, {}, {}};
    terms.add({1}, -1, 0.5F);
    terms.add({bad}, 0, 0.5F);
    terms.add({1}, bad, 0.5F);
    const auto left = terms.clip();
    ASSERT_TRUE(left.has_value());
    EXPECT_EQ(left->second[0], 1);
  }
}

TEST(Combine, TakesTheLargestNumbers) {
  Terms far{1, {-FLT_MAX}, {FLT_MAX}, {}, {}, {}};
  far.add({FLT_MAX}, -FLT_MAX, FLT_MAX / 2);   // within 3/2 of the lower end
  far.add({-FLT_MAX}, -FLT_MAX, FLT_MAX / 2);  // and of the upper one
  EXPECT_FALSE(far.clip().has_value());
}

}  // namespace
}  // namespace bf_test
