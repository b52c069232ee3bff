#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bf_aot::artifacts {

// A directed graph in the margin of a table, one node per row, as version control systems draw
// history: a result that a later row still needs runs down in a rail of its own, so that nothing
// overlaps however many rows there are.
struct Rails {
  std::vector<std::string> rows;  // an SVG for each row, of the row's height
  int width = 0;                  // of all of them, in pixels
};

// inputs[i]: the rows, all above i, that row i reads; repetitions count once. css_class: the class
// of each row's node.
Rails draw_rails(const std::vector<std::vector<int>>& inputs,
                 const std::vector<std::string>& css_class, int row_height);

// The edges that do not follow from others, which are those drawn for a dense graph.
std::vector<std::vector<int>> reduce_edges(const std::vector<std::vector<int>>& inputs);

}  // namespace bf_aot::artifacts
