// Normalisations, Softmax and quantisation on numbers of the ONNX operator document or checked by
// hand. Random ones: tests/differential.

#include <cmath>

#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;

// x W by the codes of x, as ONNX Runtime's dynamic quantisation writes it. The zero point and the
// scale depend on x: -1 to 4 is 255 steps of 1 / 51, of which 51 are below zero.
TEST(ImportQuantize, ZeroPointsMayBeComputed) {
  const Graph graph = import_model_bytes(test::encode_model(R"(
          ir_version: 8 opset_import { version: 13 } graph { name: "g"
          node { op_type: "DynamicQuantizeLinear" input: "x" output: "codes" output: "scale"
                 output: "zero" }
          node { op_type: "MatMulInteger" input: "codes" input: "w" input: "zero" output: "y" }
          initializer { name: "w" dims: 2 dims: 1 data_type: 3 int32_data: [3, -4] }
          input { name: "x" type { tensor_type { elem_type: 1 shape {
            dim { dim_value: 1 } dim { dim_value: 2 } } } } }
          output { name: "y" } })"),
                                         "m", {})
                          .graph;
  EXPECT_EQ(evaluate(graph, {{-1, 4}})[0], (std::vector<double>{-51 * 3 - 204 * 4}));
}

TEST(ImportSoftmax, of_one_two_and_three) {
  OperatorCase("Softmax", 13).input({2, 1}, {3, -7}).expect({2, 1}, {1, 1});
  OperatorCase("LogSoftmax", 13).input({2, 1}, {3, -7}).expect({2, 1}, {0, 0});
  OperatorCase("Softmax", 13).input({1, 2}, {0, std::log(3)}).expect({1, 2}, {0.25, 0.75});
  OperatorCase("LogSoftmax", 13)
      .input({1, 2}, {0, std::log(3)})
      .expect({1, 2}, {std::log(0.25), std::log(0.75)});
  OperatorCase("Softmax", 13)
      .input({1, 3}, {-1, 0, 1})
      .expect({1, 3}, {0.09003057, 0.24472848, 0.66524096}, 1e-8);
  OperatorCase("LogSoftmax", 13)
      .input({1, 3}, {-1, 0, 1})
      .expect({1, 3}, {-2.4076059, -1.407606, -0.407606}, 1e-6);
}

// exp(10000) overflows; differences do not.
TEST(ImportSoftmax, large_numbers) {
  OperatorCase("Softmax", 13)
      .input({2, 4}, {0, 1, 2, 3, 10000, 10001, 10002, 10003})
      .expect({2, 4},
              {0.032058604, 0.08714432, 0.23688284, 0.6439143, 0.032058604, 0.08714432, 0.23688284,
               0.6439143},
              1e-7);
}

// Before opset 13 everything from the axis on is normalised together.
TEST(ImportSoftmax, axes_of_old_and_new_operator_sets) {
  const std::vector<double> x = {0, 0, 0, 0};
  OperatorCase("Softmax", 11).input({1, 2, 2}, x).expect({1, 2, 2}, {.25, .25, .25, .25});
  OperatorCase("Softmax", 13).input({1, 2, 2}, x).expect({1, 2, 2}, {.5, .5, .5, .5});
  OperatorCase("Softmax", 13)
      .input({2, 2}, {0, 0, std::log(3), 0})
      .number("axis", 0)
      .expect({2, 2}, {.25, .5, .75, .5});
}

TEST(ImportBatchNormalization, with_its_epsilon) {
  OperatorCase("BatchNormalization", 15)
      .input({1, 2, 1, 3}, {-1, 0, 1, 2, 3, 4})
      .constant({2}, {1, 1.5})
      .constant({2}, {0, 1})
      .constant({2}, {0, 3})
      .constant({2}, {0.75, 2})
      .real("epsilon", 0.25)
      .expect({1, 2, 1, 3}, {-1, 0, 1, 0, 1, 2});
}

TEST(ImportNormalization, mean_and_deviation) {
  // Deviations from the mean -1 and 1, variance 1, epsilon 3: divided by 2.
  OperatorCase("InstanceNormalization", 6)
      .input({1, 2, 2}, {1, 3, 10, 12})
      .constant({2}, {1, 2})
      .constant({2}, {0, 5})
      .real("epsilon", 3)
      .expect({1, 2, 2}, {-0.5, 0.5, 4, 6});
  OperatorCase("LayerNormalization", 17)
      .input({2, 2}, {1, 3, 10, 12})
      .constant({2}, {1, 2})
      .constant({2}, {0, 5})
      .real("epsilon", 3)
      .expect({2, 2}, {-0.5, 6, -0.5, 6});
  OperatorCase("GroupNormalization", 21)
      .input({1, 4}, {1, 3, 10, 12})
      .constant({4}, {1, 2, 3, 4})
      .constant({4}, {0, 0, 0, 1})
      .number("num_groups", 2)
      .real("epsilon", 3)
      .expect({1, 4}, {-0.5, 1, -1.5, 3});
  OperatorCase("GroupNormalization", 18)
      .input({1, 4}, {1, 3, 10, 12})
      .constant({2}, {1, 2})
      .constant({2}, {0, 1})
      .number("num_groups", 2)
      .real("epsilon", 3)
      .expect({1, 4}, {-0.5, 0.5, 0, 2});
  OperatorCase("RMSNormalization", 23)
      .input({1, 2}, {1, 7})
      .constant({2}, {1, 2})
      .real("epsilon", 11)
      .expect({1, 2}, {1. / 6, 14. / 6});
  OperatorCase("MeanVarianceNormalization", 13)
      .input({1, 4}, {1, 3, 1, 3})
      .ints("axes", {1})
      .expect({1, 4}, {-1, 1, -1, 1}, 1e-8);
  OperatorCase("LpNormalization", 1).input({1, 2}, {3, -4}).expect({1, 2}, {0.6, -0.8});
  OperatorCase("LpNormalization", 1)
      .input({1, 2}, {3, -5})
      .number("p", 1)
      .expect({1, 2}, {0.375, -0.625});
}

TEST(ImportLrn, sums_over_neighbouring_channels) {
  OperatorCase("LRN", 13)
      .input({1, 3, 1}, {1, 2, 3})
      .number("size", 2)
      .real("alpha", 2)
      .real("beta", 0.5)
      .real("bias", 4)
      .expect({1, 3, 1}, {1 / 3., 2 / std::sqrt(17.), 3 / std::sqrt(13.)});
}

TEST(ImportQuantize, rounds_ties_to_even_and_saturates) {
  OperatorCase("QuantizeLinear", 13)
      .input({6}, {0, 2, 3, 1000, -254, -1000})
      .constant({}, {2})
      .constant({}, {128}, 2)
      .expect({6}, {128, 129, 130, 255, 1, 0});
  OperatorCase("QuantizeLinear", 13)
      .input({4}, {0.5, 1.5, 2.5, -0.5})
      .constant({}, {1})
      .expect({4}, {0, 2, 2, 0});
  OperatorCase("QuantizeLinear", 13)
      .input({1, 3, 1, 2}, {-162, 10, -100, 232, -20, -50})
      .constant({3}, {2, 4, 5})
      .constant({3}, {84, 24, 196}, 2)
      .expect({1, 3, 1, 2}, {3, 89, 0, 82, 192, 186});
}

TEST(ImportQuantize, back_to_reals) {
  OperatorCase("DequantizeLinear", 13)
      .input({4}, {0, 3, 128, 255}, 2)
      .constant({}, {2})
      .constant({}, {128}, 2)
      .expect({4}, {-256, -250, 0, 254});
  OperatorCase("DequantizeLinear", 21)
      .input({2, 3}, {1, 2, 3, 4, 5, 6}, 3)
      .constant({2, 2}, {1, 10, 100, 1000})
      .number("axis", 1)
      .number("block_size", 2)
      .expect({2, 3}, {1, 2, 30, 400, 500, 6000});
}

TEST(ImportQuantize, products_of_the_operator_document) {
  OperatorCase("MatMulInteger", 10)
      .input({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}, 2)
      .constant({3, 2}, {1, 4, 2, 5, 3, 6}, 2)
      .constant({1}, {12}, 2)
      .constant({1}, {0}, 2)
      .expect({4, 2}, {-38, -83, -44, -98, -50, -113, -56, -128});
  OperatorCase("QLinearMatMul", 10)
      .input({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29}, 2)
      .constant({1}, {0.0066})
      .constant({1}, {113}, 2)
      .constant({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247}, 2)
      .constant({1}, {0.00705})
      .constant({1}, {114}, 2)
      .constant({1}, {0.0107})
      .constant({1}, {118}, 2)
      .expect({2, 3}, {168, 115, 255, 1, 66, 151});
}

// The grid is exact: an accumulator of 5 times 1/2 is 2.5, and the tie goes to 2.
TEST(ImportQuantize, convolutions) {
  OperatorCase("QLinearConv", 10)
      .input({1, 1, 3}, {13, 15, 17}, 2)
      .constant({}, {0.5})
      .constant({}, {10}, 2)
      .constant({2, 1, 1}, {1, 2}, 3)
      .constant({2}, {1, 0.5})
      .constant({2}, {0, 1}, 3)
      .constant({}, {1})
      .constant({}, {100}, 2)
      .constant({2}, {0, 4}, 6)
      .expect({1, 2, 3}, {102, 102, 104, 102, 102, 103});
}

TEST(ImportQuantize, with_a_range_of_its_own) {
  OperatorCase("DynamicQuantizeLinear", 11)
      .input({4}, {-51, 0, 102, 204})
      .expect({4}, {0, 51, 153, 255});
}

}  // namespace
}  // namespace bf_aot
