// How tensor data of every element type and storage is read.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/float16.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

const std::string kAround = R"(
  ir_version: 8 opset_import { version: 17 }
  graph { input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } } } } }
          output { name: "y" } )";

// The numbers of a real tensor with these fields.
std::vector<double> read_real(const std::string& fields, const std::string& folder = "") {
  const std::string text = kAround +
                           "node { op_type: \"Add\" input: \"x\" input: \"t\" output: \"y\" }" +
                           "initializer { name: \"t\" " + fields + " } }";
  const Graph graph = import_model_bytes(test::encode_model(text), "m", folder).graph;
  return std::get<Literal>(graph.nodes.at(0).op).value.data;
}

// The integers of a tensor with these fields, read as the target shape of x: must hold one element.
Shape read_integers(const std::string& fields) {
  const std::string text = kAround +
                           "node { op_type: \"Reshape\" input: \"x\" input: \"t\" output: \"y\" }" +
                           "initializer { name: \"t\" " + fields + " } }";
  const Graph graph = import_model_bytes(test::encode_model(text), "m", {}).graph;
  return graph.value(graph.outputs[0]).shape;
}

using Doubles = std::vector<double>;

TEST(Tensors, float_storage) {
  EXPECT_EQ(read_real("dims: 2 data_type: 1 float_data: [0.1, -3]"), (Doubles{0.1f, -3}));
  EXPECT_EQ(read_real("dims: 2 data_type: 1 raw_data: \"\\315\\314\\314=\\000\\000@\\300\""),
            (Doubles{0.1f, -3}));
  EXPECT_EQ(read_real("data_type: 1 raw_data: \"\\001\\000\\000\\000\""), (Doubles{0x1p-149}));
}

TEST(Tensors, double_storage) {
  EXPECT_EQ(read_real("dims: 1 data_type: 11 double_data: 0.1"), (Doubles{0.1}));
  EXPECT_EQ(read_real("data_type: 11 raw_data: \"\\232\\231\\231\\231\\231\\231\\271?\""),
            (Doubles{0.1}));
}

TEST(Tensors, float16_storage) {
  EXPECT_EQ(read_real("dims: 3 data_type: 10 int32_data: [15360, 1, 64511]"),
            (Doubles{1, 0x1p-24, -65504}));
  EXPECT_EQ(read_real("dims: 1 data_type: 10 raw_data: \"\\000\\302\""), (Doubles{-3}));
}

TEST(Tensors, bfloat16_storage) {
  EXPECT_EQ(read_real("dims: 2 data_type: 16 int32_data: [16256, 49216]"), (Doubles{1, -3}));
  EXPECT_EQ(read_real("dims: 1 data_type: 16 raw_data: \"@\\300\""), (Doubles{-3}));
}

TEST(Tensors, external_storage) {
  const test::TempFolder folder;
  test::write_bytes(folder.path() / "w.bin", std::string("pad\0\0\200?\0\0@\300", 11));
  EXPECT_EQ(read_real("dims: 2 data_type: 1 data_location: EXTERNAL "
                      "external_data { key: \"location\" value: \"w.bin\" } "
                      "external_data { key: \"offset\" value: \"3\" } "
                      "external_data { key: \"length\" value: \"8\" } "
                      "external_data { key: \"checksum\" value: \"unchecked\" }",
                      folder.path().string()),
            (Doubles{1, -3}));
}

TEST(Tensors, integer_storage) {
  const struct {
    int type;
    const char* typed;
    const char* raw;  // 1, then -1 or, for unsigned types, 1
  } cases[] = {
      {2, "int32_data: [1, 1]", "\\001\\001"},             // uint8
      {3, "int32_data: [1, -1]", "\\001\\377"},            // int8
      {4, "int32_data: [1, 1]", "\\001\\000\\001\\000"},   // uint16
      {5, "int32_data: [1, -1]", "\\001\\000\\377\\377"},  // int16
      {6, "int32_data: [1, -1]", "\\001\\000\\000\\000\\377\\377\\377\\377"},
      {7, "int64_data: [1, -1]",
       "\\001\\000\\000\\000\\000\\000\\000\\000"
       "\\377\\377\\377\\377\\377\\377\\377\\377"},
      {9, "int32_data: [1, 1]", "\\001\\001"},  // bool
      {12, "uint64_data: [1, 1]", "\\001\\000\\000\\000\\001\\000\\000\\000"},
      {13, "uint64_data: [1, 1]",
       "\\001\\000\\000\\000\\000\\000\\000\\000"
       "\\001\\000\\000\\000\\000\\000\\000\\000"},
  };
  for (const auto& each : cases) {
    const std::string head = "dims: 2 data_type: " + std::to_string(each.type) + " ";
    EXPECT_EQ(read_integers(head + each.typed), (Shape{1, 1})) << each.type;
    EXPECT_EQ(read_integers(head + "raw_data: \"" + each.raw + "\""), (Shape{1, 1})) << each.type;
  }
}

// Types of which a byte holds several elements, the first in its lowest bits: x times each, for
// x = 1. 0x9e is -2 and -7 of int4, 14 and 9 of uint4.
TEST(Tensors, packed_storage) {
  const auto values = [](int type, int count, const std::string& data) {
    const std::string text = kAround +
                             R"(node { op_type: "Cast" input: "t" output: "r"
                                       attribute { name: "to" type: INT i: 1 } }
                                node { op_type: "Mul" input: "x" input: "r" output: "y" }
                                initializer { name: "t" dims: )" +
                             std::to_string(count) + " data_type: " + std::to_string(type) + " " +
                             data + " } }";
    return evaluate(import_model_bytes(test::encode_model(text), "m", {}).graph, {{1}})[0];
  };
  EXPECT_EQ(values(22, 3, "raw_data: \"\\236\\007\""), (Doubles{-2, -7, 7}));  // int4
  EXPECT_EQ(values(22, 3, "int32_data: [158, 7]"), (Doubles{-2, -7, 7}));
  EXPECT_EQ(values(21, 3, "raw_data: \"\\236\\010\""), (Doubles{14, 9, 8}));  // uint4
  EXPECT_EQ(values(21, 2, "int32_data: 158"), (Doubles{14, 9}));
  EXPECT_EQ(values(26, 5, "raw_data: \"\\344\\001\""), (Doubles{0, 1, -2, -1, 1}));  // int2
  EXPECT_EQ(values(25, 5, "int32_data: [228, 2]"), (Doubles{0, 1, 2, 3, 2}));        // uint2
}

// Floats of 8 bits: the least, one, the largest, minus 1.5. A cast to integers cuts fractions off.
TEST(Tensors, float8_storage) {
  EXPECT_EQ(read_real("dims: 4 data_type: 17 int32_data: [1, 56, 126, 188]"),
            (Doubles{0x1p-9, 1, 448, -1.5}));  // e4m3fn
  EXPECT_EQ(read_real("dims: 4 data_type: 18 int32_data: [1, 64, 127, 196]"),
            (Doubles{0x1p-10, 1, 240, -1.5}));  // e4m3fnuz
  EXPECT_EQ(read_real("dims: 4 data_type: 19 int32_data: [1, 60, 123, 190]"),
            (Doubles{0x1p-16, 1, 57344, -1.5}));  // e5m2
  EXPECT_EQ(read_real("dims: 4 data_type: 20 int32_data: [1, 64, 127, 194]"),
            (Doubles{0x1p-17, 1, 57344, -1.5}));  // e5m2fnuz
  EXPECT_EQ(read_real("dims: 3 data_type: 24 raw_data: \"\\000\\177\\376\""),
            (Doubles{0x1p-127, 1, 0x1p127}));  // e8m0
  const auto refused = [](const std::string& fields) {
    try {
      read_real(fields);
    } catch (const CompileError& error) {
      return error.diagnostics().front().code;
    }
    return std::string("read");
  };
  EXPECT_EQ(refused("dims: 1 data_type: 17 int32_data: 127"), "BF1023");
  EXPECT_EQ(refused("dims: 1 data_type: 18 int32_data: 128"), "BF1023");
  EXPECT_EQ(refused("dims: 1 data_type: 19 int32_data: 124"), "BF1023");
  EXPECT_EQ(refused("dims: 1 data_type: 24 int32_data: 255"), "BF1023");
  const std::string cast = kAround + R"(node { op_type: "Cast" input: "t" output: "r"
                                               attribute { name: "to" type: INT i: 7 } }
                                        node { op_type: "Cast" input: "r" output: "f"
                                               attribute { name: "to" type: INT i: 1 } }
                                        node { op_type: "Mul" input: "x" input: "f" output: "y" }
                                        initializer { name: "t" dims: 2 data_type: 17
                                                      int32_data: [188, 68] } })";
  EXPECT_EQ(evaluate(import_model_bytes(test::encode_model(cast), "m", {}).graph, {{1}})[0],
            (Doubles{-1, 3}));
}

// x plus a tensor that is stored by its elements that are not zero: by places in a flat tensor, or
// by their coordinates.
TEST(Tensors, sparse_storage) {
  const auto sum = [](const std::string& indices) {
    const std::string text = kAround +
                             R"(node { op_type: "Add" input: "x" input: "t" output: "y" }
                                sparse_initializer { dims: 2 dims: 3
                                  values { name: "t" dims: 2 data_type: 1 float_data: [4, 5] } )" +
                             indices + "} }";
    return evaluate(import_model_bytes(test::encode_model(text), "m", {}).graph, {{1}})[0];
  };
  const Doubles expected = {1, 5, 1, 1, 1, 6};
  EXPECT_EQ(sum("indices { dims: 2 data_type: 7 int64_data: [1, 5] }"), expected);
  EXPECT_EQ(sum("indices { dims: 2 dims: 2 data_type: 7 int64_data: [0, 1, 1, 2] }"), expected);
}

// Against the definition: (-1)^s 2^(e-15) (1 + f/1024), subnormal 2^-14 f/1024.
TEST(Float16, all_values) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double fraction = (bits & 1023) / 1024.0;
    const double value = float16_to_double(static_cast<std::uint16_t>(bits));
    if (exponent == 31) {
      EXPECT_TRUE(fraction == 0 ? value == sign * HUGE_VAL : std::isnan(value)) << bits;
    } else {
      const double expected = exponent == 0 ? sign * std::pow(2, -14) * fraction
                                            : sign * std::pow(2, exponent - 15) * (1 + fraction);
      EXPECT_EQ(value, expected) << bits;
      EXPECT_EQ(std::signbit(value), sign < 0) << bits;
    }
  }
}

TEST(Float16, bfloat16_is_half_a_float) {
  EXPECT_EQ(bfloat16_to_double(0x3f80), 1);
  EXPECT_EQ(bfloat16_to_double(0xc040), -3);
  EXPECT_EQ(bfloat16_to_double(0x0001), 0x1p-133);
  EXPECT_EQ(bfloat16_to_double(0x7f80), HUGE_VAL);
  EXPECT_TRUE(std::isnan(bfloat16_to_double(0x7fc0)));
  EXPECT_TRUE(std::signbit(bfloat16_to_double(0x8000)));
}

}  // namespace
}  // namespace bf_aot
