// Branch and bound with bounds that are known: every verdict, and that no part of a box is lost.
#include "runtime/bf/search/branch_and_bound.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace bf {
namespace {

using Floats = std::vector<float>;

// row <= threshold, or >= ; one condition is one clause unless said otherwise.
struct Case {
  Floats lower, upper;
  std::vector<std::vector<VerdictTerm>> clauses;
  unsigned char inside = 3;
};

// The tables of a property, and what they point to.
class Tables {
 public:
  Tables(int rows, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
      lower_.insert(lower_.end(), one.lower.begin(), one.lower.end());
      upper_.insert(upper_.end(), one.upper.begin(), one.upper.end());
      inside_.insert(inside_.end(), one.lower.size(), one.inside);
      for (const auto& clause : one.clauses) {
        terms_.insert(terms_.end(), clause.begin(), clause.end());
        clause_terms_.push_back(static_cast<std::uint32_t>(terms_.size()));
      }
      case_clauses_.push_back(static_cast<std::uint32_t>(clause_terms_.size() - 1));
    }
    tables = {static_cast<std::int32_t>(cases.front().lower.size()),
              rows,
              static_cast<std::int32_t>(cases.size()),
              lower_.data(),
              upper_.data(),
              inside_.data(),
              case_clauses_.data(),
              clause_terms_.data(),
              terms_.data()};
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  PropertyTables tables;

 private:
  Floats lower_, upper_;
  std::vector<unsigned char> inside_;
  std::vector<std::uint32_t> case_clauses_ = {0}, clause_terms_ = {0};
  std::vector<VerdictTerm> terms_;
};

// One row: bounds on a box.
using Row = std::function<void(const float* lower, const float* upper, float* low, float* high)>;

struct Decision {
  bf_status status = BF_OK;
  bf_result result = {};
  bf_search search = {};
  Floats counterexample;
  std::vector<Floats> boxes;  // that were bounded: lower, then upper
};

// Writes the lines of one row in a box: [2][inputs + 1].
using Lines = std::function<void(const float* lower, const float* upper, float* lines)>;

// Lines with these coefficients that bound nothing.
Lines idle_lines(const float* coefficients, std::size_t inputs) {
  return [coefficients, inputs](const float*, const float*, float* lines) {
    for (std::size_t side = 0; side < 2; ++side) {
      std::copy_n(coefficients, inputs, lines + side * (inputs + 1));
      lines[side * (inputs + 1) + inputs] = -std::numeric_limits<float>::infinity();
    }
  };
}

struct Search {
  std::size_t batch = 4;
  std::size_t room = 256;  // open boxes
  const float* split_weights = nullptr;
  const float* coefficients = nullptr;  // of both lines of the row in every box; they claim nothing
  const bf_budget* budget = nullptr;
  int fails_at = -1;  // the call of the bounds that fails
  bool wants_point = true;
  Lines lines = {};  // in place of coefficients
};

constexpr float kCanary = -12345.5F;

Decision decide(const Tables& property, const Floats& lower, const Floats& upper, const Row& row,
                const Search& how = {}) {
  const PropertyTables& tables = property.tables;
  const auto inputs = static_cast<std::size_t>(tables.inputs);
  const auto rows = static_cast<std::size_t>(tables.rows);
  const Lines lines =
      how.coefficients != nullptr ? idle_lines(how.coefficients, inputs) : how.lines;
  const bool kept = lines != nullptr;
  Decision d;
  d.counterexample.assign(inputs, kCanary);
  d.result = {BF_BUDGET, 77, 77, how.wants_point ? d.counterexample.data() : nullptr};
  const std::size_t bytes =
      round_bytes(inputs, rows, how.batch, kept) + how.room * open_box_bytes(inputs);
  Floats memory(bytes / sizeof(float) + 8, kCanary);
  int calls = 0;
  const auto together = [&](std::size_t count, const float* low, const float* high, float* row_low,
                            float* row_high, float* coefficients, bf_status* statuses) {
    EXPECT_GE(count, 1U);
    EXPECT_LE(count, how.batch);
    if (calls++ == how.fails_at) return BF_FLOAT_ENVIRONMENT;
    for (std::size_t i = 0; i < count; ++i) {
      statuses[i] = BF_OK;
      const float* const a = low + i * inputs;
      const float* const b = high + i * inputs;
      for (std::size_t k = 0; k < inputs; ++k) {
        EXPECT_LE(lower[k], a[k]);
        EXPECT_LE(a[k], b[k]);
        EXPECT_LE(b[k], upper[k]);
      }
      if (low != high) {
        Floats box(a, a + inputs);
        box.insert(box.end(), b, b + inputs);
        d.boxes.push_back(box);
      }
      if (kept && low != high) lines(a, b, coefficients + i * rows * lines_of_row(inputs));
      row(a, b, row_low + i * rows, row_high + i * rows);
    }
    return BF_OK;
  };
  d.status = decide_property(tables, how.split_weights, kept, lower.data(), upper.data(), how.batch,
                             how.budget, &d.result, &d.search, memory.data(), bytes, together);
  for (std::size_t i = bytes / sizeof(float); i < memory.size(); ++i)
    EXPECT_EQ(memory[i], kCanary) << "written behind the memory";
  return d;
}

// x_0 - x_0 by intervals: as wide as the box.
void difference(const float* lower, const float* upper, float* low, float* high) {
  *low = lower[0] - upper[0];
  *high = upper[0] - lower[0];
}

// The greatest distance of a coordinate from p, by intervals.
Row distance(float p, std::size_t inputs) {
  return [p, inputs](const float* lower, const float* upper, float* low, float* high) {
    *low = 0;
    *high = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      const float near = lower[i] > p ? lower[i] - p : upper[i] < p ? p - upper[i] : 0;
      *low = std::max(*low, near);
      *high = std::max(*high, std::max(std::fabs(lower[i] - p), std::fabs(upper[i] - p)));
    }
  };
}

constexpr VerdictTerm at_least(float threshold) {
  return {0, true, threshold};
}
constexpr VerdictTerm at_most(float threshold) {
  return {0, false, threshold};
}

TEST(BranchAndBound, VerifiesWhatHalvesShow) {
  const Tables property(1, {{{-1}, {1}, {{at_least(0.3F)}}}});
  for (const std::size_t batch : {1, 2, 16}) {
    const Decision d = decide(property, {-1}, {1}, difference, {.batch = batch});
    EXPECT_EQ(d.status, BF_OK);
    EXPECT_EQ(d.result.verdict, BF_VERIFIED);
    EXPECT_EQ(d.search.boxes, 15U) << "a full tree whose leaves are 1/4 wide";
    EXPECT_EQ(d.search.open, 0U);
    EXPECT_EQ(d.search.proven, 1);
    EXPECT_EQ(d.counterexample[0], kCanary);
  }
}

TEST(BranchAndBound, NothingToSplitTakesOneBox) {
  const Tables property(1, {{{-1}, {1}, {{at_least(3)}}}});
  const Decision d = decide(property, {-1}, {1}, difference);
  EXPECT_EQ(d.result.verdict, BF_VERIFIED);
  EXPECT_EQ(d.search.boxes, 1U);
  EXPECT_EQ(d.search.points, 0U);
}

TEST(BranchAndBound, EveryPointLiesInABoxThatWasExcluded) {
  constexpr float kLimit = 0.4F;
  const float weights[] = {1, 0.3F, 2};
  const Tables property(1, {{{-1, -1, -1}, {1, 1, 1}, {{at_least(kLimit)}}}});
  const Floats lower = {-1, -0.7F, 0.1F}, upper = {0.9F, 1, 1};
  const Row widest = [](const float* a, const float* b, float* low, float* high) {
    *high = std::max({b[0] - a[0], 0.5F * (b[1] - a[1]), b[2] - a[2]});
    *low = -*high;
  };
  const Decision d = decide(property, lower, upper, widest, {.split_weights = weights});
  ASSERT_EQ(d.result.verdict, BF_VERIFIED);
  std::mt19937 random(7);
  const auto is_excluded_at = [&](const Floats& x) {
    for (const Floats& box : d.boxes) {
      bool inside = true;
      for (std::size_t i = 0; i < 3; ++i) inside = inside && box[i] <= x[i] && x[i] <= box[3 + i];
      float low = 0, high = 0;
      widest(box.data(), box.data() + 3, &low, &high);
      if (inside && high < kLimit) return true;
    }
    return false;
  };
  for (int round = 0; round < 2000; ++round) {
    Floats x(3);
    for (std::size_t i = 0; i < 3; ++i) {
      x[i] = std::uniform_real_distribution<float>(lower[i], upper[i])(random);
      // On the planes where boxes meet, too.
      if (random() % 3 == 0) x[i] = d.boxes[random() % d.boxes.size()][i];
    }
    EXPECT_TRUE(is_excluded_at(x)) << x[0] << ", " << x[1] << ", " << x[2];
  }
}

TEST(BranchAndBound, FindsAPointThatViolates) {
  const Tables property(1, {{{-1, -1}, {1, 1}, {{at_most(0.001F)}}}});
  for (const std::size_t batch : {1, 16}) {
    const Decision d = decide(property, {-1, -1}, {1, 1}, distance(0.37F, 2), {.batch = batch});
    ASSERT_EQ(d.result.verdict, BF_FALSIFIED)
        << d.search.boxes << " " << d.search.points << " " << d.search.open;
    EXPECT_EQ(d.result.property_case, 0U);
    EXPECT_EQ(d.result.clause, 0U);
    for (const float x : d.counterexample) EXPECT_LE(std::fabs(x - 0.37F), 0.001F);
  }
}

TEST(BranchAndBound, NeedsNoRoomForThePoint) {
  const Tables property(1, {{{-1, -1}, {1, 1}, {{at_most(0.01F)}}}});
  const Decision d = decide(property, {-1, -1}, {1, 1}, distance(0.37F, 2), {.wants_point = false});
  EXPECT_EQ(d.result.verdict, BF_FALSIFIED);
  EXPECT_EQ(d.counterexample[0], kCanary);
}

// Of two clauses the second can be violated; a clause holds when all of its conditions do.
TEST(BranchAndBound, NamesTheClause) {
  const Tables property(1, {{{0}, {1}, {{at_most(0.5F), at_least(0.6F)}, {at_most(0.2F)}}}});
  const Row identity = [](const float* a, const float* b, float* low, float* high) {
    *low = *a;
    *high = *b;
  };
  const Decision d = decide(property, {0}, {1}, identity);
  ASSERT_EQ(d.result.verdict, BF_FALSIFIED)
      << d.search.boxes << " " << d.search.points << " " << d.search.open;
  EXPECT_EQ(d.result.clause, 1U);
  EXPECT_LE(d.counterexample[0], 0.2F);
}

// The only violating float is the end of the outer box that is not in the exact one.
TEST(BranchAndBound, PointsLieInTheExactBox) {
  const float end = std::nextafterf(std::nextafterf(std::nextafterf(1, 2), 2), 2);
  const Row above = [](const float* a, const float* b, float* low, float* high) {
    *low = *a - 1;
    *high = *b - 1;
  };
  for (const unsigned char inside :
       {static_cast<unsigned char>(3), static_cast<unsigned char>(2)}) {
    const Tables property(1, {{{1}, {end}, {{at_most(0)}}, inside}});
    const Decision d = decide(property, {1}, {end}, above);
    EXPECT_EQ(d.result.verdict, inside == 3 ? BF_FALSIFIED : BF_UNKNOWN);
  }
}

// No float lies between the ends of the exact box.
TEST(BranchAndBound, AnExactBoxWithoutFloatsHasNoPoints) {
  const Tables property(1, {{{1}, {std::nextafterf(1, 2)}, {{at_least(0)}}, 0}});
  const Decision d = decide(property, {0}, {2}, difference);
  EXPECT_EQ(d.result.verdict, BF_UNKNOWN);
  EXPECT_EQ(d.search.points, 0U);
}

TEST(BranchAndBound, WhatCannotBeSplitIsUnknown) {
  for (const float nothing :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Row row = [nothing](const float*, const float*, float* low, float* high) {
      *low = -nothing;
      *high = nothing;
    };
    const Tables property(1, {{{1, -5}, {1 + 8 * FLT_EPSILON, -5}, {{at_least(0.5F)}}}});
    const Decision d = decide(property, {1, -5}, {2, -5}, row);
    EXPECT_EQ(d.result.verdict, BF_UNKNOWN);
    EXPECT_EQ(d.search.boxes, 15U) << "9 floats: 8 boxes between them, and 7 above";
    EXPECT_EQ(d.search.proven, 0);
  }
}

// One box of the tree is undecided, all others are excluded: not a proof.
TEST(BranchAndBound, OneUndecidedBoxIsUnknown) {
  const float end = 1 + 8 * FLT_EPSILON;
  const Row row = [end](const float*, const float* upper, float* low, float* high) {
    *low = 0;
    *high = *upper == end ? 1.0F : 0.0F;
  };
  const Tables property(1, {{{1}, {end}, {{at_least(0.5F)}}}});
  const Decision d = decide(property, {1}, {end}, row);
  EXPECT_EQ(d.result.verdict, BF_UNKNOWN);
  EXPECT_EQ(d.search.boxes, 7U);
  EXPECT_EQ(d.search.open, 0U);
  EXPECT_EQ(d.search.proven, 0.875F);
}

TEST(BranchAndBound, KeepsItsBudget) {
  const Tables property(1, {{{-1}, {1}, {{at_least(1e-6F)}}}});
  for (const std::uint64_t most : {1, 6, 100}) {
    const bf_budget budget = {most, nullptr, nullptr};
    const Decision d = decide(property, {-1}, {1}, difference, {.budget = &budget});
    EXPECT_EQ(d.result.verdict, BF_BUDGET);
    EXPECT_EQ(d.search.boxes, most);
    EXPECT_GT(d.search.open, 0U);
    EXPECT_EQ(d.result.property_case, 0U);
  }
}

struct Stops {
  int left;
  std::vector<bf_search> seen;
};

int stop_after(void* data, const bf_search* search) {
  auto& stops = *static_cast<Stops*>(data);
  stops.seen.push_back(*search);
  return stops.left-- == 0 ? 1 : 0;
}

int stop_at_the_end(void*, const bf_search* search) {
  return search->open == 0 && search->boxes > 0 ? 1 : 0;
}

TEST(BranchAndBound, IsDecidedWhenToldToStopAfterTheLastBox) {
  const bf_budget budget = {0, stop_at_the_end, nullptr};
  const Tables holds(1, {{{-1}, {1}, {{at_least(0.3F)}}}});
  EXPECT_EQ(decide(holds, {-1}, {1}, difference, {.budget = &budget}).result.verdict, BF_VERIFIED);
  const Tables open(1, {{{1}, {1}, {{at_least(0)}}}});
  const Row unknown = [](const float*, const float*, float* low, float* high) {
    *low = -1;
    *high = 1;
  };
  EXPECT_EQ(decide(open, {1}, {1}, unknown, {.budget = &budget}).result.verdict, BF_UNKNOWN);
}

// The second case is split last, and verified: what is open then is a half of the first.
TEST(BranchAndBound, NamesAnOpenBoxWhenTheBudgetIsSpent) {
  const Tables property(1, {{{0}, {8}, {{at_least(9)}, {at_least(0.5F)}}},
                            {{10}, {11}, {{at_least(0.75F)}}},
                            {{20}, {21}, {{at_least(9)}}}});
  for (const std::uint64_t most : {0, 2, 3, 4, 5, 6}) {
    Stops stops = {most == 0 ? 0 : -1, {}};
    const bf_budget budget = {most, stop_after, &stops};
    const Decision d = decide(property, {0}, {30}, difference, {.batch = 1, .budget = &budget});
    EXPECT_EQ(d.result.verdict, BF_BUDGET);
    EXPECT_EQ(d.search.boxes, most);
    EXPECT_EQ(d.result.property_case, most == 2 || most == 3 || most == 4 ? 1U : 0U) << most;
    EXPECT_EQ(d.result.clause, most == 5 || most == 6 ? 1U : 0U) << most;
  }
}

TEST(BranchAndBound, StopsWhenTold) {
  const Tables property(1, {{{-1}, {1}, {{at_least(1e-6F)}}}});
  Stops stops = {40, {}};
  const bf_budget budget = {0, stop_after, &stops};
  const Decision d = decide(property, {-1}, {1}, difference, {.budget = &budget});
  EXPECT_EQ(d.result.verdict, BF_BUDGET);
  ASSERT_EQ(stops.seen.size(), 41U);
  EXPECT_EQ(stops.seen.front().boxes, 0U);
  EXPECT_EQ(stops.seen.back().boxes, d.search.boxes);
  EXPECT_GT(stops.seen.back().boxes, stops.seen[20].boxes);
}

TEST(BranchAndBound, AFullStackEndsIt) {
  const Tables property(1, {{{-1, -1}, {1, 1}, {{at_least(1e-6F)}}}});
  for (const std::size_t room : {2, 3, 5, 16}) {
    const Decision d = decide(property, {-1, -1}, {1, 1}, difference, {.batch = 4, .room = room});
    EXPECT_EQ(d.result.verdict, BF_BUDGET);
    EXPECT_EQ(d.search.most_open, room);
    EXPECT_EQ(d.search.open, room);
    EXPECT_GT(d.search.boxes, 0U);
  }
}

TEST(BranchAndBound, RefusesMemoryWithoutRoomForTwoBoxes) {
  const Tables property(1, {{{-1}, {1}, {{at_least(0.3F)}}}});
  const Decision d = decide(property, {-1}, {1}, difference, {.room = 1});
  EXPECT_EQ(d.status, BF_WORKSPACE_TOO_SMALL);
  EXPECT_TRUE(d.boxes.empty());
  EXPECT_EQ(d.result.property_case, 77U);
}

TEST(BranchAndBound, FailuresOfBoundsAreNoVerdicts) {
  const Tables property(1, {{{-1}, {1}, {{at_least(0.3F)}}}});
  for (int call = 0; call < 8; ++call) {
    const Decision d = decide(property, {-1}, {1}, difference, {.batch = 2, .fails_at = call});
    EXPECT_EQ(d.status, BF_FLOAT_ENVIRONMENT);
    EXPECT_EQ(d.result.property_case, 77U) << "written without BF_OK";
    EXPECT_EQ(d.counterexample[0], kCanary);
  }
}

TEST(BranchAndBound, CasesOneBehindTheOtherCoverABoxTogether) {
  const Row none = [](const float*, const float*, float* low, float* high) { *low = *high = 0; };
  const auto verdict = [&](const std::vector<Case>& cases, const Floats& lower,
                           const Floats& upper) {
    const Tables property(lower.size(), cases);
    return decide(property, lower, upper, none).result.verdict;
  };
  const std::vector<Case> row = {
      {{2}, {3}, {{at_least(1)}}}, {{0}, {1}, {{at_least(1)}}}, {{1}, {2}, {{at_least(1)}}}};
  EXPECT_EQ(verdict(row, {0}, {3}), BF_VERIFIED);
  EXPECT_EQ(verdict(row, {0.5F}, {2.5F}), BF_VERIFIED);
  EXPECT_EQ(verdict(row, {0.5F}, {3.5F}), BF_PARTLY_OUTSIDE);
  EXPECT_EQ(verdict(row, {3}, {4}), BF_PARTLY_OUTSIDE);
  EXPECT_EQ(verdict(row, {3.5F}, {4}), BF_OUTSIDE);
  EXPECT_EQ(verdict({row[0], row[1]}, {0}, {3}), BF_PARTLY_OUTSIDE) << "a gap";
  const Case corner = {{0, 0}, {1, 1}, {{at_least(1)}}};
  EXPECT_EQ(verdict({corner}, {0.5F, 0.5F}, {2, 2}), BF_PARTLY_OUTSIDE) << "a corner alone";
  EXPECT_EQ(verdict({corner}, {0.5F, 5}, {0.6F, 6}), BF_OUTSIDE);
}

TEST(BranchAndBound, SeveralCases) {
  std::vector<Case> cases;
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<float>(i);
    cases.push_back({{at}, {at + 0.5F}, {{at_least(0.1F)}}});
  }
  for (const std::size_t room : {5, 8, 64, 1000}) {
    const Tables property(1, cases);
    const Decision d = decide(property, {-5}, {50}, difference, {.batch = 16, .room = room});
    EXPECT_EQ(d.result.verdict, BF_PARTLY_OUTSIDE) << room;
    EXPECT_EQ(d.search.boxes, 40 * 15U);
    EXPECT_NEAR(d.search.proven, 1, 1e-4);
  }
  // A part of the caller's: the other cases say nothing.
  const Tables property(1, cases);
  EXPECT_EQ(decide(property, {3}, {4.5F}, difference).search.boxes, 30U);
  EXPECT_EQ(decide(property, {0.6F}, {0.9F}, difference).result.verdict, BF_OUTSIDE);
  EXPECT_EQ(decide(property, {3.1F}, {3.4F}, difference).result.verdict, BF_VERIFIED);
  EXPECT_EQ(decide(property, {0.6F}, {0.9F}, difference).search.boxes, 0U);

  cases[33].clauses = {{at_most(-9)}, {at_least(-1)}};
  const Tables violated(1, cases);
  const Decision d = decide(violated, {-5}, {50}, difference);
  ASSERT_EQ(d.result.verdict, BF_FALSIFIED)
      << d.search.boxes << " " << d.search.points << " " << d.search.open;
  EXPECT_EQ(d.result.property_case, 33U);
  EXPECT_EQ(d.result.clause, 1U);
  EXPECT_GE(d.counterexample[0], 33);
  EXPECT_LE(d.counterexample[0], 33.5F);
}

// A case that never ends does not keep others from being found violated.
TEST(BranchAndBound, CasesTakeTurns) {
  const Row row = [](const float* a, const float* b, float* low, float* high) {
    *low = *a < 1 ? -1 : 0;
    *high = *b < 1 ? 1 : std::fabs(*a - 9.5F) < 0.01F && *a == *b ? -1 : 1;
  };
  const Tables property(1, {{{0}, {1}, {{at_most(-0.5F)}}}, {{9}, {10}, {{at_most(0)}}}});
  const Decision d = decide(property, {0}, {10}, row);
  ASSERT_EQ(d.result.verdict, BF_FALSIFIED)
      << d.search.boxes << " " << d.search.points << " " << d.search.open;
  EXPECT_EQ(d.result.property_case, 1U);
}

// Two inputs, of which the first alone matters.
TEST(BranchAndBound, CoefficientsSayWhereToSplit) {
  const Tables property(1, {{{-1, -8}, {1, 8}, {{at_least(0.3F)}}}});
  const float coefficients[] = {1, 0}, weights[] = {0, 1};
  const Decision d = decide(property, {-1, -8}, {1, 8}, difference,
                            {.split_weights = weights, .coefficients = coefficients});
  EXPECT_EQ(d.result.verdict, BF_VERIFIED);
  EXPECT_EQ(d.search.boxes, 15U);
}

// ---- boxes that are clipped

// (x_0 - 0.3)^2 + (x_1 + 0.6)^2 by intervals from 0 up, and its tangent in the middle, which lies
// below it; -1e-6 pays for the roundings here. Of -row nothing is known.
constexpr double kAt[] = {0.3, -0.6};

double bowl_at(double x0, double x1) {
  return (x0 - kAt[0]) * (x0 - kAt[0]) + (x1 - kAt[1]) * (x1 - kAt[1]);
}

void tangent(const float* lower, const float* upper, float* lines) {
  double least = -1e-6, middle[2];
  for (std::size_t k = 0; k < 2; ++k) middle[k] = 0.5 * (static_cast<double>(lower[k]) + upper[k]);
  least += bowl_at(middle[0], middle[1]);
  for (std::size_t k = 0; k < 2; ++k) {
    lines[k] = static_cast<float>(2 * (middle[k] - kAt[k]));
    least -= std::fabs(static_cast<double>(lines[k])) * (upper[k] - middle[k]);
  }
  lines[2] = static_cast<float>(least);
  lines[3] = lines[4] = 0;
  lines[5] = -std::numeric_limits<float>::infinity();
}

void bowl(const float* lower, const float* upper, float* low, float* high) {
  float lines[6];
  tangent(lower, upper, lines);
  *low = lines[2];
  *high = std::numeric_limits<float>::infinity();
}

TEST(BranchAndBound, ClippedBoxesVerifyWithFewer) {
  const Tables property(1, {{{-1, -1}, {1, 1}, {{at_most(-0.0001F)}}}});
  const Decision with = decide(property, {-1, -1}, {1, 1}, bowl, {.lines = tangent});
  const Decision without = decide(property, {-1, -1}, {1, 1}, bowl);
  EXPECT_EQ(with.result.verdict, BF_VERIFIED);
  EXPECT_EQ(with.search.proven, 1);
  EXPECT_EQ(without.result.verdict, BF_VERIFIED);
  EXPECT_LT(2 * with.search.boxes, without.search.boxes);
}

// The row is at most 0.01 in a disc, of which every point must lie in a box that is still open:
// those that were bounded last, as nothing is ever excluded there.
TEST(BranchAndBound, ClippingLosesNoViolation) {
  constexpr float kMost = 0.01F;
  const Tables property(1, {{{-1, -1}, {1, 1}, {{at_most(kMost)}}}});
  for (const std::uint64_t most : {1, 2, 3, 9, 40, 300}) {
    const bf_budget budget = {most, nullptr, nullptr};
    const Decision d =
        decide(property, {-1, -1}, {1, 1}, bowl, {.batch = 1, .budget = &budget, .lines = tangent});
    ASSERT_EQ(d.result.verdict, BF_BUDGET) << most;
    EXPECT_LT(d.search.proven, 1);
  }
  // In depth: a box that was bounded has all of the disc that its parent had on that side.
  const bf_budget budget = {300, nullptr, nullptr};
  const Decision d =
      decide(property, {-1, -1}, {1, 1}, bowl, {.batch = 64, .budget = &budget, .lines = tangent});
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const double angle = std::uniform_real_distribution<double>(0, 6.2831853)(random);
    const double r = 0.0999 * std::uniform_real_distribution<double>(0.9, 1)(random);
    const double x[] = {kAt[0] + r * std::cos(angle), kAt[1] + r * std::sin(angle)};
    std::size_t around = 0;
    for (const Floats& box : d.boxes)
      around += box[0] <= x[0] && x[0] <= box[2] && box[1] <= x[1] && x[1] <= box[3] ? 1 : 0;
    EXPECT_GE(around, 4U) << "boxes in breadth around " << x[0] << ", " << x[1];
  }
}

TEST(BranchAndBound, ABoxOfWhichNothingIsLeftIsClosed) {
  const Tables property(2, {{{0}, {8}, {{{0, false, 2}, {1, true, 6}}}}});
  // Rows x and x, whose lines are exact.
  const Row both = [](const float* a, const float* b, float* low, float* high) {
    low[0] = low[1] = *a;
    high[0] = high[1] = *b;
  };
  const Lines exact = [](const float* a, const float* b, float* lines) {
    for (std::size_t row = 0; row < 2; ++row) {
      float* const to = lines + 4 * row;
      to[0] = 1, to[1] = *a, to[2] = -1, to[3] = -*b;
    }
  };
  const Decision d = decide(property, {0}, {8}, both, {.lines = exact});
  EXPECT_EQ(d.result.verdict, BF_VERIFIED);
  EXPECT_EQ(d.search.boxes, 1U);
  EXPECT_EQ(d.search.proven, 1);
}

// Lines leave the least input and the float beyond it, where bounds of smaller boxes show that
// nothing is violated. Floats are 2 apart there, and a limit is less than that beyond its
// threshold.
TEST(BranchAndBound, WhatIsLeftWithoutAFloatInsideIsSplitAsItWas) {
  constexpr float kLeast = 0x1p24F;
  const Tables property(1, {{{kLeast}, {kLeast + 16}, {{at_most(1)}}}});
  const Row row = [](const float* a, const float* b, float* low, float* high) {
    *low = *b - *a > 4 ? 1.0F : 1.5F;
    *high = 9;
  };
  const Lines lines = [](const float* a, const float* b, float* to) {
    to[0] = 1, to[1] = *b - *a > 4 ? 1.0F : 1.5F, to[2] = -1, to[3] = -9;
  };
  const Decision d = decide(property, {kLeast}, {kLeast + 16}, row, {.lines = lines});
  EXPECT_EQ(d.result.verdict, BF_VERIFIED);
  EXPECT_EQ(d.search.boxes, 7U);
}

TEST(BranchAndBound, TheSameOnEveryRun) {
  const Tables property(1, {{{-1, -1}, {1, 1}, {{at_most(0.0005F)}}}});
  const Decision a = decide(property, {-1, -1}, {1, 1}, distance(0.7F, 2));
  const Decision b = decide(property, {-1, -1}, {1, 1}, distance(0.7F, 2));
  EXPECT_EQ(a.boxes, b.boxes);
  EXPECT_EQ(a.counterexample, b.counterexample);
  EXPECT_EQ(a.search.points, b.search.points);
}

// ---- where a box is split

std::pair<std::size_t, float> split(const Floats& lower, const Floats& upper,
                                    const float* weights = nullptr,
                                    const float* coefficients = nullptr) {
  std::size_t input = 99;
  float middle = 0;
  if (!choose_split(lower.size(), coefficients, weights, lower.data(), upper.data(), &input,
                    &middle))
    return {99, 0.0F};
  return {input, middle};
}

TEST(Split, TheLargestProductOfWidthAndWeight) {
  EXPECT_EQ(split({0, 0}, {1, 2}), std::pair(std::size_t{1}, 1.0F));
  const float weights[] = {1, 0.25F};
  EXPECT_EQ(split({0, 0}, {1, 2}, weights), std::pair(std::size_t{0}, 0.5F));
}

TEST(Split, TheShareOfTheLinesAndThatOfTheWeights) {
  const float first[] = {1, 0}, second[] = {0, 1}, mixed[] = {0.75F, 0.25F}, wide[] = {1, 4};
  EXPECT_EQ(split({0, 0}, {1, 1}, mixed, second).first, 1U) << "3/4 and 1/4 + 1";
  EXPECT_EQ(split({0, 0}, {1, 1}, first, mixed).first, 0U) << "1 + 3/4 and 1/4";
  const float one[] = {1, 1};
  EXPECT_EQ(split({0, 0}, {1, 0.125F}, one, wide).first, 0U);
  EXPECT_EQ(split({0, 0}, {1, 0.5F}, nullptr, wide).first, 1U);
  // The scale of neither matters.
  const float huge[] = {1e30F, 2e30F};
  EXPECT_EQ(split({0, 0}, {1, 1}, huge, first).first, 0U);
}

TEST(Split, CoefficientsThatAreNoNumbersDoNotCount) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float second[] = {0, 1}, zeros[] = {0, 0};
  for (const float bad : {kNan, kInfinity, FLT_MAX}) {
    const float coefficients[] = {bad, bad};
    EXPECT_EQ(split({0, 0}, {4, 4}, second, coefficients).first, 1U);
    EXPECT_EQ(split({0, 0}, {4, 5}, coefficients, coefficients).first, 1U);
  }
  EXPECT_EQ(split({0, 0}, {4, 5}, zeros, zeros).first, 1U);
}

// A clause is out when one of its rows is: the closest counts, of each clause that is not out.
TEST(Split, TheRowsThatDecide) {
  const VerdictTerm a = {0, false, 0}, b = {1, false, 0}, c = {2, true, 10};
  const Tables property(3, {{{0}, {1}, {{a, b}, {c}, {a}}}});
  // Of rows 0, 1 and 2: inputs 0, 1 and 2; the scale of a row does not matter.
  Floats lines(3 * lines_of_row(3), 0.0F);
  for (std::size_t row = 0; row < 3; ++row) {
    lines[row * lines_of_row(3) + row] = -std::ldexp(1.0F, static_cast<int>(9 * row));
    lines[row * lines_of_row(3) + 4 + row] = std::ldexp(3.0F, static_cast<int>(9 * row));
  }
  const Floats zeros(3, 0.0F), ones(3, 2.0F);
  const auto weights = [&](const Floats& lower, const Floats& upper) {
    Floats one(3), made(3, kCanary);
    weigh_lines(property.tables, 0, 3, {lower.data(), upper.data(), lines.data()}, 3,
                {zeros.data(), ones.data()}, one.data(), made.data());
    return made;
  };
  EXPECT_EQ(weights({-3, -2, 0}, {1, 1, 9}), Floats({1, 1, 0})) << "{c} is excluded";
  EXPECT_EQ(weights({-3, -4, 0}, {1, 1, 15}), Floats({2, 0, 1})) << "a of both clauses, and c";
  EXPECT_EQ(weights({1, -2, 0}, {2, 1, 9}), zeros) << "all are excluded";
  lines[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(weights({-3, -2, 0}, {1, 1, 9}), Floats({0, 1, 0})) << "nothing is known of a";
}

TEST(Split, InputsWithoutAFloatBetweenAreLeft) {
  const float next = std::nextafterf(1, 2);
  const float weights[] = {1, 0};
  EXPECT_EQ(split({1, 0}, {next, 2}, weights), std::pair(std::size_t{1}, 1.0F));
  EXPECT_EQ(split({1, 3}, {next, 3}).first, 99U);
  EXPECT_EQ(split({0}, {FLT_TRUE_MIN}).first, 99U);
}

TEST(Split, TheWholeRangeOfFloats) {
  EXPECT_EQ(split({-FLT_MAX}, {FLT_MAX}), std::pair(std::size_t{0}, 0.0F));
  const auto [input, middle] = split({-3 * FLT_TRUE_MIN}, {FLT_TRUE_MIN});
  EXPECT_EQ(input, 0U);
  EXPECT_GT(middle, -3 * FLT_TRUE_MIN);
  EXPECT_LT(middle, FLT_TRUE_MIN);
  const float weights[] = {1};
  EXPECT_EQ(split({FLT_MAX / 2}, {FLT_MAX}, weights).first, 0U);
}

}  // namespace
}  // namespace bf
