// Networks that compare a class at each place with what an input says, as those of segmentation do.

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>

#include "aot/library/bf_aot.h"
#include "tests/support/model_text.h"

namespace bf_aot::api {
namespace {

// The class of each of three places by scores x [2, 3], one-hot, against classes m [3]:
//   y = OneHot(ArgMax(Softmax(relu(x))))[:, 1] == int(m)
std::string classes_model() {
  return test::encode_model(R"(ir_version: 8 opset_import { version: 13 } graph { name: 'classes'
    input { name: 'x' type { tensor_type { elem_type: 1
        shape { dim { dim_value: 2 } dim { dim_value: 3 } } } } }
    input { name: 'm' type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
    output { name: 'y' type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
    initializer { name: 'depth' data_type: 7 int64_data: 2 }
    initializer { name: 'channel' data_type: 7 int64_data: 1 }
    initializer { name: 'values' dims: 2 data_type: 7 int64_data: 0 int64_data: 1 }
    node { input: 'x' output: 'z' op_type: 'Relu' }
    node { input: 'z' output: 'p' op_type: 'Softmax' attribute { name: 'axis' i: 0 type: INT } }
    node { input: 'p' output: 'class' op_type: 'ArgMax'
        attribute { name: 'axis' i: 0 type: INT } attribute { name: 'keepdims' i: 0 type: INT } }
    node { input: 'class' input: 'depth' input: 'values' output: 'hot' op_type: 'OneHot' }
    node { input: 'hot' input: 'channel' output: 'second' op_type: 'Gather'
        attribute { name: 'axis' i: 1 type: INT } }
    node { input: 'm' output: 'integer' op_type: 'Cast' attribute { name: 'to' i: 7 type: INT } }
    node { input: 'second' input: 'integer' output: 'equal' op_type: 'Equal' }
    node { input: 'equal' output: 'y' op_type: 'Cast' attribute { name: 'to' i: 1 type: INT } } })");
}

// Place 0 is of class 1, place 1 of class 0, of place 2 it is open.
TEST(LibraryClasses, WhatIsDecidedIsExact) {
  const std::string bytes = classes_model();
  const auto model = Model::from_bytes(std::as_bytes(std::span(bytes)), "classes.onnx");
  ASSERT_TRUE(model) << model.error().text();
  for (const Method method :
       {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
    SCOPED_TRACE(to_string(method));
    const auto verifier = Verifier::make(*model, {.method = method});
    ASSERT_TRUE(verifier) << verifier.error().text();
    for (const float mask : {0.0F, 1.0F}) {
      const std::array<float, 9> lower = {1, 3, 1, 2, 0, 0, mask, mask, mask};
      const std::array<float, 9> upper = {1.5, 4, 2, 3, 2, 2, mask, mask, mask};
      const auto bounds = verifier->bounds(lower, upper);
      ASSERT_TRUE(bounds) << bounds.error().text();
      EXPECT_EQ(bounds->lower.at(0), mask);
      EXPECT_EQ(bounds->upper.at(0), mask);
      EXPECT_EQ(bounds->lower.at(1), 1 - mask);
      EXPECT_EQ(bounds->upper.at(1), 1 - mask);
      EXPECT_EQ(bounds->lower.at(2), 0);
      EXPECT_EQ(bounds->upper.at(2), 1);
    }
  }
}

}  // namespace
}  // namespace bf_aot::api
