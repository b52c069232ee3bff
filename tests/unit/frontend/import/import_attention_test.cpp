// Attention and rotary embeddings on numbers that can be checked by hand, and masks of -inf.

#include <cmath>
#include <limits>

#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;

constexpr int kBool = 9, kInt64 = 7;
constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Scores 0 and 1.098612 (ln 3): shares 0.25 and 0.75 of the values 4 and 8, one head of one
// feature.
constexpr double kLog3 = 1.098612;

OperatorCase attention(int opset = 23) {
  return OperatorCase("Attention", opset);
}

OperatorCase two_keys(int opset = 23) {
  return attention(opset)
      .input({1, 1, 1, 1}, {1})
      .input({1, 1, 2, 1}, {0, kLog3})
      .input({1, 1, 2, 1}, {4, 8});
}

// Two queries, whose scores of both keys are 0: shares of a half each.
OperatorCase two_queries(int opset = 23) {
  return attention(opset)
      .input({1, 1, 2, 1}, {0, 0})
      .input({1, 1, 2, 1}, {1, 2})
      .input({1, 1, 2, 1}, {4, 8});
}

TEST(ImportAttention, SharesValuesByScores) {
  two_keys().expect({1, 1, 1, 1}, {7}, 1e-5);
  two_keys().output(1).expect({1, 1, 2, 1}, {0, kLog3}, 1e-5);
  two_keys().output(2).expect({1, 1, 2, 1}, {4, 8});
}

// 1 / sqrt(3) of 3 features, whose product is 3; 'scale' instead of it.
TEST(ImportAttention, Scales) {
  const auto wide = [] {
    return attention()
        .input({1, 1, 1, 3}, {1, 1, 1})
        .input({1, 1, 2, 3}, {0, 0, 0, 1, 1, 1})
        .input({1, 1, 2, 1}, {0, 1});
  };
  wide().output(3).expect({1, 1, 1, 2}, {0, std::sqrt(3)}, 1e-14);
  wide().real("scale", 0.5).output(3).expect({1, 1, 1, 2}, {0, 1.5});
}

TEST(ImportAttention, CapsScores) {
  const double capped = 0.5 * std::tanh(kLog3 / 0.5);
  two_keys().real("softcap", 0.5).output(3).expect({1, 1, 1, 2}, {0, kLog3}, 1e-5);
  const auto mode = [](int number) {
    return two_keys()
        .real("softcap", 0.5)
        .constant({2}, {0.25, 0.5})
        .number("qk_matmul_output_mode", number);
  };
  mode(1).output(3).expect({1, 1, 1, 2}, {0, capped}, 1e-5);
  mode(2).output(3).expect({1, 1, 1, 2}, {0.25, capped + 0.5}, 1e-5);
  const double share = 1 / (1 + std::exp(0.25 - capped - 0.5));
  mode(3).output(3).expect({1, 1, 1, 2}, {1 - share, share}, 1e-5);
  mode(4).output(3).expect_refused("BF1012");
  two_keys().real("softcap", -1).expect_refused("BF1012");
}

// Tensors of heads side by side: two of queries share one of keys.
TEST(ImportAttention, HeadsShareKeys) {
  const auto flat = [] {
    return attention()
        .input({1, 1, 2}, {1, -1})
        .input({1, 2, 1}, {0, kLog3})
        .input({1, 2, 1}, {4, 8});
  };
  flat().number("q_num_heads", 2).number("kv_num_heads", 1).expect({1, 1, 2}, {7, 5}, 1e-5);
  flat().number("q_num_heads", 2).expect_refused("BF1012");
  flat().number("q_num_heads", 3).number("kv_num_heads", 1).expect_refused("BF1012");
  two_keys().number("q_num_heads", 2).expect_refused("BF1012");
}

TEST(ImportAttention, MasksKeys) {
  const Shape each = {1, 1, 2, 1};
  two_queries().expect(each, {6, 6});
  two_queries().number("is_causal", 1).expect(each, {4, 6});
  two_queries().constant({2, 2}, {1, 0, 0, 1}, kBool).expect(each, {4, 8});
  two_queries().constant({2, 2}, {0, kHidden, kHidden, 0}).expect(each, {4, 8});
  two_queries().constant({1, 2}, {0, kLog3}).expect(each, {7, 7}, 1e-5);
  two_queries().input({1, 2}, {0, kLog3}).expect(each, {7, 7}, 1e-5);
  // A query that attends to nothing.
  two_queries().constant({2, 2}, {0, 0, 1, 1}, kBool).expect(each, {0, 6});
  two_queries().constant({2}, {0, 0}, kBool).expect(each, {0, 0});
  // Keys behind the mask's last one.
  attention()
      .input({1, 1, 1, 1}, {0})
      .input({1, 1, 3, 1}, {1, 2, 3})
      .input({1, 1, 3, 1}, {4, 8, 100})
      .constant({1, 2}, {0, 0})
      .expect({1, 1, 1, 1}, {6});
  two_queries().constant({2, 1}, {0, 0}).expect_refused("BF1026");
  two_queries().constant({3, 2}, {0, 0, 0, 0, 0, 0}).expect_refused("BF1014");
  two_queries().input({2, 2}, {1, 1, 1, 1}, kBool).expect_refused("BF1018");
}

TEST(ImportAttention, MasksByPosition) {
  const Shape each = {1, 1, 2, 1};
  // A past of one key: the first query sees it and the first of its own.
  const auto with_past = [] {
    return two_queries().left_out().input({1, 1, 1, 1}, {0}).input({1, 1, 1, 1}, {3});
  };
  with_past().expect(each, {5, 5});
  with_past().number("is_causal", 1).expect(each, {3.5, 5});
  with_past().output(2).expect({1, 1, 3, 1}, {3, 4, 8});
  two_queries().left_out().input({1, 1, 1, 1}, {0}).expect_refused("BF1011");
  two_queries()
      .left_out()
      .input({1, 1, 1, 2}, {0, 0})
      .input({1, 1, 1, 1}, {3})
      .expect_refused("BF1014");
  const auto first_only = [](int opset) {
    return two_queries(opset).left_out().left_out().left_out().constant({1}, {1}, kInt64);
  };
  first_only(24).expect(each, {4, 4});
  first_only(24).number("is_causal", 1).expect(each, {0, 4});  // queries at -1 and 0
  first_only(23).expect_refused("BF1011");
  two_queries(24)
      .left_out()
      .left_out()
      .left_out()
      .constant({1}, {3}, kInt64)
      .expect_refused("BF1014");
  two_queries(25).number("left_window_size", 0).expect(each, {6, 8});
  two_queries(25).number("right_window_size", 0).expect(each, {4, 6});
  two_queries(25).number("right_window_size", -2).expect_refused("BF1012");
  two_queries(24).number("left_window_size", 0).expect_refused("BF1012");
}

TEST(ImportAttention, NeedsTensorsThatFit) {
  attention()
      .input({1, 1, 1, 1}, {1})
      .input({1, 1, 2, 2}, {0, 0, 0, 0})
      .input({1, 1, 2, 1}, {4, 8})
      .expect_refused("BF1014");
  attention().input({1, 1}, {1}).input({1, 1}, {1}).input({1, 1}, {1}).expect_refused("BF1014");
  two_keys().number("softmax_precision", kInt64).expect_refused("BF1012");
  two_keys().number("softmax_precision", 10).expect({1, 1, 1, 1}, {7}, 1e-5);
}

// (x_a, x_b) by cos 0.6 and sin 0.8, and by cos 0 and sin 1.
TEST(ImportRotaryEmbedding, TurnsPairs) {
  const auto turned = [] {
    return OperatorCase("RotaryEmbedding", 23)
        .input({1, 1, 1, 4}, {1, 2, 3, 4})
        .constant({1, 1, 2}, {0.6, 0})
        .constant({1, 1, 2}, {0.8, 1});
  };
  turned().expect({1, 1, 1, 4}, {0.6 - 2.4, -4, 0.8 + 1.8, 2}, 1e-6);
  turned().number("interleaved", 1).expect({1, 1, 1, 4}, {0.6 - 1.6, 0.8 + 1.2, -4, 3}, 1e-6);
}

TEST(ImportRotaryEmbedding, TakesAnglesByPosition) {
  const auto by_position = [](double position) {
    return OperatorCase("RotaryEmbedding", 23)
        .input({1, 1, 6}, {1, 2, 9, 3, 4, 7})
        .constant({2, 1}, {1, 0})
        .constant({2, 1}, {0, 1})
        .constant({1, 1}, {position}, kInt64)
        .number("num_heads", 2)
        .number("rotary_embedding_dim", 2);
  };
  by_position(0).expect({1, 1, 6}, {1, 2, 9, 3, 4, 7});
  by_position(1).expect({1, 1, 6}, {-2, 1, 9, -4, 3, 7});
  by_position(2).expect_refused("BF1014");
  by_position(-1).expect_refused("BF1014");
}

TEST(ImportRotaryEmbedding, NeedsTensorsThatFit) {
  const auto of = [](const Shape& x, const Shape& angles) {
    return OperatorCase("RotaryEmbedding", 23)
        .input(x, std::vector<double>(static_cast<std::size_t>(element_count(x)), 1))
        .constant(angles, std::vector<double>(static_cast<std::size_t>(element_count(angles)), 1))
        .constant(angles, std::vector<double>(static_cast<std::size_t>(element_count(angles)), 1));
  };
  of({1, 1, 1, 3}, {1, 1, 1}).expect_refused("BF1012");
  of({1, 1, 1, 4}, {1, 1, 1}).expect_refused("BF1014");
  of({1, 1, 4}, {1, 1, 2}).expect_refused("BF1012");
  of({1, 1, 1, 4}, {1, 1, 2}).number("rotary_embedding_dim", 6).expect_refused("BF1012");
}

// What is -inf stays so behind LogSoftmax, and nothing but a mask may read it.
TEST(ImportMasks, OfLogSoftmax) {
  const auto masked = [](const std::string& then) {
    return "ir_version: 8 opset_import { version: 17 } graph { name: \"g\" "
           "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } "
           "} } initializer { name: \"mask\" data_type: 1 dims: 3 float_data: 0 float_data: -inf "
           "float_data: 0 } initializer { name: \"chosen\" data_type: 7 dims: 2 int64_data: 0 "
           "int64_data: 2 } node { op_type: \"Add\" input: \"x\" input: \"mask\" output: \"m\" } "
           "node { op_type: \"LogSoftmax\" name: \"n\" input: \"m\" output: \"l\" } " +
           then + " output { name: \"y\" } }";
  };
  const Graph graph =
      import_model_bytes(test::encode_model(masked("node { op_type: \"Gather\" input: \"l\" input: "
                                                   "\"chosen\" output: \"y\" }")),
                         "m", {})
          .graph;
  const std::vector<double> y = evaluate(graph, {{0, 50, kLog3}})[0];
  ASSERT_EQ(y.size(), 2U);
  EXPECT_NEAR(y[0], std::log(0.25), 1e-5);
  EXPECT_NEAR(y[1], std::log(0.75), 1e-5);
  try {
    import_model_bytes(
        test::encode_model(masked("node { op_type: \"Exp\" input: \"l\" output: \"y\" }")), "m",
        {});
    ADD_FAILURE() << "imported";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "BF1023");
  }
}

}  // namespace
}  // namespace bf_aot
