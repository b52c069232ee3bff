#include "aot/artifacts/report/plot.h"

#include <gtest/gtest.h>

namespace bf_aot::artifacts {
namespace {

constexpr Plot kPlot{.left = 50,
                     .right = 250,
                     .top = 10,
                     .bottom = 110,
                     .x_least = 1,
                     .x_most = 5,
                     .y_least = 0.5,
                     .y_most = 1};

TEST(Plot, edges_are_the_ends_of_the_axes) {
  EXPECT_EQ(kPlot.x(1), 50);
  EXPECT_EQ(kPlot.x(5), 250);
  EXPECT_EQ(kPlot.x(2), 100);
  EXPECT_EQ(kPlot.y(1), 10);
  EXPECT_EQ(kPlot.y(0.5), 110);
  EXPECT_EQ(kPlot.y(0.75), 60);
}

TEST(Plot, a_line_through_the_field_has_its_label) {
  EXPECT_EQ(kPlot.y_line(0.75, "75 %"),
            "<line class=\"grid\" x1=\"50.0\" x2=\"250.0\" y1=\"60.0\" y2=\"60.0\"/>"
            "<text x=\"44.0\" y=\"64.0\" text-anchor=\"end\">75 %</text>\n");
}

TEST(Plot, labels_that_would_touch_are_left_out) {
  const std::vector<std::pair<double, std::string>> labels = {
      {1, "a"}, {1.5, "b"}, {2, "c"}, {2.9, "d"}, {5, "e"}};
  const std::string apart = kPlot.x_labels(labels, 50);
  EXPECT_EQ(apart,
            "<text x=\"50.0\" y=\"128.0\" text-anchor=\"middle\">a</text>\n"
            "<text x=\"100.0\" y=\"128.0\" text-anchor=\"middle\">c</text>\n"
            "<text x=\"250.0\" y=\"128.0\" text-anchor=\"middle\">e</text>\n");
  EXPECT_EQ(kPlot.x_labels({}, 50), "");
}

TEST(Plot, lines_pass_through_their_points) {
  EXPECT_EQ(kPlot.line({{1, 0.5}, {3, 1}}, "class=\"line\""),
            "<polyline class=\"line\" points=\"50.0,110.0 150.0,10.0 \"/>\n");
  EXPECT_EQ(svg_head(300, 130.4, "class=\"map\""),
            "<svg class=\"map\" width=\"300\" height=\"130\" viewBox=\"0 0 300 130\">\n");
}

}  // namespace
}  // namespace bf_aot::artifacts
