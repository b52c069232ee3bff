// Files made to do harm: only CompileError may come of them, soon and in little memory.

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = R"(
  ir_version: 8
  opset_import { version: 17 }
  graph {
    name: "g"
    node { op_type: "Gemm" name: "fc" input: "x" input: "W" input: "b" output: "h" }
    node { op_type: "Relu" input: "h" output: "y" }
    initializer { name: "W" dims: 2 dims: 2 data_type: 1 float_data: [1, 2, 3, 4] }
    initializer { name: "b" dims: 2 data_type: 1 float_data: [5, 6] }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 2 } } } } }
    output { name: "y" }
  })";

// The code of the first diagnostic; "" when the model is accepted.
std::string first_code(std::string_view bytes, const fs::path& folder = {},
                       const ImportLimits& limits = {}) {
  try {
    import_model_bytes(bytes, "model.onnx", folder, limits);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(Hostile, the_model_itself_is_good) {
  EXPECT_EQ(first_code(test::encode_model(kGood)), "");
}

TEST(Hostile, every_truncation_is_an_error) {
  const std::string bytes = test::encode_model(kGood);
  // The fields are written by number: the opset comes last, so that nothing less is a model.
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(first_code(bytes.substr(0, size)), "") << size;
}

TEST(Hostile, random_bytes_are_an_error) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_NE(first_code(bytes), "");
  }
}

TEST(Hostile, deep_nesting_is_an_error) {
  // GraphProto -> node -> attribute -> g -> node ..., innermost first.
  std::string graph;
  for (int depth = 0; depth < 10'000; ++depth) {
    const auto wrap = [&graph](char tag) {
      std::string length;
      std::size_t rest = graph.size();
      for (; rest >= 0x80; rest >>= 7) length += static_cast<char>(rest | 0x80);
      length += static_cast<char>(rest);
      graph = tag + length + graph;
    };
    wrap(0x32);                      // AttributeProto.g
    wrap(0x2a);                      // NodeProto.attribute
    wrap(0x0a);                      // GraphProto.node
    if (depth == 9'999) wrap(0x3a);  // ModelProto.graph
  }
  EXPECT_EQ(first_code(graph), "BF1004");
}

TEST(Hostile, dimensions_that_overflow_are_an_error) {
  for (const char* dims : {"dims: 9223372036854775807 dims: 2", "dims: 4294967296 dims: 4294967296",
                           "dims: 0 dims: 9223372036854775807 dims: 9223372036854775807",
                           "dims: 2147483648 dims: 1", "dims: 268435457"})
    EXPECT_EQ(first_code(test::encode_model(replaced(kGood, "dims: 2 dims: 2", dims))), "BF1005")
        << dims;
}

TEST(Hostile, a_large_input_of_no_data_is_an_error) {
  const std::string text = replaced(kGood, "dim { dim_value: 2 }",
                                    "dim { dim_value: 9223372036854775807 } dim { dim_value: 2 }");
  EXPECT_EQ(first_code(test::encode_model(text)), "BF1005");
}

TEST(Hostile, too_many_dimensions_are_an_error) {
  std::string dims;
  for (int i = 0; i < 17; ++i) dims += "dim { dim_value: 1 }";
  EXPECT_EQ(first_code(test::encode_model(replaced(kGood, "dim { dim_value: 2 }", dims))),
            "BF1005");
}

TEST(Hostile, limits_hold) {
  const std::string bytes = test::encode_model(kGood);
  const auto code = [&](auto change) {
    ImportLimits limits;
    change(limits);
    return first_code(bytes, {}, limits);
  };
  EXPECT_EQ(code([&](ImportLimits& limits) { limits.file_bytes = bytes.size(); }), "");
  EXPECT_EQ(code([&](ImportLimits& limits) { limits.file_bytes = bytes.size() - 1; }), "BF1002");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.nodes = 2; }), "");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.nodes = 1; }), "BF1005");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.rank = 2; }), "");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.rank = 1; }), "BF1005");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.tensor_elements = 4; }), "");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.tensor_elements = 3; }), "BF1005");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.total_elements = 6; }), "");
  EXPECT_EQ(code([](ImportLimits& limits) { limits.total_elements = 5; }), "BF1005");
  // W, b, h and y are values of 4, 2, 2 and 2 elements.
  const auto made = [&](std::int64_t elements, std::int64_t per_stored) {
    return code([&](ImportLimits& limits) {
      limits.made_elements = elements;
      limits.made_per_stored = per_stored;
    });
  };
  EXPECT_EQ(made(10, 0), "");
  EXPECT_EQ(made(9, 0), "BF1028");
  EXPECT_EQ(made(0, 2), "");
  EXPECT_EQ(made(3, 1), "BF1028");
}

// Each Identity is an index map as large as its tensor.
TEST(Hostile, a_long_chain_of_data_movement_is_bounded) {
  std::string text = replaced(kGood, "input: \"x\"", "input: \"i99\"");
  std::string chain;
  for (int i = 0; i < 100; ++i)
    chain += "node { op_type: \"Identity\" input: \"" +
             (i == 0 ? std::string("x") : "i" + std::to_string(i - 1)) + "\" output: \"i" +
             std::to_string(i) + "\" }";
  text = replaced(text, "name: \"g\"", "name: \"g\" " + chain);
  const std::string bytes = test::encode_model(text);
  ImportLimits limits;
  limits.total_elements = 206;
  EXPECT_EQ(first_code(bytes, {}, limits), "");
  limits.total_elements = 205;
  EXPECT_EQ(first_code(bytes, {}, limits), "BF1005");
}

// Small files whose tensors would take gigabytes, or whose constants minutes.
TEST(Hostile, work_is_bounded_by_what_is_stored) {
  const auto model = [](const std::string& nodes, const std::string& shape) {
    return test::encode_model(
        "ir_version: 8 opset_import { version: 17 } graph { name: \"g\" " + nodes +
        "initializer { name: \"s\" dims: 2 data_type: 7 int64_data: [" + shape +
        "] } input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } "
        "dim "
        "{ dim_value: 4 } } } } } output { name: \"y\" } }");
  };
  const std::string filled = R"(node { op_type: "ConstantOfShape" input: "s" output: "c" })";
  const auto added = [](const std::string& last) {
    return "node { op_type: \"ReduceSum\" input: \"" + last + "\" output: \"r\" }" +
           R"(node { op_type: "Add" input: "x" input: "r" output: "y" })";
  };
  EXPECT_EQ(first_code(model(filled + added("c"), "64, 64")), "");
  EXPECT_EQ(first_code(model(filled + added("c"), "16384, 16384")), "BF1028");
  const std::string squared = R"(node { op_type: "MatMul" input: "c" input: "c" output: "d" }
      node { op_type: "Cast" input: "d" output: "e" attribute { name: "to" type: INT i: 7 } })";
  EXPECT_EQ(first_code(model(filled + squared + added("d"), "16, 16")), "");
  EXPECT_EQ(first_code(model(filled + squared + added("d"), "2048, 2048")), "BF1028");
  std::string doubled;
  for (int i = 0; i < 22; ++i) {
    const std::string name = "\"t" + std::to_string(i) + "\" ";
    doubled += "node { op_type: \"Concat\" output: " + (i == 21 ? "\"y\" " : name);
    const std::string last = i == 0 ? "\"x\" " : "\"t" + std::to_string(i - 1) + "\" ";
    doubled += "input: " + last + "input: " + last;
    doubled += "attribute { name: \"axis\" type: INT i: 1 } }";
  }
  EXPECT_EQ(first_code(model(doubled, "1, 1")), "BF1028");
}

// An output of the name of an input that is read for every output.
TEST(Hostile, a_node_that_makes_its_own_input_is_an_error) {
  const std::string split =
      "node { op_type: \"Split\" input: \"h\" output: \"h\" output: \"i\" "
      "attribute { name: \"axis\" type: INT i: 1 } }";
  EXPECT_EQ(first_code(test::encode_model(
                replaced(kGood, "node { op_type: \"Relu\"", split + " node { op_type: \"Relu\""))),
            "BF1015");
}

TEST(Hostile, names_cannot_break_out_of_a_comment) {
  const std::string text =
      replaced(replaced(kGood, "name: \"fc\"", "name: \"fc\\n#error\\\\\\xff\""), "name: \"g\"",
               "name: \"g\\r\"");
  const Graph graph = import_model_bytes(test::encode_model(text), "a\nb", {}).graph;
  EXPECT_EQ(graph.name, "g_");
  EXPECT_NE(to_string(graph).find("# Gemm 'fc_#error__'\n"), std::string::npos) << to_string(graph);
}

TEST(Hostile, names_stay_unique) {
  const Graph graph = import_model_bytes(test::encode_model(R"(
    ir_version: 8 opset_import { version: 17 } graph {
    node { op_type: "Relu" input: "\n" output: "_#0" }
    node { op_type: "Relu" input: "_#0" output: "_#0_2" }
    input { name: "\n" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } } } } }
    output { name: "_#0_2" } })"),
                                         "m", {})
                          .graph;
  EXPECT_EQ(graph.values[0].name, "_#0");
  EXPECT_EQ(graph.values[1].name, "_#0#1");
  EXPECT_EQ(graph.values[2].name, "_#0_2");
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(model_folder());
    test::write_bytes(folder_.path() / "secret.bin", std::string(16, '\0'));
    test::write_bytes(model_folder() / "inside.bin", std::string(16, '\0'));
  }
  fs::path model_folder() const { return folder_.path() / "model"; }
  std::string code_for(const std::string& location) const {
    const std::string text = replaced(
        kGood, "float_data: [1, 2, 3, 4]",
        "data_location: EXTERNAL external_data { key: \"location\" value: \"" + location + "\" }");
    return first_code(test::encode_model(text), model_folder());
  }
  test::TempFolder folder_;
};

TEST_F(ExternalData, is_read_from_the_folder) {
  EXPECT_EQ(code_for("inside.bin"), "");
  EXPECT_EQ(code_for("./inside.bin"), "");
  fs::create_directory(model_folder() / "sub");
  fs::create_symlink("../inside.bin", model_folder() / "sub" / "link.bin");
  EXPECT_EQ(code_for("sub/link.bin"), "");
}

TEST_F(ExternalData, is_not_read_from_elsewhere) {
  EXPECT_EQ(code_for("../secret.bin"), "BF1024");
  EXPECT_EQ(code_for((folder_.path() / "secret.bin").string()), "BF1024");
  EXPECT_EQ(code_for("inside.bin\\000"), "BF1024");
  fs::create_symlink("../secret.bin", model_folder() / "link.bin");
  EXPECT_EQ(code_for("link.bin"), "BF1024");
  fs::create_directory_symlink("..", model_folder() / "up");
  EXPECT_EQ(code_for("up/secret.bin"), "BF1024");
  // A folder whose name begins like the model's is another folder.
  fs::create_directory(folder_.path() / "model2");
  test::write_bytes(folder_.path() / "model2" / "w.bin", std::string(16, '\0'));
  fs::create_symlink("../model2/w.bin", model_folder() / "sibling.bin");
  EXPECT_EQ(code_for("sibling.bin"), "BF1024");
}

TEST_F(ExternalData, needs_a_folder) {
  const std::string text =
      replaced(kGood, "float_data: [1, 2, 3, 4]",
               "data_location: EXTERNAL external_data { key: \"location\" value: \"inside.bin\" }");
  EXPECT_EQ(first_code(test::encode_model(text)), "BF1024");
}

}  // namespace
}  // namespace bf_aot
