#pragma once

#include <filesystem>

#include "aot/artifacts/project/vectors.h"
#include "aot/build/compile_options.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::apps {

// Vectors for a verifier that was made of a model with these options: up to ten boxes of the
// property's first case, or of [-1, 1]; fewer for networks of many numbers or operations. Of
// integers the results follow from the plan. Compilers may fuse products into sums, so that of
// floats windows are given, from the bounds that the same method and semantics have in this
// process. Deterministic but for the instruction set, on which the last bits of windows depend.
artifacts::Vectors make_vectors(const std::filesystem::path& model,
                                const build::CompileOptions& options, const Lowered& lowered);

}  // namespace bf_aot::apps
