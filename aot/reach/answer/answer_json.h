#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "aot/reach/question/loop.h"
#include "aot/reach/search/reach.h"

namespace bf_aot::reach {

// "verified", "falsified", "unknown", "bounded".
const char* word(ReachAnswer answer);

// The whole outcome, as docs/reference/json-schema.json describes it. name: of the question, for
// readers of several answers.
nlohmann::ordered_json answer_json(const std::string& name, const Question& question,
                                   const ReachOutcome& outcome);

}  // namespace bf_aot::reach
