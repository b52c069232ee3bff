#pragma once

#include "aot/cli/verify/verify_arguments.h"
#include "aot/cli/verify/verify_print.h"
#include "aot/decide/decision.h"
#include "aot/decide/search/company.h"

namespace bf_aot::cli {

// Decides with counters on a terminal, until a stop. limit: what the watchdog says; or null.
decide::Outcome decide_with(const VerifyArguments& arguments, const Property& property,
                            decide::TreeKeeper* keeper, TimeLimit* limit, const system::Stop& stop,
                            decide::TreeCompany* company = nullptr);

// The gate of one question, which has this answer.
artifacts::Gate gate_of(const VerifyArguments& arguments, decide::Answer answer, double seconds);

// verify --instances. Returns the exit code.
int verify_many(const CommandLine& app, const VerifyArguments& arguments);

}  // namespace bf_aot::cli
