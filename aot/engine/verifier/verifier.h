#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/engine/run/ranges.h"
#include "aot/engine/run/watch.h"
#include "aot/input/json_io.h"
#include "aot/system/measure.h"
#include "planner/plan/plan_fwd.h"
#include "runtime/bf.h"

namespace bf_aot::engine {

struct Bounds {
  std::vector<double> lower, upper;  // float32 numbers, but for the reference
};

double mean_width(const Bounds& bounds);

// The rows' bounds on a box, and by layer the ranges of the neurons that they relax; none where the
// verifier does not say.
struct RangedBounds {
  Bounds rows;
  std::vector<engine::Ranges> ranges;
};

// A part of a task (see TaskPart), as measured in one call of a verifier.
struct TimedPart {
  int task = 0;
  std::string part;
  double calls = 0;
  double seconds = 0;
};

// A verifier in this process, with its workspace. Not reentrant.
class HostVerifier {
 public:
  HostVerifier() = default;
  HostVerifier(const HostVerifier&) = delete;
  HostVerifier& operator=(const HostVerifier&) = delete;
  virtual ~HostVerifier() = default;

  // This verifier with a workspace of its own, for another thread. Throws: BF3504.
  virtual std::unique_ptr<const HostVerifier> twin() const = 0;

  // Makes `watch` what calls that bound boxes ask from now on; they throw engine::Stopped where it
  // ends them. Null: nobody is asked. False where the verifier cannot be stopped.
  virtual bool ask(engine::Watch* watch) const {
    (void)watch;
    return false;
  }

  // The seconds of its calls so far that went into compiling kernels.
  virtual double waited_seconds() const { return 0; }

  // Both throw BF3306 when the verifier returns another status than BF_OK.
  virtual Bounds bounds(const input::FloatBox& box) const = 0;
  virtual Bounds spec_bounds(const input::FloatBox& box) const = 0;  // plan.spec_rows > 0
  // Plain inference in float32.
  virtual std::vector<float> evaluate(const std::vector<float>& x) const = 0;

  // The number of neurons, for each layer with an activation in order, whose relaxation is not
  // exact on the box. None where the verifier does not count them.
  virtual std::optional<std::vector<int>> count_unstable(const input::FloatBox& box) const {
    (void)box;
    return std::nullopt;
  }

  // spec_bounds(), with ranges.
  virtual RangedBounds spec_ranges(const input::FloatBox& box) const {
    return {spec_bounds(box), {}};
  }

  // NAME_spec_bounds_batch, in a verifier made with rows of a specification and a batch of at least
  // `count`, or, in this process, without a batch; and NAME_spec_coefficients_batch, in one that
  // keeps coefficients.
  virtual bf_status spec_bounds_batch(std::size_t count, const float* lower, const float* upper,
                                      float* row_lower, float* row_upper,
                                      bf_status* statuses) const = 0;
  virtual bf_status spec_coefficients_batch(std::size_t count, const float* lower,
                                            const float* upper, float* row_lower, float* row_upper,
                                            float* coefficients, bf_status* statuses) const = 0;

  // Seconds of a call of NAME_spec_bounds when there are spec rows, else of NAME_bounds: the
  // measurements themselves, see sample_calls().
  virtual std::vector<double> sample_times(const input::FloatBox& box,
                                           const system::SampleLimits& limits) const = 0;
  // The least and the median of sample_times().
  system::Timing time(const input::FloatBox& box, const system::SampleLimits& limits) const;

  // Where the time of time() goes, of a verifier made with CompileOptions::time_parts: of every
  // call of a kernel or routine the lower quartile over `repeats` calls of the verifier, without
  // what the clock itself takes. Throws: BF3305 when the verifier is not instrumented.
  virtual std::vector<TimedPart> time_parts(const input::FloatBox& box, int repeats) const = 0;
};

}  // namespace bf_aot::engine
