#pragma once

#include "aot/cli/verify/verify_arguments.h"

namespace bf_aot::cli {

// The options of --measure.
void add_measure_options(CommandLine& app, MeasureArguments& arguments);

// Measures the shares of the property's boxes, prints them, and writes the files that are asked
// for. Returns the exit code: verified where all is proven, falsified where something is refuted.
int verify_measure(const VerifyArguments& arguments);

}  // namespace bf_aot::cli
