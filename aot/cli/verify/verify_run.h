#pragma once

#include <functional>
#include <optional>

#include "aot/cli/verify/verify_arguments.h"
#include "aot/cli/verify/verify_print.h"
#include "aot/decide/decision.h"
#include "aot/decide/search/company.h"
#include "aot/prove/proof_file.h"

namespace bf_aot::cli {

// Decides with counters on a terminal, until a stop. limit: what the watchdog says; or null.
decide::Outcome decide_with(const VerifyArguments& arguments, const Property& property,
                            decide::TreeKeeper* keeper, TimeLimit* limit, const system::Stop& stop,
                            decide::TreeCompany* company = nullptr);

// The gate of one question, which has this answer.
artifacts::Gate gate_of(const VerifyArguments& arguments, decide::Answer answer, double seconds);

// Reads what the certificate of the answer is made from; nothing where none is asked for. Throws:
// BF3022, BF3024, BF3111.
std::optional<prove::ProofFile> proof_of(const VerifyArguments& arguments,
                                         const Property& property);

// Makes the certificate of an answer by `make`, and returns what was made. Throws: BF3023 there is
// none, with the answer; Interrupted, which is told with the answer; what `make` throws.
prove::ProofReport proven(const VerifyArguments& arguments, const char* answer,
                          const std::function<prove::ProofReport()>& make);

// verify --instances. Returns the exit code.
int verify_many(const CommandLine& app, const VerifyArguments& arguments);

}  // namespace bf_aot::cli
