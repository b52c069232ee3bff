#include "aot/engine/verifier/verifier.h"

#include <algorithm>
#include <utility>

#include "aot/build/cache.h"
#include "aot/build/compile.h"
#include "aot/engine/device/device_verifier.h"
#include "aot/engine/jit/jit.h"
#include "aot/engine/verifier/compiled_verifier.h"
#include "aot/engine/verifier/engine_verifier.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot::engine {

double mean_width(const Bounds& bounds) {
  double sum = 0;
  for (std::size_t i = 0; i < bounds.lower.size(); ++i) sum += bounds.upper[i] - bounds.lower[i];
  return sum / static_cast<double>(bounds.lower.size());
}

system::Timing HostVerifier::time(const input::FloatBox& box,
                                  const system::SampleLimits& limits) const {
  const std::vector<double> samples = sample_times(box, limits);
  return {samples.front(), samples[samples.size() / 2], static_cast<int>(samples.size())};
}

int workers_of(const build::CompileOptions& options, std::size_t threads) {
  if (options.planner.lowering != Lowering::kPrebuilt || options.planner.memory_budget > 0)
    return 1;
  return static_cast<int>(std::min<std::size_t>(threads, bf::kMostWorkers));
}

MadeVerifier make_verifier(std::shared_ptr<const Lowered> lowered,
                           const build::CompileOptions& options,
                           const build::CompilerOptions& compiler) {
  const Plan& plan = lowered->plan();
  BF_CHECK(options.levels.empty());
  MadeVerifier made;
  if (!options.device.empty()) {
    BF_CHECK(is_of_device(plan.config.language));
    made.host = std::make_unique<DeviceVerifier>(
        std::make_shared<const Device>(std::move(lowered), build::device_named(options.device)));
    return made;
  }
  if (plan.config.lowering == Lowering::kPrebuilt) {
    if (compiler.jit != build::JitMode::kWait && (!compiler.cxx.empty() || !compiler.flags.empty()))
      fail("BF3314", compiler.cxx.empty() ? "--cxx-flags" : "--cxx",
           "the verifier is run by code that bf-aot has: no C++ compiler is called",
           "leave it out, or give --jit wait or --lowering vector");
    std::unique_ptr<EngineCaller> caller;
    if (compiler.jit != build::JitMode::kOff) caller = std::make_unique<Jit>(compiler);
    made.host =
        std::make_unique<EngineVerifier>(std::move(lowered), options.time_parts, std::move(caller));
    return made;
  }
  const system::Stopwatch printing;
  const std::vector<emit::EmittedFile> files = build::emit(*lowered, build::kCachedStem, options);
  made.print_seconds = printing.seconds();
  const build::CachedVerifier cached = build::cached_verifier(files, plan.config.target, compiler);
  made.library = cached.library;
  made.compile_seconds = cached.compile_seconds;
  made.host =
      std::make_unique<CompiledVerifier>(build::open_cached(cached.library), cached.library, plan);
  return made;
}

}  // namespace bf_aot::engine
