#include "frontend/passes/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "frontend/evaluate/evaluate.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot {
namespace {

using namespace bf_aot::testing;  // the builder

// ---- Evaluation, against numbers worked out by hand.

TEST(Evaluate, MatMulBroadcastsBatches) {
  Builder b({2, 1, 2});
  const ValueId w = b.literal(constant({2, 2, 1}, {1, 2, 3, 4}));
  Graph graph = b.outputs({b.add(MatMul{}, {b.x(), w}, {2, 1, 1})});
  EXPECT_EQ(evaluate(graph, {{1, 10, 100, 1000}}), (Tensors{{21, 4300}}));

  Builder one({2, 2});
  const ValueId batched = one.literal(constant({2, 1, 2}, {1, 2, 3, 4}));
  graph = one.outputs({one.add(MatMul{}, {batched, one.x()}, {2, 1, 2})});
  EXPECT_EQ(evaluate(graph, {{1, 10, 100, 1000}}), (Tensors{{201, 2010, 403, 4030}}));
}

TEST(Evaluate, MatMulTakesVectors) {
  Builder b({2});
  const ValueId w = b.literal(constant({2, 2}, {1, 2, 3, 4}));
  const ValueId left = b.add(MatMul{}, {b.x(), w}, {2});
  const ValueId right = b.add(MatMul{}, {w, b.x()}, {2});
  const ValueId v = b.literal(constant({2}, {5, 6}));
  const ValueId dot = b.add(MatMul{}, {v, b.x()}, {});
  Graph graph = b.outputs({left, right, dot});
  EXPECT_EQ(evaluate(graph, {{1, 10}}), (Tensors{{31, 42}, {21, 43}, {65}}));
}

TEST(Evaluate, GemmTransposes) {
  Builder b({2, 1});
  const ValueId w = b.literal(constant({3, 2}, {1, 2, 3, 4, 5, 6}));
  const ValueId c = b.literal(constant({1, 3}, {1, 2, 3}));
  Graph graph = b.outputs({b.add(Gemm{2, -1, true, true}, {b.x(), w, c}, {1, 3})});
  EXPECT_EQ(evaluate(graph, {{1, 10}}), (Tensors{{41, 84, 127}}));
}

TEST(Evaluate, BinaryBroadcastsBothOperands) {
  Builder b({2, 1});
  const ValueId c = b.literal(constant({3}, {1, 2, 4}));
  const ValueId difference = b.add(Binary{Binary::Kind::kSub}, {c, b.x()}, {2, 3});
  const ValueId quotient = b.add(Binary{Binary::Kind::kDiv}, {b.x(), c}, {2, 3});
  Graph graph = b.outputs({difference, quotient});
  EXPECT_EQ(evaluate(graph, {{8, 16}}),
            (Tensors{{-7, -6, -4, -15, -14, -12}, {8, 4, 2, 16, 8, 4}}));
}

// ---- The table.

TEST(Pipeline, RunsInOrderAndSkipsByName) {
  Builder b({2});
  const Graph original = b.outputs({b.relu(b.x())});
  std::vector<std::string> ran;
  PassOptions options;
  options.after_pass = [&](std::string_view pass, const Graph&, double seconds) {
    EXPECT_GE(seconds, 0);
    ran.emplace_back(pass);
  };
  Graph graph = original;
  normalise(graph, options);
  std::vector<std::string> table;
  for (const Pass& pass : normalisation_passes())
    if (pass.traits.of != PassTraits::Of::kFloat32 && pass.traits.of != PassTraits::Of::kOwn)
      table.emplace_back(pass.name);
  EXPECT_EQ(ran, table);

  ran.clear();
  options.float32 = Float32Semantics();
  graph = original;
  normalise(graph, options);
  std::vector<std::string> of_float32;
  for (const Pass& pass : normalisation_passes())
    if (pass.traits.of != PassTraits::Of::kReal && pass.traits.of != PassTraits::Of::kOwn)
      of_float32.emplace_back(pass.name);
  EXPECT_EQ(ran, of_float32);

  ran.clear();
  options.float32.reset();
  options.disabled = {"merge-affine"};
  graph = original;
  normalise(graph, options);
  std::erase(table, "merge-affine");
  EXPECT_EQ(ran, table);
}

TEST(Pipeline, RefusesUnknownNames) {
  std::ostringstream out;
  const std::set<std::string> unknown = {"BF2001"};
  EXPECT_EQ(codes([&] { static_cast<void>(dump_after("all-of-them", out)); }), unknown);
  EXPECT_EQ(codes([&] { static_cast<void>(dump_after("all", out)); }), std::set<std::string>{});
  Builder b({2});
  Graph graph = b.outputs({b.relu(b.x())});
  PassOptions options;
  options.disabled = {"merge_affine"};
  EXPECT_EQ(codes([&] { normalise(graph, options); }), unknown);
}

TEST(Pipeline, ADisabledPassIsReportedOrHarmless) {
  for (const Pass& pass : normalisation_passes()) {
    Builder b({1, 2});
    const ValueId w = b.literal(constant({2, 2}, {1, 2, 3, 4}));
    const ValueId t = b.map(b.relu(b.x()), {1, 0});
    const ValueId h = b.add(MatMul{}, {b.add(IndexMap{{0, 1}}, {t}, {1, 2}), w}, {1, 2});
    Graph graph = b.outputs({h});
    const Tensors expected = evaluate(graph, {{5, 7}});
    PassOptions options;
    options.disabled = {std::string(pass.name)};
    const std::set<std::string> found = codes([&] { normalise(graph, options); });
    std::set<std::string> expected_codes;
    if (!pass.traits.optional) expected_codes = {"BF2104"};
    if (pass.name == "lower-affine") expected_codes = {"BF2006"};
    EXPECT_EQ(found, expected_codes) << pass.name;
    EXPECT_EQ(evaluate(graph, {{5, 7}}), expected) << pass.name;
  }
}

TEST(Pipeline, ListsEachPassWithASummary) {
  const std::string text = list_passes();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            normalisation_passes().size());
  EXPECT_NE(text.find("fold-output-spec        fold the linear specification"), std::string::npos);
}

}  // namespace
}  // namespace bf_aot
