// Boxes that go to a device together, by the time that calls took.
#include "aot/engine/device/group_size.h"

#include <gtest/gtest.h>

#include <vector>

namespace bf_aot::engine {
namespace {

TEST(GroupSize, begins_with_the_boxes_that_a_device_bounds_side_by_side) {
  EXPECT_EQ(GroupSize().boxes(1, 4096), 1U);
  EXPECT_EQ(GroupSize().boxes(132, 4096), 132U);
  EXPECT_EQ(GroupSize().boxes(0, 0), 1U);
  EXPECT_EQ(GroupSize().boxes(132, 7), 7U) << "there is no room for more";
}

TEST(GroupSize, grows_while_calls_are_short_as_far_as_there_is_room) {
  GroupSize size;
  std::vector<std::size_t> made;
  for (int i = 0; i < 6; ++i) {
    made.push_back(size.boxes(2, 50));
    size.took(made.back(), 0.001);
  }
  EXPECT_EQ(made, (std::vector<std::size_t>{2, 4, 8, 16, 32, 50}));
}

TEST(GroupSize, a_call_that_takes_longer_halves_it_down_to_what_takes_as_long) {
  GroupSize size;
  for (int i = 0; i < 5; ++i) size.took(size.boxes(4, 4096), 0.001);
  EXPECT_EQ(size.boxes(4, 4096), 128U);
  size.took(128, 0.1);
  EXPECT_EQ(size.boxes(4, 4096), 128U);
  size.took(128, 0.4);
  EXPECT_EQ(size.boxes(4, 4096), 64U);
  for (int i = 0; i < 9; ++i) size.took(size.boxes(4, 4096), 60);
  EXPECT_EQ(size.boxes(4, 4096), 4U);
}

TEST(GroupSize, the_short_call_of_the_last_boxes_says_nothing) {
  GroupSize size;
  size.took(64, 0.001);
  size.took(3, 0.0001);
  EXPECT_EQ(size.boxes(1, 4096), 128U);
}

}  // namespace
}  // namespace bf_aot::engine
