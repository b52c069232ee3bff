#pragma once

#include <filesystem>
#include <memory>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/engine/verifier/verifier.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::engine {

// A verifier that is ready to be called, and what making it took.
struct MadeVerifier {
  std::unique_ptr<const HostVerifier> host;
  std::filesystem::path library;  // a shared object with its code
  double print_seconds = 0;
  double compile_seconds = 0;  // of the C++ compiler, when the library was made; 0: not known
};

// Makes the verifier of a plan that was made with these options for this machine, without
// `options.levels`. Throws: CompileError.
MadeVerifier make_verifier(std::shared_ptr<const Plan> plan, const build::CompileOptions& options,
                           const build::CompilerOptions& compiler);

}  // namespace bf_aot::engine
