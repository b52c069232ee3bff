// Results of integer type are what their type holds.

#include "frontend/evaluate/evaluate_exact.h"
#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

std::string input_of(const std::string& name, int type) {
  return "input { name: \"" + name + "\" type { tensor_type { elem_type: " + std::to_string(type) +
         " shape { dim { dim_value: 1 } } } } }\n";
}

Graph integer_network(const std::string& body) {
  return import_model_bytes(
             test::encode_model("ir_version: 8 opset_import { version: 17 } graph { name: \"g\"\n" +
                                body + "\noutput { name: \"y\" } }"),
             "m", {})
      .graph;
}

double value_of(const Graph& graph, const std::vector<double>& inputs) {
  std::vector<std::vector<double>> given;
  for (const double x : inputs) given.push_back({x});
  return evaluate_exact(graph, given)[0][0].get_d();
}

std::string node_of(const std::string& type, const std::string& inputs, int to = 0) {
  std::string text = "node { op_type: \"" + type + "\" " + inputs + " output: \"y\"";
  if (to != 0) text += " attribute { name: \"to\" type: INT i: " + std::to_string(to) + " }";
  return text + " }";
}

constexpr int kOfUint8 = 2, kOfInt8 = 3, kOfUint16 = 4, kOfInt16 = 5, kOfInt32 = 6, kOfInt64 = 7;

TEST(ImportIntegers, casts_keep_the_last_bits) {
  const auto cast = [](int from, int to, double x) {
    return value_of(integer_network(input_of("x", from) + node_of("Cast", "input: \"x\"", to)),
                    {x});
  };
  EXPECT_EQ(cast(kOfUint8, kOfInt8, 200), -56);
  EXPECT_EQ(cast(kOfUint8, kOfInt8, 127), 127);
  EXPECT_EQ(cast(kOfInt8, kOfUint8, -1), 255);
  EXPECT_EQ(cast(kOfInt64, kOfInt32, 0x1p31), -0x1p31);
  EXPECT_EQ(cast(kOfInt32, kOfUint16, -1), 65535);
  EXPECT_EQ(cast(kOfUint16, kOfInt16, 40000), -25536);
  EXPECT_EQ(cast(1, kOfInt8, 300.5), 44);
  EXPECT_EQ(cast(1, kOfUint8, -20.5), 236);
}

TEST(ImportIntegers, arithmetic_wraps) {
  const auto of = [](const std::string& op, int type, double x, double y) {
    return value_of(integer_network(input_of("x", type) + input_of("z", type) +
                                    node_of(op, "input: \"x\" input: \"z\"")),
                    {x, y});
  };
  EXPECT_EQ(of("Add", kOfInt8, 100, 100), -56);
  EXPECT_EQ(of("Sub", kOfUint8, 3, 5), 254);
  EXPECT_EQ(of("Mul", kOfInt8, 20, 15), 44);
  EXPECT_EQ(of("Mul", kOfInt16, 300, 300), 24464);
  EXPECT_EQ(of("Add", kOfInt32, 0x1p31 - 1, 1), -0x1p31);
  EXPECT_EQ(of("Add", kOfInt64, -0x1p63, -2048), 0x1p63 - 2048);
}

TEST(ImportIntegers, one_operand_wraps) {
  const auto of = [](const std::string& op, int type, double x) {
    return value_of(integer_network(input_of("x", type) + node_of(op, "input: \"x\"")), {x});
  };
  EXPECT_EQ(of("Neg", kOfInt8, -128), -128);
  EXPECT_EQ(of("Abs", kOfInt8, -128), -128);
  EXPECT_EQ(of("Abs", kOfInt8, -127), 127);
}

TEST(ImportIntegers, what_fits_is_left_alone) {
  const Graph made =
      integer_network(input_of("x", kOfUint8) + node_of("Cast", "input: \"x\"", kOfInt32));
  EXPECT_EQ(made.nodes.size(), 1U);
}

}  // namespace
}  // namespace bf_aot
