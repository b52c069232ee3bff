#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "aot/host/exported_pointer.h"
#include "aot/host/measure.h"
#include "aot/json/json_io.h"
#include "planner/plan/plan.h"
#include "runtime/bf.h"

namespace bf_aot::cli {

struct Bounds {
  std::vector<double> lower, upper;  // float32 numbers, but for the reference
};

double mean_width(const Bounds& bounds);

// A part of a task (see TaskPart), as measured in one call of a verifier.
struct TracedPart {
  int task = 0;
  std::string part;
  double calls = 0;
  double seconds = 0;
};

// A compiled verifier, loaded into this process, with its workspace.
class HostVerifier {
 public:
  // Throws: BF3305 when the library cannot be loaded or is not the plan's.
  HostVerifier(const std::filesystem::path& library, const Plan& plan);

  // Throw BF3306 when the verifier returns another status than BF_OK.
  Bounds bounds(const FloatBox& box) const;
  Bounds spec_bounds(const FloatBox& box) const;  // plan.spec_rows > 0

  // NAME_spec_bounds_batch, of a verifier made with spec rows and a batch of at least `count`; and
  // of one that keeps coefficients NAME_spec_coefficients_batch. Do not throw.
  bf_status spec_coefficients_batch(std::size_t count, const float* lower, const float* upper,
                                    float* row_lower, float* row_upper, float* coefficients,
                                    bf_status* statuses) const {
    return spec_coefficients_batch_(count, lower, upper, row_lower, row_upper, coefficients,
                                    statuses, workspace_.get(), workspace_bytes_);
  }
  bf_status spec_bounds_batch(std::size_t count, const float* lower, const float* upper,
                              float* row_lower, float* row_upper, bf_status* statuses) const {
    return spec_bounds_batch_(count, lower, upper, row_lower, row_upper, statuses, workspace_.get(),
                              workspace_bytes_);
  }

  // Plain inference in float32.
  std::vector<float> evaluate(const std::vector<float>& x) const;

  // Calls NAME_spec_bounds when there are spec rows, else NAME_bounds, after one call that is not
  // measured; see measure().
  Timing time(const FloatBox& box, int repeats) const;

  // The measurements themselves; see sample_calls().
  std::vector<double> sample_times(const FloatBox& box, const SampleLimits& limits) const;
  // Where the time of time() goes, of a verifier made with CompileOptions::trace: of every call of
  // a kernel or routine the lower quartile over `repeats` calls of the verifier, without what the
  // clock itself takes. Not reentrant. Throws: BF3305 when the library is not instrumented.
  std::vector<TracedPart> trace(const FloatBox& box, int repeats) const;

 private:
  using BoundsFunction = ExportedPointer<Signature{}>;
  using BatchFunction = ExportedPointer<Signature{.spec = true, .batch = true}>;
  using CoefficientsFunction =
      ExportedPointer<Signature{.spec = true, .coefficients = true, .batch = true}>;
  using EvaluateFunction = ExportedPointer<Signature{.purpose = Purpose::kEvaluate}>;

  struct Close {
    void operator()(void* library) const;
  };
  struct Free {
    void operator()(void* memory) const;
  };

  void* symbol(const std::string& name) const;
  template <Signature kSignature>
  ExportedPointer<kSignature> load() const {
    return reinterpret_cast<ExportedPointer<kSignature>>(
        symbol(name_ + "_" + suffix_of(kSignature)));
  }
  Bounds call(BoundsFunction function, int count, const FloatBox& box) const;

  std::unique_ptr<void, Close> library_;
  std::unique_ptr<void, Free> workspace_;
  std::size_t workspace_bytes_ = 0;
  std::string name_;
  int outputs_ = 0, spec_rows_ = 0;
  BoundsFunction bounds_ = nullptr;
  BoundsFunction spec_bounds_ = nullptr;
  BatchFunction spec_bounds_batch_ = nullptr;
  CoefficientsFunction spec_coefficients_batch_ = nullptr;
  EvaluateFunction evaluate_ = nullptr;
};

}  // namespace bf_aot::cli
