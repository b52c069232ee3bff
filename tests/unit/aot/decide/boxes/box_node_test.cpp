#include "aot/decide/boxes/box_node.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bf_aot::decide {
namespace {

constexpr std::size_t kInputs = 2;

tree::Node node_of(std::uint32_t root, std::vector<float> lower, std::vector<float> upper) {
  return {root, 3, box_state(kInputs, lower.data(), upper.data())};
}

TEST(BoxNode, IsReadAsItWasMade) {
  const tree::Node node = node_of(1, {-1.5f, 0x1p-149f}, {-0.0f, 3e38f});
  float lower[kInputs], upper[kInputs];
  read_box(node, kInputs, lower, upper);
  EXPECT_EQ(lower[0], -1.5f);
  EXPECT_EQ(lower[1], 0x1p-149f);
  EXPECT_TRUE(upper[0] == 0 && std::signbit(upper[0]));
  EXPECT_EQ(upper[1], 3e38f);
}

TEST(BoxNode, HasTheSameBytesOnEveryMachine) {
  const float one = 1, two = 2.5f;
  const std::vector<std::byte> state = box_state(1, &one, &two);
  const unsigned char expected[] = {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0x40};
  ASSERT_EQ(state.size(), sizeof(expected));
  for (std::size_t i = 0; i < state.size(); ++i)
    EXPECT_EQ(std::to_integer<unsigned char>(state[i]), expected[i]) << i;
}

TEST(BoxNode, ThatIsNoBoxOfItsCaseIsNamed) {
  const FloatBoxes boxes = {{0, 0, 5, 5}, {1, 1, 6, 6}, {3, 3, 3, 3}};
  EXPECT_EQ(case_states(boxes, kInputs).size(), 2u);
  EXPECT_EQ(case_states(boxes, kInputs)[1], node_of(1, {5, 5}, {6, 6}).state);
  EXPECT_EQ(box_fault(node_of(1, {5, 5}, {6, 5}), boxes, kInputs), nullptr);
  EXPECT_STREQ(box_fault(node_of(0, {5, 5}, {6, 6}), boxes, kInputs), "a box beyond its case");
  EXPECT_STREQ(box_fault(node_of(0, {1, 0}, {0, 1}), boxes, kInputs), "a box beyond its case");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_STREQ(box_fault(node_of(0, {nan, 0}, {1, 1}), boxes, kInputs), "a box beyond its case");
  EXPECT_STREQ(box_fault(node_of(2, {0, 0}, {1, 1}), boxes, kInputs),
               "a case that the property does not have");
  EXPECT_STREQ(box_fault({0, 0, {}}, boxes, kInputs), "a box of another size");
}

}  // namespace
}  // namespace bf_aot::decide
