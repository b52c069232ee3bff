#pragma once

#include <string_view>

namespace bf_aot::emit {

// A line for verifiers in which the same step stands twice and must make the same bits
// (docs/proofs/relaxations-made-anew.md): no product may be fused into a sum in one place alone.
// Without fusing, every operation rounds as IEEE 754 says, however loops are arranged. GCC and
// clang spell it differently; clang's -ffp-contract=fast overrules it, and the verifier then
// refuses every call.
inline constexpr std::string_view kNoContraction = "#pragma STDC FP_CONTRACT OFF\n";
inline constexpr std::string_view kNoContractionFlag = "-ffp-contract=off";

}  // namespace bf_aot::emit
