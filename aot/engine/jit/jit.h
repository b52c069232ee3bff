#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/cache.h"
#include "aot/build/library.h"
#include "aot/engine/run/engine.h"
#include "aot/engine/verifier/engine_verifier.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/background.h"
#include "aot/system/progress.h"

namespace bf_aot::engine {

// Calls an engine and measures which calls of its programs take the most time. Those are compiled
// one by one, with their extents, shapes and tiles as constants, into the cache of compiled
// verifiers, and then take the place of the engine's own code. Code that is not faster there leaves
// it again. The bounds are as sound as before: they are the same sums in the same order, see
// docs/reference/cli.md. Serves one engine; not reentrant.
class Jit final : public EngineCaller {
 public:
  using Compile = std::function<build::CachedVerifier(const std::string& source, const Target&,
                                                      const build::CompilerOptions&)>;

  explicit Jit(build::CompilerOptions compiler, Compile compile = {});
  ~Jit() override;

  // Throws what CompilerOptions and compilers cause, in mode `wait` alone.
  bf_status call(const engine::Engine& engine, const Signature& signature,
                 const engine::Arguments& arguments, engine::TraceHook hook) override;
  double waited_seconds() const override { return waited_seconds_; }

 private:
  // A call of an entry's program.
  struct Place {
    EntryKind entry = EntryKind::kBounds;
    std::size_t call = 0;
  };
  struct Unit {
    std::string source;
    std::vector<Place> places;
    double seconds = 0;      // least of a call of the entry, by the engine's own code
    std::vector<Thunk> own;  // the engine's code of the places, while other code is tried
    int tries = 0;           // calls of the entry with other code
  };
  struct State {
    double seconds = 0;  // spent in its calls so far
    bool chosen = false;
  };

  void choose(const engine::Engine& engine, EntryKind entry, const std::vector<double>& seconds);
  void compile_from(const engine::Engine& engine, std::size_t first);  // units from it on
  void poll(const engine::Engine& engine);
  // False when the library cannot be loaded.
  bool install(const engine::Engine& engine, Unit& unit, const std::filesystem::path& library);
  bool measures(EntryKind entry, bool shared) const;
  // Ends trials by the seconds of each call in a call of the entry.
  void judge(const engine::Engine& engine, EntryKind entry, const std::vector<double>& seconds,
             int tries);

  build::CompilerOptions compiler_;
  const Compile compile_;
  std::map<EntryKind, State> states_;
  std::vector<Unit> units_;
  std::size_t installed_ = 0;  // units that stay, of all entries
  std::string failure_;
  std::vector<build::OpenLibrary> libraries_;
  std::unique_ptr<system::BackgroundWork> work_;
  system::Stopwatch since_start_, since_poll_;
  double ready_seconds_ = 0;
  double waited_seconds_ = 0;
};

}  // namespace bf_aot::engine
