// What a model's text becomes. Wrong models: tests/errors.

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "frontend/import/file/importer.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

ImportedModel import_text(const std::string& text) {
  return import_model_bytes(test::encode_model(text), "model.onnx", {});
}

std::string input(const std::string& dims, const std::string& name = "x") {
  return "input { name: \"" + name + "\" type { tensor_type { elem_type: 1 shape { " + dims +
         " } } } }\n";
}

// A model around `body` with output y. The graph as text, without its first line.
std::string import_body(const std::string& body, int opset = 17) {
  const std::string text =
      to_string(import_text("ir_version: 8 opset_import { version: " + std::to_string(opset) +
                            " } graph { name: \"g\"\n" + body + "\noutput { name: \"y\" } }")
                    .graph);
  return text.substr(text.find('\n') + 1);
}

const std::string kInput23 = input("dim { dim_value: 2 } dim { dim_value: 3 }");

std::string integers(const std::string& name, const std::string& values, int count) {
  return "initializer { name: \"" + name + "\" dims: " + std::to_string(count) +
         " data_type: 7 int64_data: [" + values + "] }\n";
}

TEST(Import, describes_the_model) {
  const std::string text = R"(
    ir_version: 7 producer_name: "pytorch" producer_version: "1.13.1"
    opset_import { domain: "ai.onnx.ml" version: 2 }
    opset_import { domain: "ai.onnx" version: 13 }
    opset_import { version: 12 }
    graph { name: "main"
      node { op_type: "Relu" domain: "ai.onnx" name: "r" input: "x" output: "y" })" +
                           kInput23 + "output { name: \"y\" } }";
  const ImportedModel model = import_text(text);
  EXPECT_EQ(model.info.file_name, "model.onnx");
  EXPECT_EQ(model.info.producer, "pytorch 1.13.1");
  EXPECT_EQ(model.info.ir_version, 7);
  EXPECT_EQ(model.info.opset, 13);
  EXPECT_EQ(model.info.sha256.size(), 64u);
  EXPECT_EQ(to_string(model.graph),
            "graph 'main'\n"
            "  input %0 'x' [2, 3]\n"
            "  %1 'y' [2, 3] = relu %0   # Relu 'r'\n"
            "  output %1\n");
}

TEST(Import, leading_dimension_is_one_when_unknown) {
  const std::string relu = "node { op_type: \"Relu\" input: \"x\" output: \"y\" }";
  for (const char* batch : {"dim { dim_param: \"N\" }", "dim { dim_value: 0 }",
                            "dim { dim_value: -1 }", "dim { }", "dim { dim_value: 1 }"})
    EXPECT_EQ(import_body(relu + input(std::string(batch) + " dim { dim_value: 5 }")),
              "  input %0 'x' [1, 5]\n"
              "  %1 'y' [1, 5] = relu %0   # Relu #0\n"
              "  output %1\n")
        << batch;
}

TEST(Import, initializers_listed_as_inputs_are_no_inputs) {
  EXPECT_EQ(import_body(R"(
    node { op_type: "Add" input: "x" input: "b" output: "y" }
    initializer { name: "b" dims: 1 data_type: 1 float_data: 2 })" +
                            input("dim { dim_value: 1 }", "b") + input("dim { dim_value: 1 }"),
                        8),
            "  input %0 'x' [1]\n"
            "  %1 'b' [1] = literal value {2}   # initializer 'b'\n"
            "  %2 'y' [1] = add %0, %1   # Add #0\n"
            "  output %2\n");
}

// Both roots and the unread branch stay; among ready nodes the first in the file comes first.
TEST(Import, sorts_nodes_in_any_order) {
  EXPECT_EQ(import_body(R"(
    node { op_type: "Add" input: "a" input: "b" output: "y" }
    node { op_type: "Relu" name: "b" input: "z" output: "b" }
    node { op_type: "Relu" name: "unread" input: "x" output: "u" }
    node { op_type: "Relu" name: "a" input: "x" output: "a" })" +
                        input("dim { dim_value: 1 }") + input("dim { dim_value: 1 }", "z")),
            "  input %0 'x' [1]\n"
            "  input %1 'z' [1]\n"
            "  %2 'b' [1] = relu %1   # Relu 'b'\n"
            "  %3 'u' [1] = relu %0   # Relu 'unread'\n"
            "  %4 'a' [1] = relu %0   # Relu 'a'\n"
            "  %5 'y' [1] = add %4, %2   # Add #0\n"
            "  output %5\n");
}

TEST(Import, keeps_order_and_number_of_outputs) {
  EXPECT_EQ(import_body(R"(
    node { op_type: "Relu" input: "x" output: "y" }
    initializer { name: "k" dims: 1 data_type: 1 float_data: 2 }
    output { name: "y" } output { name: "x" } output { name: "k" })" +
                        input("dim { dim_value: 1 }")),
            "  input %0 'x' [1]\n"
            "  %1 'y' [1] = relu %0   # Relu #0\n"
            "  %2 'k' [1] = literal value {2}   # initializer 'k'\n"
            "  output %1\n"
            "  output %0\n"
            "  output %2\n"
            "  output %1\n");
}

TEST(Import, gemm) {
  const std::string weights = R"(
    initializer { name: "W" dims: 3 dims: 3 data_type: 1 float_data: [1,2,3,4,5,6,7,8,9] }
    initializer { name: "c" data_type: 1 float_data: 0.5 })" +
                              input("dim { dim_value: 3 } dim { dim_value: 2 }");
  EXPECT_EQ(import_body(R"(
    node { op_type: "Gemm" input: "x" input: "W" input: "c" output: "y"
      attribute { name: "alpha" type: FLOAT f: 0.5 } attribute { name: "beta" type: FLOAT f: -2 }
      attribute { name: "transA" type: INT i: 1 } attribute { name: "transB" type: INT i: 1 } })" +
                        weights),
            "  input %0 'x' [3, 2]\n"
            "  %1 'W' [3, 3] = literal   # initializer 'W'\n"
            "  %2 'c' [] = literal value {0.5}   # initializer 'c'\n"
            "  %3 'y' [2, 3] = gemm %0, %1, %2 alpha=0.5 beta=-2 trans_a trans_b   # Gemm #0\n"
            "  output %3\n");
  // C is left out in two ways; beta then means nothing.
  for (const char* last : {"", "input: \"\" "})
    EXPECT_EQ(
        import_body("node { op_type: \"Gemm\" input: \"W\" input: \"x\" " + std::string(last) +
                    "output: \"y\" attribute { name: \"beta\" type: FLOAT f: 3 } }" + weights),
        "  input %0 'x' [3, 2]\n"
        "  %1 'W' [3, 3] = literal   # initializer 'W'\n"
        "  %2 'y' [3, 2] = gemm %1, %0 beta=3   # Gemm #0\n"
        "  output %2\n");
}

TEST(Import, arithmetic) {
  for (const auto& [onnx, ours] : {std::pair("Add", "add"),
                                   {"Sub", "sub"},
                                   {"Mul", "mul"},
                                   {"Div", "div"},
                                   {"MatMul", "matmul"}}) {
    const std::string expected =
        std::string("  input %0 'x' [2]\n") +
        "  %1 'W' [2, 2] = literal value {1, 2, 3, 4}   # initializer 'W'\n"
        "  %2 'y' " +
        (std::string(onnx) == "MatMul" ? "[2]" : "[2, 2]") + " = " + ours + " %1, %0   # " + onnx +
        " #0\n  output %2\n";
    EXPECT_EQ(import_body(std::string("node { op_type: \"") + onnx +
                          R"(" input: "W" input: "x" output: "y" }
      initializer { name: "W" dims: 2 dims: 2 data_type: 1 float_data: [1, 2, 3, 4] })" +
                          input("dim { dim_value: 2 }")),
              expected);
  }
}

// The output's shape and map of one data-movement node on x [2, 3].
std::string moved(const std::string& node, const std::string& more = "", int opset = 17) {
  const std::string text = import_body("node { " + node + " }" + kInput23 + more, opset);
  const std::size_t begin = text.find("'y' ") + 4;
  return text.substr(begin, text.find("   #") - begin);
}

TEST(Import, data_movement) {
  const std::string io = " input: \"x\" output: \"y\" ";
  const std::string with_s = " input: \"x\" input: \"s\" output: \"y\" ";
  const std::string axis = "attribute { name: \"axis\" type: INT i: ";
  EXPECT_EQ(moved("op_type: \"Identity\"" + io), "[2, 3] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Flatten\"" + io), "[2, 3] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Flatten\"" + io + axis + "0 }"), "[1, 6] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Flatten\"" + io + axis + "2 }"), "[6, 1] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Flatten\"" + io + axis + "-1 }"), "[2, 3] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Transpose\"" + io), "[3, 2] = index_map %0 [0, 3, 1, 4, 2, 5]");
  EXPECT_EQ(moved("op_type: \"Transpose\"" + io +
                  "attribute { name: \"perm\" type: INTS ints: 0 ints: 1 }"),
            "[2, 3] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Reshape\"" + with_s, integers("s", "0, 1, -1", 3)),
            "[2, 1, 3] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Unsqueeze\"" + with_s, integers("s", "0, -1", 2)),
            "[1, 2, 3, 1] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Unsqueeze\"" + io + "attribute { name: \"axes\" type: INTS ints: 1 }",
                  "", 11),
            "[2, 1, 3] = index_map %0 identity");
  EXPECT_EQ(moved("op_type: \"Squeeze\"" + io), "[2, 3] = index_map %0 identity");
}

TEST(Import, squeeze_axes_by_opset) {
  const std::string x = input("dim { dim_value: 1 } dim { dim_value: 3 } dim { dim_value: 1 }");
  const std::string expected =
      "  input %0 'x' [1, 3, 1]\n  %1 'y' [1, 3] = index_map %0 identity   # Squeeze #0\n"
      "  output %1\n";
  EXPECT_EQ(import_body(R"(node { op_type: "Squeeze" input: "x" output: "y"
                           attribute { name: "axes" type: INTS ints: 2 } })" +
                            x,
                        12),
            expected);
  EXPECT_EQ(import_body("node { op_type: \"Squeeze\" input: \"x\" input: \"a\" output: \"y\" }" +
                            x + integers("a", "-1", 1),
                        13),
            expected);
}

TEST(Import, dropout_is_the_identity) {
  const std::string expected = "[2, 3] = index_map %0 identity";
  EXPECT_EQ(moved("op_type: \"Dropout\" input: \"x\" output: \"y\" output: \"mask\" "
                  "attribute { name: \"ratio\" type: FLOAT f: 0.9 }",
                  "", 10),
            expected);
  EXPECT_EQ(moved("op_type: \"Dropout\" input: \"x\" input: \"r\" input: \"t\" output: \"y\" "
                  "attribute { name: \"seed\" type: INT i: 1 }",
                  "initializer { name: \"r\" data_type: 1 float_data: 0.9 } "
                  "initializer { name: \"t\" data_type: 9 raw_data: \"\\000\" }"),
            expected);
}

TEST(Import, constants) {
  const auto constant = [](const std::string& attribute) {
    const std::string text = import_body(
        "node { op_type: \"Constant\" name: \"c\" output: \"k\" "
        "attribute { " +
        attribute +
        " } } node { op_type: \"Add\" input: \"x\" input: \"k\" "
        "output: \"y\" }" +
        kInput23);
    const std::size_t begin = text.find("'k' ") + 4;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(constant("name: \"value_float\" type: FLOAT f: 1.5"),
            "[] = literal value {1.5}   # Constant 'c'");
  EXPECT_EQ(constant("name: \"value_floats\" type: FLOATS floats: [1, 2, 3]"),
            "[3] = literal value {1, 2, 3}   # Constant 'c'");
  EXPECT_EQ(constant("name: \"value\" type: TENSOR t { dims: 1 dims: 3 data_type: 11 "
                     "double_data: [1, 2, 0.1] }"),
            "[1, 3] = literal value {1, 2, 0.1}   # Constant 'c'");
}

// A target shape that went through Constant, Identity, Reshape, Squeeze, Unsqueeze, Transpose.
TEST(Import, integers_move_at_compile_time) {
  EXPECT_EQ(import_body(R"(
    node { op_type: "Constant" output: "c0" attribute { name: "value_ints" type: INTS ints: [3, 2] } }
    node { op_type: "Constant" output: "one" attribute { name: "value_ints" type: INTS ints: 1 } }
    node { op_type: "Identity" input: "c0" output: "c1" }
    node { op_type: "Reshape" input: "c1" input: "rows" output: "c2" }
    node { op_type: "Transpose" input: "c2" output: "c3" }
    node { op_type: "Unsqueeze" input: "c3" input: "one" output: "c4" }
    node { op_type: "Squeeze" input: "c4" output: "c5" }
    node { op_type: "Reshape" input: "x" input: "c5" output: "y" })" +
                        integers("rows", "1, 2", 2) + kInput23),
            "  input %0 'x' [2, 3]\n"
            "  %1 'y' [3, 2] = index_map %0 identity   # Reshape #7\n"
            "  output %1\n");
}

TEST(Import, constants_move_in_the_graph) {
  EXPECT_EQ(import_body(R"(
    node { op_type: "Transpose" input: "W" output: "T" }
    node { op_type: "Add" input: "x" input: "T" output: "y" }
    initializer { name: "W" dims: 3 dims: 2 data_type: 1 float_data: [1, 2, 3, 4, 5, 6] })" +
                        kInput23),
            "  input %0 'x' [2, 3]\n"
            "  %1 'W' [3, 2] = literal value {1, 2, 3, 4, 5, 6}   # initializer 'W'\n"
            "  %2 'T' [2, 3] = index_map %1 [0, 2, 4, 1, 3, 5]   # Transpose #0\n"
            "  %3 'y' [2, 3] = add %0, %2   # Add #1\n"
            "  output %3\n");
}

TEST(Import, is_deterministic) {
  const std::string bytes =
      test::encode_model_file(BF_SOURCE_DIR "/tests/fuzz/seeds/mixed.textproto");
  const ImportedModel first = import_model_bytes(bytes, "a", {});
  const ImportedModel second = import_model_bytes(bytes, "a", {});
  EXPECT_EQ(first.graph, second.graph);
  EXPECT_EQ(to_string(first.graph), to_string(second.graph));
}

}  // namespace
}  // namespace bf_aot
