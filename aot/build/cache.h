#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "aot/build/library.h"
#include "aot/emit/text/emitted_file.h"
#include "planner/machine/target.h"

namespace bf_aot::build {

// A verifier compiled for this machine.
struct CachedVerifier {
  std::filesystem::path library;  // a shared object
  bool hit = false;               // the cache had it already
  double compile_seconds = 0;     // by the C++ compiler, when the library was made; 0: not known
};

// The stem of files that go into the cache.
constexpr char kCachedStem[] = "verifier";

// Compiles a verifier's files into the cache, or finds it there. The key is the SHA-256 of
// everything that the result depends on: the generated files (hence the model, the options and the
// planner), the runtime headers, the compiler's path and version, and its flags. The library holds
// the key, too. A library that differs from its digest, which lies beside it, or that was made from
// something else, is made again with a note on standard error. Throws: CompileError.
CachedVerifier cached_verifier(const std::vector<emit::EmittedFile>& files, const Target& target,
                               const CompilerOptions& options);

struct CloseLibrary {
  void operator()(void* library) const;
};

using OpenLibrary = std::unique_ptr<void, CloseLibrary>;

// Loads a shared object into this process. Throws: BF3305.
OpenLibrary open_library(const std::filesystem::path& library);

// Loads a library of the cache. Throws: BF3305 when it cannot be loaded, or was made from something
// else than the folder that it lies in says.
OpenLibrary open_cached(const std::filesystem::path& library);

// The cache's folder, $XDG_CACHE_HOME/bf-aot, else ~/.cache/bf-aot; made when it is missing, for
// its owner alone. Throws: BF3101, BF3303; BF3319 when others own it or may write to it.
std::filesystem::path cache_folder();

}  // namespace bf_aot::build
