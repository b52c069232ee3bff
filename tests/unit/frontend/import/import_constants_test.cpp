// Numbers that are known at import: integers computed by any operator, weights computed from
// constants, inputs bound to tensors, packed models.

#include <zlib.h>

#include <cmath>

#include "frontend/diagnostic.h"
#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

std::string model(const std::string& body, int opset = 17) {
  return test::encode_model("ir_version: 8 opset_import { version: " + std::to_string(opset) +
                            " } graph { name: \"g\"\n" + body + "\noutput { name: \"y\" } }");
}

std::string input(const std::string& name, const std::vector<int>& shape, int type = 1) {
  std::string text = "input { name: \"" + name +
                     "\" type { tensor_type { elem_type: " + std::to_string(type) + " shape { ";
  for (int dim : shape) text += "dim { dim_value: " + std::to_string(dim) + " } ";
  return text + "} } } }\n";
}

std::string integers(const std::string& name, const std::string& values, int count) {
  return "initializer { name: \"" + name + "\" dims: " + std::to_string(count) +
         " data_type: 7 int64_data: [" + values + "] }\n";
}

// [height / 3 rounded towards zero, -1] by arithmetic on integers and reals.
TEST(ImportConstants, shapes_may_be_computed) {
  const std::string bytes =
      model(R"(
    node { op_type: "Div" input: "seven" input: "three" output: "two" }
    node { op_type: "Cast" input: "two" output: "real" attribute { name: "to" type: INT i: 1 } }
    node { op_type: "Mul" input: "real" input: "half" output: "product" }
    node { op_type: "Floor" input: "product" output: "floor" }
    node { op_type: "Cast" input: "floor" output: "rows" attribute { name: "to" type: INT i: 7 } }
    node { op_type: "Add" input: "rows" input: "one" output: "more" }
    node { op_type: "Concat" input: "more" input: "minus" output: "shape" attribute { name: "axis" type: INT i: 0 } }
    node { op_type: "Reshape" input: "x" input: "shape" output: "y" }
    initializer { name: "half" dims: 1 data_type: 1 float_data: 0.75 })" +
            integers("seven", "7", 1) + integers("three", "3", 1) + integers("one", "1", 1) +
            integers("minus", "-1", 1) + input("x", {6}));
  const Graph graph = import_model_bytes(bytes, "m", {}).graph;
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{2, 3}));
}

// 3 * (1 / 3) may be 1 or less: no shape may depend on how it is rounded.
TEST(ImportConstants, no_integer_of_what_is_rounded) {
  const std::string bytes = model(R"(
    node { op_type: "Div" input: "one" input: "three" output: "third" }
    node { op_type: "Mul" input: "third" input: "three" output: "about" }
    node { op_type: "Floor" input: "about" output: "floor" }
    node { op_type: "Cast" input: "floor" output: "shape" attribute { name: "to" type: INT i: 7 } }
    node { op_type: "Reshape" input: "x" input: "shape" output: "y" }
    initializer { name: "one" dims: 1 data_type: 1 float_data: 1 }
    initializer { name: "three" dims: 1 data_type: 1 float_data: 3 })" +
                                  input("x", {1}));
  try {
    import_model_bytes(bytes, "m", {});
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics()[0].code, "BF1018");
  }
}

// The kernel is 1/3 of [3, 1]: the second weight is inexact, and its error says by how much.
TEST(ImportConstants, weights_may_be_computed) {
  const std::string bytes = model(R"(
    node { op_type: "Div" input: "w" input: "three" output: "third" }
    node { op_type: "Conv" input: "x" input: "third" output: "y" }
    initializer { name: "w" dims: 1 dims: 1 dims: 2 data_type: 1 float_data: [3, 1] }
    initializer { name: "three" data_type: 1 float_data: 3 })" +
                                  input("x", {1, 1, 2}));
  const Graph graph = import_model_bytes(bytes, "m", {}).graph;
  const auto& conv = std::get<Conv>(graph.nodes.back().op);
  EXPECT_EQ(conv.weight.data, (std::vector<double>{1, 1.0 / 3}));
  EXPECT_EQ(conv.weight.error_at(0), 0);
  EXPECT_GE(conv.weight.error_at(1), 0x1p-54 / 3);
  EXPECT_LE(conv.weight.error_at(1), 0x1p-53);
}

TEST(ImportConstants, integer_inputs_and_truth_values_are_numbers) {
  const std::string bytes = model(R"(node { op_type: "Div" input: "x" input: "two" output: "y" })" +
                                  integers("two", "2", 1) + input("x", {4}, 7));
  const Graph graph = import_model_bytes(bytes, "m", {}).graph;
  EXPECT_EQ(evaluate(graph, {{-3, -2, 3, 5}})[0], (std::vector<double>{-1, -1, 1, 2}));
}

// TensorProto { dims: 2 data_type: 7 name: "s" int64_data: [3, 2] }
const std::string kShape32("\x08\x02\x10\x07\x42\x01s\x3a\x02\x03\x02", 11);

TEST(ImportConstants, inputs_may_be_bound) {
  const std::string bytes =
      model(R"(node { op_type: "Reshape" input: "x" input: "s" output: "y" })" + input("x", {6}) +
            input("s", {2}, 7));
  const ImportedModel bound = import_model_bytes(bytes, "m", {}, {}, {{"s", kShape32}});
  EXPECT_EQ(bound.graph.inputs.size(), 1u);
  EXPECT_EQ(bound.graph.value(bound.graph.outputs[0]).shape, (Shape{3, 2}));
  EXPECT_THROW(import_model_bytes(bytes, "m", {}), CompileError);
  EXPECT_THROW(import_model_bytes(bytes, "m", {}, {}, {{"s", "junk"}}), CompileError);
  EXPECT_THROW(import_model_bytes(bytes, "m", {}, {}, {{"s", kShape32}, {"t", kShape32}}),
               CompileError);
}

TEST(ImportConstants, tensor_files) {
  const TensorFile file = read_tensor(kShape32, "s.pb");
  EXPECT_EQ(file.name, "s");
  EXPECT_TRUE(file.is_integer);
  EXPECT_EQ(file.shape, Shape{2});
  EXPECT_EQ(file.data, (std::vector<double>{3, 2}));
  EXPECT_THROW(read_tensor("junk", "junk.pb"), CompileError);
}

std::string packed(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  std::string source = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(source.data());
  stream.avail_in = static_cast<uInt>(source.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string first_code(const std::string& bytes, const ImportLimits& limits = {}) {
  try {
    import_model_bytes(bytes, "m", {}, limits);
    return "";
  } catch (const CompileError& error) {
    return error.diagnostics()[0].code;
  }
}

TEST(ImportGzip, whole_damaged_and_hostile) {
  const std::string bytes =
      model(R"(node { op_type: "Relu" input: "x" output: "y" })" + input("x", {6}));
  const std::string gz = packed(bytes);
  EXPECT_EQ(to_string(import_model_bytes(gz, "m", {}).graph),
            to_string(import_model_bytes(bytes, "m", {}).graph));
  EXPECT_EQ(first_code(gz.substr(0, gz.size() - 3)), "BF1003");
  EXPECT_EQ(first_code(gz + gz.substr(0, gz.size() - 3)), "BF1003");
  std::string flipped = gz;
  flipped[gz.size() - 6] = static_cast<char>(flipped[gz.size() - 6] ^ 1);
  EXPECT_EQ(first_code(flipped), "BF1003");
  ImportLimits limits;
  limits.file_bytes = 1 << 20;
  const std::string bomb = packed(std::string(1 << 24, 'a'));
  ASSERT_LT(bomb.size(), limits.file_bytes);
  EXPECT_EQ(first_code(bomb, limits), "BF1002");
  EXPECT_EQ(first_code(packed(std::string(1 << 19, 'a')) + bomb, limits), "BF1002");
}

// Members are one text, and bytes behind them that are no member are left out, as by zlib's gzread.
TEST(ImportGzip, members_are_joined) {
  const std::string bytes =
      model(R"(node { op_type: "Relu" input: "x" output: "y" })" + input("x", {6}));
  const std::string text = to_string(import_model_bytes(bytes, "m", {}).graph);
  const std::string two = packed(bytes.substr(0, 9)) + packed("") + packed(bytes.substr(9));
  EXPECT_EQ(to_string(import_model_bytes(two, "m", {}).graph), text);
  for (const std::string& tail : {std::string("x"), std::string(512, '\0'), std::string("\x1f")})
    EXPECT_EQ(to_string(import_model_bytes(packed(bytes) + tail, "m", {}).graph), text);
}

}  // namespace
}  // namespace bf_aot
