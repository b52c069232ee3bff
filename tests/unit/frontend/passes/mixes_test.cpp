// Outputs that are mixes of two tensors, found in graphs as they are imported.

#include "frontend/passes/specification/mixes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/evaluate/evaluate.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using testing::Builder;

constexpr std::int64_t kMixed = 3;

enum class MixForm { kShares, kScaled, kMoved, kSwapped, kTwoShares, kNoShare, kOtherBase };

// A mix of y = x^2 and x by the share of sigmoid(x), and its elements in reverse order.
Graph mixed_network(MixForm form) {
  Builder b({kMixed});
  const auto binary = [&](Binary::Kind kind, ValueId left, ValueId right) {
    return b.add(Binary{kind}, {left, right}, {kMixed});
  };
  const FunctionKind function =
      form == MixForm::kNoShare ? FunctionKind::kTanh : FunctionKind::kSigmoid;
  const ValueId z = b.add(Unary{{function}}, {b.x()}, {kMixed});
  const ValueId y = b.add(Unary{{FunctionKind::kPower, 2}}, {b.x()}, {kMixed});
  ValueId mix{};
  if (form == MixForm::kMoved || form == MixForm::kOtherBase) {
    const ValueId d = binary(Binary::Kind::kSub, y, b.x());
    mix = binary(Binary::Kind::kAdd, binary(Binary::Kind::kMul, d, z),
                 form == MixForm::kMoved ? b.x() : y);
  } else {
    const ValueId one = b.add(Literal{{{kMixed}, {1, 1, 1}, {}}}, {}, {kMixed});
    ValueId rest = binary(Binary::Kind::kSub, one, z);
    if (form == MixForm::kScaled)
      rest = b.add(Scale{{{kMixed}, {-1, -1, -1}, {}}, {{kMixed}, {1, 1, 1}, {}}}, {z}, {kMixed});
    if (form == MixForm::kTwoShares) rest = binary(Binary::Kind::kSub, one, y);
    const ValueId p = binary(Binary::Kind::kMul, z, y);
    const ValueId q = binary(Binary::Kind::kMul, b.x(), rest);
    mix = form == MixForm::kSwapped ? binary(Binary::Kind::kAdd, q, p)
                                    : binary(Binary::Kind::kAdd, p, q);
  }
  return b.outputs({z, b.add(IndexMap{{2, 1, 0}}, {mix}, {kMixed})});
}

TEST(Mixes, AreFound) {
  for (const MixForm form :
       {MixForm::kShares, MixForm::kScaled, MixForm::kMoved, MixForm::kSwapped}) {
    SCOPED_TRACE(static_cast<int>(form));
    const MixedOutputs made = with_mixes(mixed_network(form));
    ASSERT_EQ(made.mixes.size(), 1U);
    const MixedOutputs::Mix& mix = made.mixes[0];
    EXPECT_EQ(mix.output, 3U);
    EXPECT_EQ(mix.count, 3U);
    for (const double first : {-3.0, -0.5, 0.25, 7.0}) {
      std::vector<double> y;
      for (const auto& tensor : evaluate(made.graph, {{first, 0.5, -first / 2}}))
        y.insert(y.end(), tensor.begin(), tensor.end());
      for (std::size_t i = 0; i < mix.count; ++i) {
        const double a = y[mix.first + i], b = y[mix.second + i];
        EXPECT_GE(y[mix.output + i], std::min(a, b) - 1e-12);
        EXPECT_LE(y[mix.output + i], std::max(a, b) + 1e-12);
      }
    }
    // x is one of both, in reverse order.
    ASSERT_EQ(made.copies.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made.copies[i].input, 2 - i);
  }
}

TEST(Mixes, AreNoOthers) {
  for (const MixForm form : {MixForm::kTwoShares, MixForm::kNoShare, MixForm::kOtherBase}) {
    SCOPED_TRACE(static_cast<int>(form));
    const Graph graph = mixed_network(form);
    const MixedOutputs made = with_mixes(graph);
    EXPECT_TRUE(made.mixes.empty());
    EXPECT_EQ(made.graph, graph);
  }
}

}  // namespace
}  // namespace bf_aot
