// How tensor data of every element type and storage is read.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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
