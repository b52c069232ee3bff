#include "aot/artifacts/report/rails.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostic.h"

namespace bf_aot::artifacts {
namespace {

constexpr int kPitch = 14;  // pixels between rails
constexpr int kColours = 6;

// The rail that each row's result runs in, and the row where it ends.
struct Placement {
  std::vector<int> rail;
  std::vector<int> last;  // the last row that reads it; itself when none does
  int rails = 0;
};

Placement place(const std::vector<std::vector<int>>& inputs) {
  const auto count = inputs.size();
  Placement result{std::vector<int>(count), std::vector<int>(count), 0};
  for (std::size_t i = 0; i < count; ++i) {
    result.last[i] = static_cast<int>(i);
    for (const int input : inputs[i]) {
      BF_CHECK(input >= 0 && static_cast<std::size_t>(input) < i);
      result.last[static_cast<std::size_t>(input)] = static_cast<int>(i);
    }
  }
  std::vector<bool> taken;
  for (std::size_t i = 0; i < count; ++i) {
    // Rails that end here are free again, so that a chain runs straight down.
    for (const int input : inputs[i])
      if (result.last[static_cast<std::size_t>(input)] == static_cast<int>(i))
        taken[static_cast<std::size_t>(result.rail[static_cast<std::size_t>(input)])] = false;
    const auto free = std::ranges::find(taken, false);
    const auto rail = static_cast<std::size_t>(free - taken.begin());
    if (rail == taken.size()) taken.push_back(false);
    taken[rail] = result.last[i] > static_cast<int>(i);
    result.rail[i] = static_cast<int>(rail);
    result.rails = std::max(result.rails, static_cast<int>(rail) + 1);
  }
  return result;
}

int x_of(int rail) {
  return 10 + kPitch * rail;
}

}  // namespace

Rails draw_rails(const std::vector<std::vector<int>>& inputs,
                 const std::vector<std::string>& css_class, int row_height) {
  const Placement placed = place(inputs);
  const int width = x_of(std::max(placed.rails - 1, 0)) + 12;
  const int middle = row_height / 2;
  Rails result{{}, width};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int row = static_cast<int>(i), x = x_of(placed.rail[i]);
    std::string text = fmt::format(
        "<svg class=\"rail\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "aria-hidden=\"true\">",
        width, row_height);
    for (std::size_t other = 0; other < i; ++other) {
      const int last = placed.last[other], from = x_of(placed.rail[other]);
      if (last < row) continue;
      const int colour = placed.rail[other] % kColours;
      if (last > row)
        text += fmt::format("<path class=\"e e{}\" d=\"M{} 0V{}\"/>", colour, from, row_height);
      if (std::ranges::count(inputs[i], static_cast<int>(other)) > 0)
        text += from == x
                    ? fmt::format("<path class=\"e e{}\" d=\"M{} 0V{}\"/>", colour, from, middle)
                    : fmt::format("<path class=\"e e{0}\" d=\"M{1} 0C{1} {2} {3} 2 {3} {2}\"/>",
                                  colour, from, middle, x);
    }
    if (placed.last[i] > row)
      text += fmt::format("<path class=\"e e{}\" d=\"M{} {}V{}\"/>", placed.rail[i] % kColours, x,
                          middle, row_height);
    text += fmt::format(
        "<rect class=\"node {}\" x=\"{}\" y=\"{}\" width=\"9\" height=\"9\" rx=\"2.5\"/>",
        css_class[i], x - 4.5, middle - 4.5);
    result.rows.push_back(text + "</svg>");
  }
  return result;
}

std::vector<std::vector<int>> reduce_edges(const std::vector<std::vector<int>>& inputs) {
  const std::size_t count = inputs.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));  // [from][ancestor]
  std::vector<std::vector<int>> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<int> nearest = inputs[i];
    std::ranges::sort(nearest, std::greater());
    for (const int input : nearest) {
      const auto at = static_cast<std::size_t>(input);
      if (reaches[i][at]) continue;
      result[i].push_back(input);
      reaches[i][at] = true;
      for (std::size_t k = 0; k < at; ++k)
        if (reaches[at][k]) reaches[i][k] = true;
    }
    std::ranges::sort(result[i]);
  }
  return result;
}

}  // namespace bf_aot::artifacts
