#pragma once

#include <string>

#include "aot/build/compile.h"

namespace bf_aot::build {

// The levels of x86-64 up to a target, highest first: those that a verifier can hold code for at
// once. Empty for targets of other machines. That none runs on a processor without it is proven in
// docs/proofs/dispatch.md.
std::vector<Target> dispatch_levels(const Target& target);

// Compiles a verifier for each level of options.levels, with names and files of its own
// ("avoid_x86_64_v3", "verifier_x86_64_v3.cpp"), behind one interface <stem>.h: <stem>.cpp forwards
// each call to the highest level that the processor offers. The last level must be one that every
// processor has. The result's plan is that of the level with the largest workspace.
Verifier compile_dispatched(const FrontendResult& front, const std::string& name,
                            const std::string& stem, const CompileOptions& options);

// ---- parts of compile_dispatched(), for tests

// Makes one header for all levels. Where their headers differ in a size, it has the largest, for
// the weights the sum; comments are those of the first. `headers`: emitted from the levels' plans
// under one name.
std::string merge_headers(const std::vector<std::string>& headers);

}  // namespace bf_aot::build
