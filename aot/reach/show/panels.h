#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aot/reach/question/loop.h"
#include "aot/reach/search/reach.h"

namespace bf_aot::reach {

// Drawings of one size, in pixels.
inline constexpr double kPanelWidth = 430, kPanelHeight = 260;

// One drawing: its SVG elements, whose place (0, 0) is the panel's corner.
struct Panel {
  std::string title;  // not escaped
  std::string body;
};

// Returns the style sheet of the elements, for light and for dark ground.
std::string panel_style();

// "x[2]", or the name that the question gives it.
std::string state_label(const Question& question, std::size_t state);
// "s" or "steps".
const char* time_unit(const Question& question);
// The end of what is looked at.
mpq_class horizon(const Question& question);

// A panel for each state over time, those that requirements speak of first, at most 24, and phase
// plots of pairs. A tube of many pieces is drawn by fewer that hold them.
std::vector<Panel> tube_panels(const Question& question, const ReachOutcome& outcome);

}  // namespace bf_aot::reach
