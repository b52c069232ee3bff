#pragma once

#include <string>
#include <vector>

#include "planner/tuning/schedule_search.h"
#include "planner/tuning/tuning_log.h"

namespace bf_aot {

// A schedule measured in turns with the default.
struct Measurement {
  Times seconds, default_seconds;
  int samples = 0;
  std::string error;  // it does not compile, crashes, or is wrong
};

// A measurement in more turns, which tells a gain from noise.
struct Confirmation : Measurement {
  double ratio = 1;  // median over turns of schedule / default
  double noise = 0;  // what turns of the default with itself differ by
};

// The machine that kernels run on. Tests have one that computes times.
class TuningMachine {
 public:
  virtual ~TuningMachine() = default;

  // Measures each schedule; all of them must be legal.
  virtual std::vector<Measurement> measure(const Kernel& kernel,
                                           const std::vector<Schedule>& schedules) = 0;
  virtual Confirmation confirm(const Kernel& kernel, const Schedule& schedule) = 0;

  // Keeps a record; called as soon as there is one.
  virtual void record(TuningRecord record) = 0;

  // Returns true once the time for tuning is over.
  virtual bool is_over() = 0;
};

struct TuningLimits {
  int trials = 64;  // schedules of a kernel, those of the log included
  int batch = 8;    // that are measured together
  SearchStrategy strategy = SearchStrategy::kAnnealing;
  std::uint64_t seed = 1;
};

struct TuningOutcome {
  Schedule schedule;  // what the result says
  bool is_default = true;
  bool confirmed = false;  // there is a result: of this run, or of the log
  bool known = false;      // it stood in the log
  Confirmation result;
  int trials = 0;             // schedules that were measured, those of the log included
  int measured = 0;           // of them in this run
  int failed = 0;             // of them: do not compile or are wrong
  std::size_t space = 0;      // legal schedules
  std::vector<double> curve;  // best seconds after each trial
};

// Searches schedules for a kernel (as the planner's rules made it), measures the best again, and
// records everything. `log`: records of earlier runs, of this machine or of others; those of this
// key are not measured again. A schedule becomes the result only when it beats the default by more
// than the noise.
TuningOutcome tune_kernel(const Kernel& kernel, const Target& target, const TuningLimits& limits,
                          const std::vector<TuningRecord>& log,
                          const std::vector<CostSample>& others, TuningMachine& machine);

// Samples for a cost model from the records of `kernels`.
std::vector<CostSample> cost_samples(const std::vector<TuningRecord>& log,
                                     const std::vector<Kernel>& kernels, const Target& target);

}  // namespace bf_aot
