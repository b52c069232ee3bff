#pragma once

#include <string>

#include "aot/reach/question/loop.h"
#include "aot/reach/search/reach.h"

namespace bf_aot::cli {

// The answer for people: its word, what decided it, the last ranges of the state, the times.
std::string text_of(const reach::Question& question, const reach::ReachOutcome& outcome);

}  // namespace bf_aot::cli
