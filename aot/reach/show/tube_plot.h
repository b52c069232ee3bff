#pragma once

#include <string>

#include "aot/reach/question/loop.h"
#include "aot/reach/search/reach.h"

namespace bf_aot::reach {

// The tube of an answer as a drawing: each state over time, pairs of states, what is forbidden,
// samples, and the trajectory that breaks a requirement. Less than 1 MB, readable on light and on
// dark ground; the same outcome gives the same bytes.
std::string tube_svg(const Question& question, const ReachOutcome& outcome);

// One self-contained page, without scripts: the answer, the requirements, the drawings, the ranges
// at the end.
std::string tube_html(const Question& question, const ReachOutcome& outcome);

}  // namespace bf_aot::reach
