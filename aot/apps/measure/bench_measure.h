#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/input/json_io.h"
#include "planner/machine/machine_profile.h"

namespace bf_aot::apps {

// Statistics of seconds per call.
struct Statistics {
  double mean = 0, deviation = 0;  // deviation: of one measurement, not of the mean
  double min = 0, p50 = 0, p95 = 0;
  int count = 0;  // measurements
};

// The statistics of at least one sample.
Statistics statistics_of(std::vector<double> samples);

// Work and the time that it takes. `limit`: seconds at this machine's peak and bandwidth, whichever
// binds each part: the roofline of Williams, Waterman, Patterson (2009).
struct Work {
  double calls = 0;
  double flops = 0;  // a multiply-add is two
  double bytes = 0;  // of weights and coefficients, read or written once per pass over them
  double limit = 0;  // 0: not known
  double seconds = 0;

  double roofline() const { return seconds > 0 ? limit / seconds : 0; }
};

// All calls of one kernel or routine within a call of the verifier.
struct KernelTime {
  std::string name;  // as in the manifest: "backward_affine_50x50_rows32"
  Work work;
};

// One way to run the model, timed on the box.
struct Strategy {
  Lowering lowering = Lowering::kVector;
  Statistics times;
  double flops = 0, bytes = 0, limit = 0;  // as in Work; 0 where nothing is known
  double ready_seconds = 0;  // spent by bf-aot and the C++ compiler before the first call
  std::int64_t arena_bytes = 0, weights_bytes = 0;
  std::optional<std::int64_t> code_bytes;
  double width = 0;  // mean over the outputs, or over the rows of C y
};

struct BenchLimits {
  int warm_up = 3;     // calls before the first measurement
  int repeats = 0;     // measurements of each strategy; 0: for `seconds`
  double seconds = 1;  // of measurements of each strategy
};

// The subject of measurements: a network, its box, and how it is compiled.
struct BenchSubject {
  const build::FrontendResult& front;
  input::FloatBox box;
  build::CompileOptions options;
  build::CompilerOptions compiler;
  std::optional<MachineProfile> machine;  // measured peaks and bandwidths
};

// Times the strategies by turns, so that a slow minute of the machine hits all of them alike.
std::vector<Strategy> time_strategies(const BenchSubject& subject,
                                      const std::vector<Lowering>& lowerings,
                                      const BenchLimits& limits);

// Times each kernel and routine of a verifier with a timer around every call; in order of falling
// time.
std::vector<KernelTime> time_kernels(const BenchSubject& subject);

}  // namespace bf_aot::apps
