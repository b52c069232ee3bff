#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "aot/reach/question/loop.h"
#include "aot/reach/search/reach.h"

namespace bf_aot::cli {

// "verified", "falsified", "unknown", "bounded".
const char* word(reach::ReachAnswer answer);

// name: of the question, for readers of several answers.
nlohmann::ordered_json to_json(const std::string& name, const reach::Question& question,
                               const reach::ReachOutcome& outcome);

// The answer for people: its word, what decided it, the last ranges of the state, the times.
std::string text_of(const reach::Question& question, const reach::ReachOutcome& outcome);

}  // namespace bf_aot::cli
