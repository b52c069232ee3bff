#include "bf/search/verdict.h"
#include "c_support.h"

C_ROUTINE(verify_property);

namespace bf_test {
namespace {

// Rows of two inputs with small integers as coefficients, each bounded with a slack.
struct Forms {
  std::vector<int> coefficients;
  float slack;
};

bf_status bound(const float* lower, const float* upper, float* low, float* high, void* data,
                std::size_t inputs) {
  const Forms& forms = *static_cast<const Forms*>(data);
  for (std::size_t r = 0; r * inputs < forms.coefficients.size(); ++r) {
    low[r] = -forms.slack;
    high[r] = forms.slack;
    for (std::size_t i = 0; i < inputs; ++i) {
      const float c = static_cast<float>(forms.coefficients[r * inputs + i]);
      low[r] += c * (c > 0 ? lower[i] : upper[i]);
      high[r] += c * (c > 0 ? upper[i] : lower[i]);
    }
  }
  return lower[0] > 6 ? BF_FLOAT_ENVIRONMENT : BF_OK;
}

// A property of random cases, clauses and terms.
struct Property {
  int inputs, rows, cases;
  Floats lower, upper;
  std::vector<unsigned char> inside;
  std::vector<std::uint32_t> case_clauses = {0}, clause_terms = {0};
  std::vector<bf::VerdictTerm> terms;
  std::vector<declared::bf_verdict_term> c_terms;

  explicit Property(Edges& edges)
      : inputs(edges.between(1, 6)), rows(edges.between(1, 3)), cases(edges.between(1, 3)) {
    for (int i = 0; i < inputs * cases; ++i) {
      lower.push_back(static_cast<float>(edges.between(-4, 1)));
      upper.push_back(lower.back() + static_cast<float>(edges.below(6)));
      inside.push_back(static_cast<unsigned char>(edges.below(4)));
    }
    for (int c = 0; c < cases; ++c) {
      for (int clause = edges.between(0, 2); clause > 0; --clause) {
        for (int term = edges.between(1, 2); term > 0; --term) {
          const std::int32_t row = edges.below(rows);
          const bool at_least = edges.below(2) == 0;
          const auto threshold = static_cast<float>(edges.between(-9, 9));
          terms.push_back({row, at_least, threshold});
          c_terms.push_back({row, at_least, threshold});
        }
        clause_terms.push_back(static_cast<std::uint32_t>(terms.size()));
      }
      case_clauses.push_back(static_cast<std::uint32_t>(clause_terms.size()) - 1);
    }
  }
};

TEST(CVerdict, OfProperties) {
  std::vector<int> seen(6, 0);
  for_seeds(
      [&](Edges& edges) {
        const Property p(edges);
        const bf::PropertyTables tables = {p.inputs,
                                           p.rows,
                                           p.cases,
                                           p.lower.data(),
                                           p.upper.data(),
                                           p.inside.data(),
                                           p.case_clauses.data(),
                                           p.clause_terms.data(),
                                           p.terms.data()};
        const declared::bf_property_tables c_tables = {p.inputs,
                                                       p.rows,
                                                       p.cases,
                                                       p.lower.data(),
                                                       p.upper.data(),
                                                       p.inside.data(),
                                                       p.case_clauses.data(),
                                                       p.clause_terms.data(),
                                                       p.c_terms.data()};
        Forms forms = {{}, static_cast<float>(edges.below(3)) / 4};
        for (int i = 0; i < p.rows * p.inputs; ++i)
          forms.coefficients.push_back(edges.between(-2, 2));
        Floats lower, upper;
        for (int i = 0; i < p.inputs; ++i) {
          const std::size_t at = size(edges.below(p.cases) * p.inputs + i);
          lower.push_back(p.lower[at] + static_cast<float>(edges.between(-1, 2)) / 2);
          upper.push_back(lower.back() + static_cast<float>(edges.below(4)));
        }
        Floats scratch(size(3 * p.inputs + 2 * p.rows)), c_scratch(scratch);
        Floats point(size(p.inputs), -1), c_point(point);
        bf_result result = {BF_UNKNOWN, 7, 7, point.data()};
        bf_result c_result = {BF_UNKNOWN, 7, 7, c_point.data()};
        const auto inputs = size(p.inputs);
        const auto bounds = [&](const float* low, const float* high, float* row_low,
                                float* row_high) {
          return bound(low, high, row_low, row_high, &forms, inputs);
        };
        const bf_status status = bf::verify_property(tables, lower.data(), upper.data(), &result,
                                                     scratch.data(), bounds);
        EXPECT_EQ(c_verify_property(&c_tables, lower.data(), upper.data(), &c_result,
                                    c_scratch.data(), &bound, &forms, inputs),
                  status);
        EXPECT_EQ(c_result.verdict, result.verdict);
        EXPECT_EQ(c_result.property_case, result.property_case);
        EXPECT_EQ(c_result.clause, result.clause);
        EXPECT_TRUE(same_bits(c_point, point));
        ++seen[static_cast<std::size_t>(result.verdict)];
      },
      2000);
  for (const bf_verdict verdict :
       {BF_UNKNOWN, BF_VERIFIED, BF_FALSIFIED, BF_OUTSIDE, BF_PARTLY_OUTSIDE})
    EXPECT_GT(seen[static_cast<std::size_t>(verdict)], 10) << verdict;
}

}  // namespace
}  // namespace bf_test
