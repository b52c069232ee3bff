#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "aot/decide/decision.h"
#include "aot/decide/property/witness.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

// The words of answers: kPlain for people; kCompetition for the scripts of the VNN-COMP
// competitions ("unsat", "sat", "unknown", "timeout"); kStandard for tools that follow the command
// line of VNN-LIB 2.0 ("timed-out").
enum class Wording : std::uint8_t { kPlain, kCompetition, kStandard };

const char* word(decide::Answer answer, Wording wording);

// The exit code of an answer: 0 verified, 3 falsified, 4 unknown, 5 timeout; always 0 for scripts,
// which read the word.
int exit_code(decide::Answer answer, Wording wording);

// The counterexample in the competitions' syntax: "((X_0 0.5)\n(X_1 -1)\n(Y_0 3.25))\n".
std::string competition_text(const decide::Witness& witness);

// The counterexample as tensors of the query: "X Real [1,5]" and then one number a line.
std::string standard_text(const Property& property, const decide::Witness& witness);

// The counterexample as serialised TensorProtos, by their files: "X.pb", or "f.X.pb" where several
// networks have an X. Elements are floats where the query is of float32, else the nearest doubles.
std::map<std::string, std::string> serialised(const Property& property,
                                              const decide::Witness& witness);

// The most inputs, and outputs, of a counterexample that standard output shows: a few on a
// terminal, all elsewhere and with --verbose.
std::size_t most_lines();

// The counterexample with a number a line. Where there are more than `most` inputs or outputs, the
// first ones and their count.
std::string plain_text(const decide::Witness& witness, std::size_t most);

nlohmann::ordered_json to_json(const decide::Witness& witness);

}  // namespace bf_aot::cli
