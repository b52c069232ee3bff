#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aot/apps/tune/kernel_library.h"
#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/input/json_io.h"
#include "planner/tuning/tuner.h"

namespace bf_aot::apps {

// A kernel's seconds in each round, or an error.
struct TimedKernel {
  std::vector<double> seconds;
  std::string error;
};

// Measures kernels that cannot stand alone: routines, within their verifier.
class VerifierTrials {
 public:
  struct Options {
    const build::FrontendResult& front;
    build::CompileOptions compile;  // the options of the plan by rules
    build::CompilerOptions compiler;
    input::FloatBox box;
  };
  explicit VerifierTrials(Options options);
  ~VerifierTrials();

  // Times verifiers with each of these kernels. The first kernel is the default; the others have
  // the same key. All verifiers must return the default's bounds, bit for bit, since such schedules
  // change no sum.
  std::vector<TimedKernel> time(const std::vector<Kernel>& kernels, int rounds,
                                const build::Toolchain& toolchain);

 private:
  struct Built;
  Built build(const Kernel* kernel, const build::Toolchain& toolchain) const;

  Options options_;
  std::unique_ptr<Built> rules_;
};

// Compiles the candidates of a kernel into one library, checks each against its oracle
// (kernel_check.h), and times those that are right in turns with the default, all in a process of
// its own: a candidate that crashes is an error of that candidate.
class HostTuningMachine : public TuningMachine {
 public:
  struct Options {
    Target target;
    build::CompilerOptions compiler;
    std::int64_t weights_bytes = 0;  // of the whole network, which say how far away a table is
    std::uint64_t seed = 1;
    std::string machine;  // for the records
  };
  using Keep = std::function<void(const TuningRecord&)>;

  // trials: measures kernels that are no printed nests.
  HostTuningMachine(Options options, VerifierTrials& trials, Keep keep,
                    std::function<bool()> is_over);

  std::vector<Measurement> measure(const Kernel& kernel,
                                   const std::vector<Schedule>& schedules) override;
  Confirmation confirm(const Kernel& kernel, const Schedule& schedule) override;
  void record(TuningRecord record) override;
  bool is_over() override { return is_over_(); }

 private:
  std::vector<TimedKernel> time(const std::vector<Kernel>& kernels, int rounds);
  std::vector<TimedKernel> time_once(const std::vector<Kernel>& kernels, int rounds);

  Options options_;
  VerifierTrials& trials_;
  build::Toolchain toolchain_;
  Keep keep_;
  std::function<bool()> is_over_;
};

// Runs in the child process: checks and times kernels of one signature, the first one the default.
// Returns JSON, by kernel {"seconds": [..]} or {"error": ".."}.
std::string check_and_time(const KernelLibrary& library, int rounds, std::uint64_t seed,
                           std::int64_t weights_bytes);

}  // namespace bf_aot::apps
