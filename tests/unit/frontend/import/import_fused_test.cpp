// Operators that ONNX Runtime's optimiser writes, beside the nodes that they stand for. The walk of
// tests/schemas compares them with ONNX Runtime.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"
#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;

Graph import_text(const std::string& body,
                  const std::string& domains = R"(opset_import { version: 18 }
    opset_import { domain: "com.microsoft" version: 1 })") {
  return import_model_bytes(
             test::encode_model("ir_version: 8 " + domains + " graph { name: \"g\"\n" + body +
                                "\noutput { name: \"y\" } }"),
             "m", {})
      .graph;
}

std::string dims(const Shape& shape, const std::string& before, const std::string& behind) {
  std::string text;
  for (const std::int64_t dim : shape) text += before + std::to_string(dim) + behind;
  return text;
}

std::string input(const std::string& name, const Shape& shape) {
  return "input { name: \"" + name + "\" type { tensor_type { elem_type: 1 shape { " +
         dims(shape, "dim { dim_value: ", " } ") + "} } } }\n";
}

std::string tensor(const std::string& name, const Shape& shape) {
  std::mt19937 random(static_cast<unsigned>(name[0]));
  std::string text =
      "initializer { name: \"" + name + "\" data_type: 1 " + dims(shape, "dims: ", " ");
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    text += " float_data: " + std::to_string(static_cast<int>(random() % 33) / 8.0 - 2);
  return text + " }\n";
}

// "x w -> y", with attributes as in protobuf's text.
std::string node(const std::string& type, const std::string& edges,
                 const std::string& attributes = "", const std::string& domain = "") {
  std::string text = "node { op_type: \"" + type + "\" domain: \"" + domain + "\" ";
  std::string kind = "input", word;
  for (const char c : edges + " ") {
    if (c != ' ') {
      word += c;
    } else if (word == "->") {
      kind = "output";
      word.clear();
    } else {
      text += kind + ": \"" + (word == "-" ? "" : word) + "\" ";
      word.clear();
    }
  }
  return text + attributes + " }\n";
}

std::string fused(const std::string& type, const std::string& edges,
                  const std::string& attributes = "") {
  return node(type, edges, attributes, "com.microsoft");
}

std::string number(const std::string& name, int value) {
  return "attribute { name: \"" + name + "\" type: INT i: " + std::to_string(value) + " } ";
}
std::string real(const std::string& name, double value) {
  return "attribute { name: \"" + name + "\" type: FLOAT f: " + std::to_string(value) + " } ";
}
std::string reals(const std::string& name, const std::vector<double>& values) {
  std::string text = "attribute { name: \"" + name + "\" type: FLOATS";
  for (const double each : values) text += " floats: " + std::to_string(each);
  return text + " } ";
}
std::string ints(const std::string& name, const std::vector<int>& values) {
  std::string text = "attribute { name: \"" + name + "\" type: INTS";
  for (const int each : values) text += " ints: " + std::to_string(each);
  return text + " } ";
}
std::string text(const std::string& name, const std::string& value) {
  return "attribute { name: \"" + name + "\" type: STRING s: \"" + value + "\" } ";
}

// Both bodies have the same values at some points.
void expect_same(const std::string& declared, const std::string& a, const std::string& b) {
  const Graph fused_graph = import_text(declared + a), plain = import_text(declared + b);
  EXPECT_EQ(fused_graph.value(fused_graph.outputs[0]).shape, plain.value(plain.outputs[0]).shape);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(-2, 2);
  for (int point = 0; point < 3; ++point) {
    std::vector<std::vector<double>> values;
    for (const ValueId id : plain.inputs) {
      values.emplace_back(static_cast<std::size_t>(element_count(plain.value(id).shape)));
      for (double& each : values.back()) each = any(random);
    }
    const std::vector<double> left = evaluate(fused_graph, values)[0];
    const std::vector<double> right = evaluate(plain, values)[0];
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-9) << i;
  }
}

void expect_refused(const std::string& body, const std::string& code, const std::string& part) {
  try {
    import_text(body);
    ADD_FAILURE() << "imported, but " << code << " expected";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(ImportFused, Convolutions) {
  const std::string declared = input("x", {1, 2, 4, 5}) + input("z", {1, 3, 3, 3}) +
                               tensor("w", {3, 2, 2, 3}) + tensor("b", {3});
  const std::string conv = node("Conv", "x w b -> c") + node("Add", "c z -> s");
  for (const std::string name : {"Relu", "Tanh", "Sigmoid", "Gelu"})
    expect_same(declared, fused("FusedConv", "x w b z -> y", text("activation", name)),
                conv + node(name, "s -> y", "", name == "Gelu" ? "com.microsoft" : ""));
  expect_same(declared,
              fused("FusedConv", "x w - z -> y",
                    text("activation", "LeakyRelu") + reals("activation_params", {0.25})),
              node("Conv", "x w -> c") + node("Add", "c z -> s") +
                  node("LeakyRelu", "s -> y", real("alpha", 0.25)));
  expect_same(declared,
              fused("FusedConv", "x w b -> y",
                    text("activation", "HardSigmoid") + reals("activation_params", {0.5, 0.25})),
              node("Conv", "x w b -> c") +
                  node("HardSigmoid", "c -> y", real("alpha", 0.5) + real("beta", 0.25)));
  expect_same(declared +
                  "initializer { name: \"l\" data_type: 1 float_data: -1 }"
                  "initializer { name: \"h\" data_type: 1 float_data: 2 }",
              fused("FusedConv", "x w b -> y",
                    text("activation", "Clip") + reals("activation_params", {-1, 2})),
              node("Conv", "x w b -> c") + node("Clip", "c l h -> y"));
  expect_refused(declared + fused("FusedConv", "x w b -> y", text("activation", "Step")), "BF1026",
                 "ORT_ENABLE_BASIC");
  expect_refused(declared + fused("FusedConv", "x w b x -> y"), "BF1014", "is added to");
}

TEST(ImportFused, Products) {
  const std::string declared = input("x", {2, 3}) + tensor("w", {3, 4}) + tensor("b", {4}) +
                               input("u", {3, 2, 4}) + input("v", {4, 2, 5});
  expect_same(declared,
              fused("FusedGemm", "x w b -> y",
                    text("activation", "Selu") + real("activation_alpha", 1.5) +
                        real("activation_gamma", 1.25) + real("alpha", 0.5) + real("beta", 0.25)),
              node("Gemm", "x w b -> g", real("alpha", 0.5) + real("beta", 0.25)) +
                  node("Selu", "g -> y", real("alpha", 1.5) + real("gamma", 1.25)));
  expect_same(declared, fused("FusedGemm", "x w -> y", text("activation", "LeakyRelu")),
              node("Gemm", "x w -> g") + node("LeakyRelu", "g -> y"));
  expect_same(declared,
              fused("FusedMatMul", "u v -> y",
                    number("transBatchA", 1) + number("transBatchB", 1) + real("alpha", 0.5)),
              node("Transpose", "u -> s", ints("perm", {1, 0, 2})) +
                  node("Transpose", "v -> t", ints("perm", {1, 0, 2})) +
                  node("MatMul", "s t -> m") + node("Add", "m m -> n") + node("Add", "n n -> o") +
                  node("Mul", "o quarter -> y") +
                  "initializer { name: \"quarter\" data_type: 1 float_data: 0.125 }");
  expect_same(declared, fused("FusedMatMul", "u u -> y", number("transA", 1)),
              node("Transpose", "u -> s", ints("perm", {0, 2, 1})) + node("MatMul", "s u -> y"));
}

TEST(ImportFused, Functions) {
  const std::string declared = input("x", {2, 8}) + tensor("b", {8}) + tensor("a", {1});
  expect_same(declared, fused("BiasGelu", "x b -> y"),
              node("Add", "x b -> s") + node("Gelu", "s -> y"));
  expect_same(declared, fused("FastGelu", "x b -> y"),
              node("Add", "x b -> s") + node("Gelu", "s -> y", text("approximate", "tanh")));
  expect_same(declared, fused("QuickGelu", "x -> y", real("alpha", 0.75)),
              node("Swish", "x -> y", real("alpha", 0.75)));
  expect_same(declared, fused("QuickGelu", "x -> y"),
              node("Swish", "x -> y", real("alpha", 1.702)));
  expect_same(declared, fused("BiasSplitGelu", "x b -> y"),
              node("Add", "x b -> s") +
                  node("Split", "s -> l r", number("axis", 1) + number("num_outputs", 2)) +
                  node("Gelu", "r -> g") + node("Mul", "l g -> y"));
}

TEST(ImportFused, Normalisations) {
  const std::string declared = input("x", {2, 3, 4}) + input("z", {1, 3, 4}) + tensor("g", {4}) +
                               tensor("b", {4}) + tensor("c", {4});
  const std::string sum = node("Add", "x z -> s") + node("Add", "s c -> t");
  const std::string epsilon = real("epsilon", 0.125);
  expect_same(declared, fused("SkipLayerNormalization", "x z g b c -> y", epsilon),
              sum + node("LayerNormalization", "t g b -> y", epsilon));
  expect_same(declared, fused("SkipLayerNormalization", "x z g b c -> n - - y", epsilon),
              sum + node("Identity", "t -> y"));
  expect_same(declared, fused("SkipSimplifiedLayerNormalization", "x z g c -> y", epsilon),
              sum + node("RMSNormalization", "t g -> y", epsilon));
  expect_same(declared, node("SimplifiedLayerNormalization", "x g -> y", epsilon),
              node("RMSNormalization", "x g -> y", epsilon));
  expect_refused(declared + fused("SkipLayerNormalization", "z x g -> y"), "BF1014",
                 "does not broadcast");
}

// As the operator of ai.onnx on what the products make.
TEST(ImportFused, Attention) {
  const std::string declared =
      input("x", {2, 3, 4}) + tensor("w", {4, 12}) + tensor("b", {12}) + input("m", {1, 2, 3, 3});
  const std::string products =
      node("MatMul", "x w -> p") + node("Add", "p b -> a") +
      node("Split", "a -> q k v", number("axis", 2) + number("num_outputs", 3));
  const std::string heads = number("q_num_heads", 2) + number("kv_num_heads", 2);
  expect_same(declared, fused("Attention", "x w b -> y", number("num_heads", 2)),
              products + node("Attention", "q k v -> y", heads));
  expect_same(declared,
              fused("Attention", "x w b - - m -> y", number("num_heads", 2) + real("scale", 0.5)),
              products + node("Attention", "q k v m -> y", heads + real("scale", 0.5)));
  expect_same(
      declared,
      fused("Attention", "x w b -> y", number("num_heads", 2) + number("unidirectional", 1)),
      products + node("Attention", "q k v -> y", heads + number("is_causal", 1)));
  const std::string masks =
      "initializer { name: \"seen\" data_type: 6 dims: 2 dims: 3 int32_data: [1, 0, 1, 1, 1, 0] }"
      "initializer { name: \"added\" data_type: 1 dims: 2 dims: 1 dims: 1 dims: 3 float_data: "
      "[0, -3, 0, 0, 0, -3] }"
      "initializer { name: \"lengths\" data_type: 6 dims: 2 int32_data: [2, 3] }"
      "initializer { name: \"behind\" data_type: 1 dims: 2 dims: 1 dims: 1 dims: 3 float_data: "
      "[0, 0, -3, 0, 0, 0] }";
  const std::string soft = number("num_heads", 2) + real("mask_filter_value", -3);
  expect_same(declared + masks, fused("Attention", "x w b seen -> y", soft),
              products + node("Attention", "q k v added -> y", heads));
  expect_same(declared + masks, fused("Attention", "x w b lengths -> y", soft),
              products + node("Attention", "q k v behind -> y", heads));
  expect_same(declared,
              products + fused("MultiHeadAttention", "q k v -> y", number("num_heads", 2)),
              products + node("Attention", "q k v -> y", heads));
  expect_same(declared,
              node("MatMul", "x w -> p") +
                  node("Split", "p -> q k v", number("axis", 2) + number("num_outputs", 3)) +
                  fused("MultiHeadAttention", "q k v b -> y", number("num_heads", 2)),
              products + node("Attention", "q k v -> y", heads));
  expect_refused(declared + fused("Attention", "x w b - m -> y", number("num_heads", 2)), "BF1014",
                 "past");
}

// Five dimensions hold queries, keys and values of each head one after the other.
TEST(ImportFused, PackedAttention) {
  const std::string declared =
      input("x", {1, 3, 2, 3, 4}) + input("q", {1, 3, 8}) + input("z", {1, 5, 2, 2, 4});
  const auto part = [](const std::string& from, int k, const std::string& to) {
    return "initializer { name: \"at_" + to + "\" data_type: 7 int64_data: " + std::to_string(k) +
           " }\n" + node("Gather", from + " at_" + to + " -> " + to + "5", number("axis", 3)) +
           node("Transpose", to + "5 -> " + to, ints("perm", {0, 2, 1, 3}));
  };
  const std::string back =
      node("Transpose", "a -> t", ints("perm", {0, 2, 1, 3})) +
      "initializer { name: \"flat\" data_type: 7 dims: 3 int64_data: [1, 3, 8] }\n" +
      node("Reshape", "t flat -> y");
  expect_same(declared, fused("MultiHeadAttention", "x -> y", number("num_heads", 2)),
              part("x", 0, "i") + part("x", 1, "j") + part("x", 2, "k") +
                  node("Attention", "i j k -> a") + back);
  const std::string query =
      "initializer { name: \"heads\" data_type: 7 dims: 4 int64_data: [1, 3, 2, 4] }\n" +
      node("Reshape", "q heads -> h") + node("Transpose", "h -> i", ints("perm", {0, 2, 1, 3}));
  expect_same(
      declared, fused("MultiHeadAttention", "q z -> y", number("num_heads", 2)),
      query + part("z", 0, "j") + part("z", 1, "k") + node("Attention", "i j k -> a") + back);
}

std::string whole(const std::string& name, const Shape& shape, const std::vector<int>& values,
                  int type = 6) {
  std::string text = "initializer { name: \"" + name + "\" data_type: " + std::to_string(type) +
                     " " + dims(shape, "dims: ", " ");
  for (const int each : values)
    text += (type == 7 ? " int64_data: " : " int32_data: ") + std::to_string(each);
  return text + " }\n";
}

// Two heads of queries share one of keys; as the operator of ai.onnx, which is causal.
TEST(ImportFused, GroupQueryAttention) {
  const std::string declared = input("q", {2, 3, 8}) + input("k", {2, 3, 4}) +
                               input("v", {2, 3, 4}) + input("m", {1, 4, 3, 3}) +
                               tensor("c", {5, 1}) + tensor("s", {5, 1}) +
                               whole("last", {2}, {2, 2}) + whole("total", {}, {3});
  const std::string groups = number("num_heads", 4) + number("kv_num_heads", 2);
  const std::string heads =
      number("q_num_heads", 4) + number("kv_num_heads", 2) + number("is_causal", 1);
  const auto both = [&](const std::string& edges, const std::string& more,
                        const std::string& plain_edges, const std::string& plain_more) {
    expect_same(declared, fused("GroupQueryAttention", edges, groups + more),
                node("Attention", plain_edges, heads + plain_more));
  };
  both("q k v - - last total -> y", "", "q k v -> y", "");
  both("q k v - - last total -> y", real("scale", 0.25), "q k v -> y", real("scale", 0.25));
  both("q k v - - last total -> y", real("softcap", 1.5), "q k v -> y", real("softcap", 1.5));
  both("q k v - - last total - - - m -> y", "", "q k v m -> y", "");
  const std::string concat = node("Concat", "q k v -> p", number("axis", 2));
  expect_same(declared, concat + fused("GroupQueryAttention", "p - - - - last total -> y", groups),
              node("Attention", "q k v -> y", heads));
  const std::string zero_to_two = whole("at", {2, 3}, {0, 1, 2, 0, 1, 2}, 7);
  for (const int interleaved : {0, 1}) {
    const std::string turned = node("RotaryEmbedding", "q c s at -> i",
                                    number("num_heads", 4) + number("interleaved", interleaved)) +
                               node("RotaryEmbedding", "k c s at -> j",
                                    number("num_heads", 2) + number("interleaved", interleaved));
    const std::string rotary = number("do_rotary", 1) + number("rotary_interleaved", interleaved);
    expect_same(declared + zero_to_two,
                fused("GroupQueryAttention", "q k v - - last total c s -> y", groups + rotary),
                turned + node("Attention", "i j v -> y", heads));
    expect_same(
        declared + zero_to_two,
        concat + fused("GroupQueryAttention", "p - - - - last total c s at -> y", groups + rotary),
        turned + node("Attention", "i j v -> y", heads));
    // The keys and values that it keeps, [batch, heads, length, width].
    expect_same(declared + zero_to_two + whole("split", {4}, {2, 3, 2, 2}, 7),
                fused("GroupQueryAttention", "q k v - - last total c s -> o y w", groups + rotary),
                turned + node("Reshape", "j split -> h") +
                    node("Transpose", "h -> y", ints("perm", {0, 2, 1, 3})));
  }
}

TEST(ImportFused, GroupQueryAttentionIsRefused) {
  const std::string declared = input("q", {1, 3, 4}) + input("k", {1, 3, 2}) +
                               input("x", {1, 1, 3, 2}) + whole("last", {1}, {2}) +
                               whole("total", {}, {3}) + whole("less", {1}, {1}) +
                               whole("back", {1, 3}, {2, 1, 0}) + tensor("c", {4, 1});
  const std::string groups = number("num_heads", 2) + number("kv_num_heads", 1);
  const auto refused = [&](const std::string& edges, const std::string& attributes,
                           const std::string& code, const std::string& part) {
    expect_refused(declared + fused("GroupQueryAttention", edges, attributes), code, part);
  };
  refused("q k k x x last total -> y", groups, "BF1026", "past");
  refused("q k k - - less total -> y", groups, "BF1026", "padding");
  refused("q k k - - last total -> y", groups + number("local_window_size", 2), "BF1026", "window");
  refused("q k k - - last total -> y", groups + number("smooth_softmax", 1), "BF1026", "smooth");
  refused("q k k - - last total c c back -> y", groups + number("do_rotary", 1), "BF1026",
          "position_ids");
  refused("q k k - - last total -> y", number("num_heads", 3) + number("kv_num_heads", 2), "BF1012",
          "kv_num_heads");
  refused("q k k - - - total -> y", groups, "BF1011", "");
  refused("q x k - - last total -> y", groups, "BF1014", "does not fit");
}

// Positions are counted from one, or given; some features may stay.
TEST(ImportFused, RotaryEmbedding) {
  const std::string declared =
      input("x", {2, 3, 8}) + input("z", {2, 2, 3, 4}) + tensor("c", {6, 2}) + tensor("s", {6, 2}) +
      tensor("d", {6, 1}) + tensor("t", {6, 1}) + whole("from", {1}, {2}, 7) +
      whole("at", {2, 3}, {2, 3, 4, 2, 3, 4}, 7) + whole("any", {2, 3}, {0, 5, 1, 3, 3, 2}, 7);
  const std::string heads = number("num_heads", 2);
  for (const int interleaved : {0, 1}) {
    const std::string more = number("interleaved", interleaved);
    expect_same(declared, fused("RotaryEmbedding", "x from c s -> y", more),
                node("RotaryEmbedding", "x c s at -> y", heads + more));
    expect_same(declared, fused("RotaryEmbedding", "x any c s -> y", heads + more),
                node("RotaryEmbedding", "x c s any -> y", heads + more));
    expect_same(declared, fused("RotaryEmbedding", "z from c s -> y", more),
                node("RotaryEmbedding", "z c s at -> y", more));
    const std::string part = heads + more + number("rotary_embedding_dim", 2);
    expect_same(declared, fused("RotaryEmbedding", "x any d t -> y", part),
                node("RotaryEmbedding", "x d t any -> y", part));
  }
  expect_refused(declared + fused("RotaryEmbedding", "x any d t -> y", heads), "BF1012",
                 "rotary_embedding_dim");
  expect_refused(declared + fused("RotaryEmbedding", "x any c s -> y", real("scale", 2)), "BF1026",
                 "scale");
}

// QAttention is Attention on the real numbers that its codes stand for.
TEST(ImportFused, QuantisedAttention) {
  const std::string declared =
      input("x", {2, 3, 4}) + "initializer { name: \"sx\" data_type: 1 float_data: 0.125 }" +
      whole("zx", {}, {100}, 2) + node("QuantizeLinear", "x sx zx -> codes") +
      whole("w", {4, 12}, {1,  -2, 3, -4, 5,  -6, 7, -8, 9,  -10, 11, -12, 13, -14, 15, -16,
                           17, 18, 9, 10, 11, 12, 3, 4,  15, -16, 7,  8,   9,  20,  1,  -2,
                           3,  4,  5, 6,  7,  8,  9, 10, 11, 12,  -3, -4,  -5, -6,  7,  8},
            3) +
      "initializer { name: \"sw\" data_type: 1 float_data: 0.0625 }" + whole("zw", {}, {2}, 3) +
      "initializer { name: \"each\" data_type: 1 dims: 12 float_data: [0.0625, 0.125, 0.25, "
      "0.0625, 0.125, 0.25, 0.0625, 0.125, 0.25, 0.0625, 0.125, 0.25] }" +
      whole("zeros", {12}, std::vector<int>(12, 0), 3) + tensor("b", {12}) +
      whole("seen", {2, 3}, {1, 0, 1, 1, 1, 0});
  const std::string heads = number("num_heads", 2) + real("mask_filter_value", -3);
  const auto plain = [&](const std::string& scale, const std::string& zero, bool axis) {
    return node("DequantizeLinear", "codes sx zx -> i") + node("DequantizeLinear",
                                                               "w " + scale + " " + zero + " -> j",
                                                               axis ? number("axis", 1) : "");
  };
  expect_same(declared, fused("QAttention", "codes w b sx sw seen zx zw -> y", heads),
              plain("sw", "zw", false) + fused("Attention", "i j b seen -> y", heads));
  const std::string causal = heads + number("unidirectional", 1) + real("scale", 0.5);
  expect_same(declared, fused("QAttention", "codes w b sx each - zx zeros -> y", causal),
              plain("each", "zeros", true) + fused("Attention", "i j b -> y", causal));
  expect_refused(declared + fused("QAttention", "codes w b sx sw - zx zw x -> y", heads), "BF1014",
                 "past");
}

// Rows of three tables, added up and normalised.
TEST(ImportFused, Embeddings) {
  const std::string declared =
      input("x", {1}) + whole("ids", {2, 3}, {0, 4, 2, 3, 3, 1}) +
      whole("kinds", {2, 3}, {0, 0, 1, 1, 0, 1}) + whole("seen", {2, 3}, {1, 1, 0, 1, 1, 1}) +
      whole("at", {2, 3}, {2, 0, 1, 4, 4, 0}) + whole("first", {2, 3}, {0, 1, 2, 0, 1, 2}) +
      tensor("w", {5, 4}) + tensor("p", {6, 4}) + tensor("s", {2, 4}) + tensor("g", {4}) +
      tensor("b", {4});
  const std::string epsilon = real("epsilon", 0.125);
  const auto sum = [&](const std::string& places, bool segments) {
    return node("Gather", "w ids -> i") + node("Gather", "p " + places + " -> j") +
           node("Add", segments ? "i j -> k" : "i j -> t") +
           (segments ? node("Gather", "s kinds -> l") + node("Add", "k l -> t") : "");
  };
  const std::string normalised = node("LayerNormalization", "t g b -> n", epsilon);
  // With an input, as a model has to have one.
  const std::string read = node("Add", "n x -> y");
  expect_same(declared,
              fused("EmbedLayerNormalization", "ids kinds w p s g b -> n", epsilon) + read,
              sum("first", true) + normalised + read);
  expect_same(declared,
              fused("EmbedLayerNormalization", "ids - w p - g b - at -> n", epsilon) + read,
              sum("at", false) + normalised + read);
  expect_same(
      declared,
      fused("EmbedLayerNormalization", "ids kinds w p s g b seen -> m count n", epsilon) + read,
      sum("first", true) + node("Add", "t x -> y"));
  expect_same(declared + "initializer { name: \"two\" data_type: 1 dims: 2 float_data: [2, 3] }",
              fused("EmbedLayerNormalization", "ids - w p - g b seen -> m count", epsilon) +
                  node("Cast", "count -> n", number("to", 1)) + read,
              node("Identity", "two -> n") + read);
  expect_refused(declared + fused("EmbedLayerNormalization", "ids kinds w p - g b -> y"), "BF1011",
                 "segments");
  expect_refused(declared + fused("EmbedLayerNormalization", "ids - w g - g b -> y"), "BF1014",
                 "a table");
  expect_refused(
      "input { name: \"ids\" type { tensor_type { elem_type: 6 shape { dim { dim_value: "
      "1 } dim { dim_value: 2 } } } } }\n" +
          tensor("w", {5, 4}) + tensor("p", {6, 4}) + tensor("g", {4}) +
          fused("EmbedLayerNormalization", "ids - w p - g g -> y"),
      "BF1018", "--tokens");
}

// Codes 1 to 8 of 4 bits, two blocks of two in a column; zero points 8, or 3 and 5.
TEST(ImportFused, BlockedWeights) {
  const std::vector<double> x = {1, 10, 100, 1000};
  const auto operation = [&](bool zeros) {
    OperatorCase made("MatMulNBits");
    made.domain("com.microsoft").input({1, 4}, x).constant({2, 2, 1}, {0x21, 0x43, 0x65, 0x87}, 2);
    made.constant({4}, {1, 0.5, 2, 0.25});
    if (zeros) made.constant({2}, {0x53, 0x53}, 2);
    return made.number("K", 4).number("N", 2).number("bits", 4).number("block_size", 2);
  };
  operation(false).expect({1, 2}, {-7 - 60 - 250 - 2000, -6 - 40 - 25});
  operation(true).expect({1, 2}, {-2 - 10 - 100 - 500, 4 + 60 + 50 + 750});
  OperatorCase("MatMulNBits")
      .domain("com.microsoft")
      .input({1, 4}, x)
      .constant({2, 2, 1}, {1, 2, 3, 4}, 2)
      .constant({4}, {1, 1, 1, 1})
      .number("K", 4)
      .number("N", 2)
      .number("bits", 3)
      .number("block_size", 2)
      .expect_refused("BF1012");
}

// Scale and zero point of A are computed, as dynamic quantisation writes them.
TEST(ImportFused, IntegerProductsToFloat) {
  const std::string declared =
      input("x", {2, 3}) +
      "initializer { name: \"w\" data_type: 3 dims: 3 dims: 2 int32_data: [1, -2, 3, -4, 5, 60] }"
      "initializer { name: \"s\" data_type: 1 dims: 2 float_data: [0.5, 0.25] }"
      "initializer { name: \"z\" data_type: 3 dims: 2 int32_data: [1, -1] }" +
      tensor("b", {2}) + node("DynamicQuantizeLinear", "x -> codes scale zero");
  expect_same(declared, fused("MatMulIntegerToFloat", "codes w scale s zero z b -> y"),
              fused("DynamicQuantizeMatMul", "x w s z b -> y"));
}

TEST(ImportFused, ModelsOfOtherDomainsAlone) {
  const std::string body = input("x", {1, 2}) + fused("Gelu", "x -> y");
  EXPECT_NO_THROW(import_text(body, "opset_import { domain: \"com.microsoft\" version: 1 }"));
  EXPECT_THROW(import_text(body + node("Relu", "x -> z"),
                           "opset_import { domain: \"com.microsoft\" version: 1 }"),
               CompileError);
}

// Keys and values of a cache stand before those of the call, and are kept with them.
TEST(ImportFused, Past) {
  const std::string declared = input("q", {2, 3, 8}) + input("k", {2, 3, 8}) +
                               input("v", {2, 3, 8}) + input("g", {2, 2, 5, 4}) +
                               input("h", {2, 2, 5, 4}) + tensor("w", {8, 24}) + tensor("b", {24}) +
                               whole("zero", {1}, {0}, 7);
  const std::string heads = number("q_num_heads", 2) + number("kv_num_heads", 2);
  for (const int causal : {0, 1}) {
    const std::string more = number("num_heads", 2) + number("unidirectional", causal);
    const std::string plain = heads + number("is_causal", causal);
    for (const std::string outputs : {"y", "o y p", "o p y"})
      expect_same(declared, fused("MultiHeadAttention", "q k v - - - g h -> " + outputs, more),
                  node("Attention", "q k v - g h -> " + outputs, plain));
    const std::string factors =
        node("MatMul", "q w -> m") + node("Add", "m b -> n") +
        node("Split", "n -> i j l", number("axis", 2) + number("num_outputs", 3));
    const std::string stacked = node("Unsqueeze", "g zero -> g1") +
                                node("Unsqueeze", "h zero -> h1") +
                                node("Concat", "g1 h1 -> past", number("axis", 0));
    expect_same(declared, stacked + fused("Attention", "q w b - past -> y", more),
                factors + node("Attention", "i j l - g h -> y", plain));
    expect_same(declared, stacked + fused("Attention", "q w b - past -> o y", more),
                factors + node("Attention", "i j l - g h -> o c d", plain) +
                    node("Unsqueeze", "c zero -> c1") + node("Unsqueeze", "d zero -> d1") +
                    node("Concat", "c1 d1 -> y", number("axis", 0)));
  }
  const std::string refused = number("num_heads", 2);
  expect_refused(declared + fused("MultiHeadAttention", "q k v - - - g -> y", refused), "BF1011",
                 "without the other");
  expect_refused(declared + fused("MultiHeadAttention", "q k v - - - q q -> y", refused), "BF1014",
                 "past");
  expect_refused(declared + fused("MultiHeadAttention", "q k v - - - g h zero -> y", refused),
                 "BF1026", "buffer");
}

// Positions are counted from the end of the past.
TEST(ImportFused, PastOfGroups) {
  const std::string declared =
      input("q", {1, 2, 16}) + input("k", {1, 2, 8}) + input("v", {1, 2, 8}) +
      input("g", {1, 2, 3, 4}) + input("h", {1, 2, 3, 4}) + whole("last", {1}, {4}) +
      whole("total", {}, {5}) + tensor("c", {6, 2}) + tensor("s", {6, 2}) +
      whole("at", {1, 2}, {3, 4}, 7) + whole("buffer", {1}, {3}) + whole("largest", {}, {4});
  const std::string groups = number("num_heads", 4) + number("kv_num_heads", 2);
  const std::string heads =
      number("q_num_heads", 4) + number("kv_num_heads", 2) + number("is_causal", 1);
  const std::string turned = node("RotaryEmbedding", "q c s at -> i", number("num_heads", 4)) +
                             node("RotaryEmbedding", "k c s at -> j", number("num_heads", 2));
  const std::string rotary = number("do_rotary", 1);
  for (const std::string outputs : {"y", "o y p", "o p y"}) {
    expect_same(declared,
                fused("GroupQueryAttention", "q k v g h last total -> " + outputs, groups),
                node("Attention", "q k v - g h -> " + outputs, heads));
    expect_same(
        declared,
        fused("GroupQueryAttention", "q k v g h last total c s -> " + outputs, groups + rotary),
        turned + node("Attention", "i j v - g h -> " + outputs, heads));
  }
  expect_refused(declared + fused("GroupQueryAttention", "q k v g h buffer largest -> y", groups),
                 "BF1026", "buffer");
}

}  // namespace
}  // namespace bf_aot
