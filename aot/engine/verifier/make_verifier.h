#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/engine/verifier/verifier.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::engine {

// A verifier that is ready to be called, and what making it took.
struct MadeVerifier {
  std::unique_ptr<const HostVerifier> host;
  std::filesystem::path library;  // a shared object with its code
  double print_seconds = 0;
  double compile_seconds = 0;  // of the C++ compiler, when the library was made; 0: not known
};

// The workers that a plan with these options is made for, where so many threads may share the calls
// of its verifier. One where the verifier is compiled, and where memory is limited: workers need
// memory of their own.
int workers_of(const build::CompileOptions& options, std::size_t threads);

// Makes the verifier of a plan that was made with these options for this machine, without
// `options.levels`. Throws: CompileError.
MadeVerifier make_verifier(std::shared_ptr<const Lowered> lowered,
                           const build::CompileOptions& options,
                           const build::CompilerOptions& compiler);

}  // namespace bf_aot::engine
