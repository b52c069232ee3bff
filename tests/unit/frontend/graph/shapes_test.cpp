#include "frontend/graph/shapes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

using Numbers = std::vector<std::int64_t>;

// The result, or nullopt when the step fails with BF1014.
template <typename Step>
std::optional<Shape> try_shape(Step step) {
  try {
    return step();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "BF1014");
    EXPECT_EQ(error.diagnostics().front().where, "");
    return std::nullopt;
  }
}

struct Pair {
  Shape a;
  Shape b;
  std::optional<Shape> expected;
};

TEST(Shapes, counts_elements_without_overflow) {
  constexpr std::int64_t kHuge = 1LL << 62;
  EXPECT_EQ(checked_element_count({}), 1);
  EXPECT_EQ(checked_element_count({3, 4}), 12);
  EXPECT_EQ(checked_element_count({3, 0}), 0);
  EXPECT_EQ(checked_element_count({kHuge}), kHuge);
  EXPECT_EQ(checked_element_count({kHuge, 2}), std::nullopt);
  EXPECT_EQ(checked_element_count({kHuge, 2, 0}), std::nullopt);
  EXPECT_EQ(checked_element_count({0, kHuge, 2}), std::nullopt);
  EXPECT_EQ(checked_element_count({-1, 0}), std::nullopt);
}

TEST(Shapes, broadcast) {
  const Pair cases[] = {
      {{}, {}, Shape{}},
      {{}, {2, 3}, Shape{2, 3}},
      {{3}, {2, 3}, Shape{2, 3}},
      {{2, 1}, {3}, Shape{2, 3}},
      {{1, 4, 1}, {5, 1, 6}, Shape{5, 4, 6}},
      {{2}, {3}, std::nullopt},
      {{2, 3}, {2}, std::nullopt},
  };
  for (const Pair& each : cases) {
    EXPECT_EQ(try_shape([&] { return broadcast_shapes(each.a, each.b); }), each.expected);
    EXPECT_EQ(try_shape([&] { return infer_shape(Binary{}, {each.b, each.a}); }), each.expected);
  }
}

TEST(Shapes, broadcasts_to_one_side_only) {
  EXPECT_TRUE(broadcasts_to({}, {2, 3}));
  EXPECT_TRUE(broadcasts_to({3}, {2, 3}));
  EXPECT_TRUE(broadcasts_to({2, 1}, {2, 3}));
  EXPECT_FALSE(broadcasts_to({2}, {2, 3}));
  EXPECT_FALSE(broadcasts_to({1, 2, 3}, {2, 3}));
  EXPECT_FALSE(broadcasts_to({2, 3}, {1, 3}));
}

TEST(Shapes, matmul_as_numpy) {
  const Pair cases[] = {
      {{2, 3}, {3, 4}, Shape{2, 4}},
      {{3}, {3, 4}, Shape{4}},
      {{2, 3}, {3}, Shape{2}},
      {{3}, {3}, Shape{}},
      {{5, 2, 3}, {3, 4}, Shape{5, 2, 4}},
      {{5, 1, 2, 3}, {6, 3, 4}, Shape{5, 6, 2, 4}},
      {{3}, {5, 3, 4}, Shape{5, 4}},
      {{5, 2, 3}, {3}, Shape{5, 2}},
      {{2, 3}, {2, 3}, std::nullopt},
      {{2, 2, 3}, {3, 3, 4}, std::nullopt},
      {{}, {3}, std::nullopt},
      {{3}, {}, std::nullopt},
  };
  for (const Pair& each : cases)
    EXPECT_EQ(try_shape([&] {
                return infer_shape(MatMul{}, {each.a, each.b});
              }),
              each.expected)
        << to_string(each.a) << to_string(each.b);
}

TEST(Shapes, gemm) {
  const auto gemm = [](bool trans_a, bool trans_b, std::vector<Shape> inputs) {
    return try_shape([&] { return infer_shape(Gemm{1, 1, trans_a, trans_b}, inputs); });
  };
  EXPECT_EQ(gemm(false, false, {{2, 3}, {3, 4}}), (Shape{2, 4}));
  EXPECT_EQ(gemm(true, false, {{3, 2}, {3, 4}}), (Shape{2, 4}));
  EXPECT_EQ(gemm(false, true, {{2, 3}, {4, 3}}), (Shape{2, 4}));
  for (const Shape& c : {Shape{}, Shape{1}, Shape{4}, Shape{1, 4}, Shape{2, 1}, Shape{2, 4}})
    EXPECT_EQ(gemm(true, true, {{3, 2}, {4, 3}, c}), (Shape{2, 4})) << to_string(c);
  for (const Shape& c : {Shape{2}, Shape{4, 1}, Shape{1, 2, 4}})
    EXPECT_EQ(gemm(true, true, {{3, 2}, {4, 3}, c}), std::nullopt) << to_string(c);
  EXPECT_EQ(gemm(false, false, {{2, 3}, {4, 3}}), std::nullopt);
  EXPECT_EQ(gemm(false, false, {{3}, {3, 4}}), std::nullopt);
  EXPECT_EQ(gemm(false, false, {{1, 2, 3}, {3, 4}}), std::nullopt);
}

TEST(Shapes, flattened_operators) {
  const Constant weight{{3, 4}, std::vector<double>(12), {}};
  const Constant bias{{3}, std::vector<double>(3), {}};
  EXPECT_EQ(infer_shape(Op(Affine{weight, bias}), {{2, 2}}), (Shape{3}));
  EXPECT_EQ(infer_shape(Op(IndexMap{{0, 0, 1}}), {{2}}), (Shape{3}));
  EXPECT_EQ(infer_shape(Op(Relu{}), {{2, 2}}), (Shape{2, 2}));
  EXPECT_EQ(infer_shape(Op(Scale{bias, bias}), {{3, 1}}), (Shape{3, 1}));
  EXPECT_EQ(infer_shape(Op(Literal{weight}), {}), (Shape{3, 4}));
  EXPECT_TRUE(works_on_flattened(Relu{}));
  EXPECT_FALSE(works_on_flattened(Binary{}));
}

TEST(Shapes, reshape) {
  const auto reshape = [](Shape input, Numbers target, bool allow_zero = false) {
    return try_shape([&] { return reshape_shape(input, target, allow_zero); });
  };
  EXPECT_EQ(reshape({2, 3, 4}, {6, 4}), (Shape{6, 4}));
  EXPECT_EQ(reshape({2, 3, 4}, {-1}), (Shape{24}));
  EXPECT_EQ(reshape({2, 3, 4}, {0, -1}), (Shape{2, 12}));
  EXPECT_EQ(reshape({2, 3, 4}, {0, 0, 0}), (Shape{2, 3, 4}));
  EXPECT_EQ(reshape({2, 3, 4}, {4, 0, -1}), (Shape{4, 3, 2}));
  EXPECT_EQ(reshape({1}, {}), (Shape{}));
  EXPECT_EQ(reshape({}, {-1, 1}), (Shape{1, 1}));
  EXPECT_EQ(reshape({0, 3}, {0, -1}), std::nullopt);
  EXPECT_EQ(reshape({0, 3}, {3, 0}, true), (Shape{3, 0}));
  EXPECT_EQ(reshape({2, 3}, {0, 3}, true), std::nullopt);
  EXPECT_EQ(reshape({2, 3}, {-1, -1}), std::nullopt);
  EXPECT_EQ(reshape({2, 3}, {4, -1}), std::nullopt);
  EXPECT_EQ(reshape({2, 3}, {2, 2}), std::nullopt);
  EXPECT_EQ(reshape({2, 3}, {2, 3, 0}), std::nullopt);
  EXPECT_EQ(reshape({2, 3}, {-2, -3}), std::nullopt);
}

TEST(Shapes, flatten_at_every_axis) {
  const Shape input = {2, 3, 4};
  const Shape expected[] = {{1, 24}, {2, 12}, {6, 4}, {24, 1}};
  for (std::int64_t axis = 0; axis <= 3; ++axis)
    EXPECT_EQ(flatten_shape(input, axis), expected[axis]);
  for (std::int64_t axis = -3; axis < 0; ++axis)
    EXPECT_EQ(flatten_shape(input, axis), expected[axis + 3]);
  EXPECT_EQ(flatten_shape({}, 0), (Shape{1, 1}));
  for (std::int64_t axis : {-4, 4})
    EXPECT_EQ(try_shape([&] { return flatten_shape(input, axis); }), std::nullopt);
}

TEST(Shapes, transpose_moves_each_element) {
  const Shape input = {2, 3, 4};
  const std::vector<std::int64_t> strides = row_major_strides(input);
  EXPECT_EQ(strides, (Numbers{12, 4, 1}));
  for (const Numbers& perm :
       {Numbers{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    const Shape output = transpose_shape(input, perm);
    const Numbers source = transpose_source(input, perm);
    std::size_t at = 0;
    for (std::int64_t i = 0; i < output[0]; ++i)
      for (std::int64_t j = 0; j < output[1]; ++j)
        for (std::int64_t k = 0; k < output[2]; ++k)
          EXPECT_EQ(source[at++], i * strides[static_cast<std::size_t>(perm[0])] +
                                      j * strides[static_cast<std::size_t>(perm[1])] +
                                      k * strides[static_cast<std::size_t>(perm[2])]);
    EXPECT_EQ(at, source.size());
  }
  EXPECT_EQ(transpose_source({}, {}), (Numbers{0}));
}

TEST(Shapes, transpose_accepts_permutations_only) {
  for (const Numbers& perm : {Numbers{0}, {0, 0}, {0, 2}, {-1, 0}, {0, 1, 2}})
    EXPECT_EQ(try_shape([&] { return transpose_shape({2, 3}, perm); }), std::nullopt);
}

TEST(Shapes, squeeze) {
  const auto squeeze = [](Shape input, std::optional<Numbers> axes) {
    return try_shape([&] { return squeeze_shape(input, axes); });
  };
  EXPECT_EQ(squeeze({1, 2, 1}, std::nullopt), (Shape{2}));
  EXPECT_EQ(squeeze({1, 2, 1}, Numbers{0}), (Shape{2, 1}));
  EXPECT_EQ(squeeze({1, 2, 1}, Numbers{-1}), (Shape{1, 2}));
  EXPECT_EQ(squeeze({1, 2, 1}, Numbers{}), (Shape{1, 2, 1}));
  EXPECT_EQ(squeeze({1, 2, 1}, Numbers{1}), std::nullopt);
  EXPECT_EQ(squeeze({1, 2, 1}, Numbers{0, -3}), std::nullopt);
  EXPECT_EQ(squeeze({1, 2, 1}, Numbers{3}), std::nullopt);
}

TEST(Shapes, unsqueeze) {
  const auto unsqueeze = [](Shape input, Numbers axes) {
    return try_shape([&] { return unsqueeze_shape(input, axes); });
  };
  EXPECT_EQ(unsqueeze({2, 3}, {0}), (Shape{1, 2, 3}));
  EXPECT_EQ(unsqueeze({2, 3}, {-1}), (Shape{2, 3, 1}));
  EXPECT_EQ(unsqueeze({2, 3}, {3, 0}), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(unsqueeze({}, {0, 1}), (Shape{1, 1}));
  EXPECT_EQ(unsqueeze({2}, {0, 0}), std::nullopt);
  EXPECT_EQ(unsqueeze({2}, {2}), std::nullopt);
  EXPECT_EQ(unsqueeze({2}, {0, -3}), std::nullopt);
}

}  // namespace
}  // namespace bf_aot
