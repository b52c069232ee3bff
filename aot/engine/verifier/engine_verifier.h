#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "aot/engine/run/engine.h"
#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// Calls an engine for a verifier, and may see to its code meanwhile.
class EngineCaller {
 public:
  EngineCaller() = default;
  EngineCaller(const EngineCaller&) = delete;
  EngineCaller& operator=(const EngineCaller&) = delete;
  virtual ~EngineCaller() = default;

  // Calls the engine's call() with these arguments, and returns its result.
  virtual bf_status call(const engine::Engine& engine, const Signature& signature,
                         const engine::Arguments& arguments, engine::TraceHook hook) = 0;
  // The seconds that its calls have waited so far for code that is compiled.
  virtual double waited_seconds() const = 0;
};

// A verifier that has its plan run by the engine. Where the plan is for several workers, the
// threads of pool() share each call of bounds() and spec_bounds() that is predicted to be worth
// waking them.
class EngineVerifier final : public HostVerifier {
 public:
  // with_parts: time_parts() can be called. caller: null: the engine is called directly. Throws:
  // BF3304, BF3306.
  EngineVerifier(std::shared_ptr<const Lowered> lowered, bool with_parts,
                 std::unique_ptr<EngineCaller> caller = nullptr);

  // The twin shares the engine, and with it the code that a caller has replaced. It works alone.
  std::unique_ptr<const HostVerifier> twin() const override;
  bool ask(engine::Watch* watch) const override;
  double waited_seconds() const override;
  Bounds bounds(const input::FloatBox& box) const override;
  Bounds spec_bounds(const input::FloatBox& box) const override;
  std::vector<float> evaluate(const std::vector<float>& x) const override;
  // Counts neurons in plans that relax each layer with an activation; none in plans of intervals
  // alone.
  std::optional<std::vector<int>> count_unstable(const input::FloatBox& box) const override;
  RangedBounds spec_ranges(const input::FloatBox& box) const override;
  bf_status spec_bounds_batch(std::size_t count, const float* lower, const float* upper,
                              float* row_lower, float* row_upper,
                              bf_status* statuses) const override;
  bf_status spec_coefficients_batch(std::size_t count, const float* lower, const float* upper,
                                    float* row_lower, float* row_upper, float* coefficients,
                                    bf_status* statuses) const override;
  std::vector<double> sample_times(const input::FloatBox& box,
                                   const system::SampleLimits& limits) const override;
  std::vector<TimedPart> time_parts(const input::FloatBox& box, int repeats) const override;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  EngineVerifier(std::shared_ptr<const engine::Engine> engine, std::size_t workers);
  engine::Arguments in_workspace() const;
  // Returns the arguments of a call about one box, which writes to both vectors.
  engine::Arguments on_box(const input::FloatBox& box, std::vector<float>& lower,
                           std::vector<float>& upper) const;
  // The function of one box that bounds the outputs or the specification: that of several workers
  // where they share calls.
  Signature one_box(bool spec) const;
  bf_status batch(const Signature& signature, std::size_t count, const float* lower,
                  const float* upper, float* row_lower, float* row_upper, float* coefficients,
                  bf_status* statuses) const;
  bf_status by_turns(const Signature& batch, const engine::Arguments& arguments) const;
  Bounds call(const Signature& signature, const input::FloatBox& box, const Arguments::Notes& notes,
              engine::TraceHook hook = nullptr) const;

  bf_status run(const Signature& signature, const engine::Arguments& arguments,
                engine::TraceHook hook = nullptr) const;

  std::shared_ptr<const engine::Engine> engine_;
  std::unique_ptr<EngineCaller> caller_;
  std::size_t workers_ = 1;  // that share calls of one box
  std::unique_ptr<std::byte, Free> workspace_;
  std::size_t workspace_bytes_ = 0;
  mutable engine::Watch* watch_ = nullptr;
  // The box of the last call of bounds(), and its neurons by layer, see engine::CallMemory.
  mutable input::FloatBox last_;
  mutable std::vector<int> open_;
};

}  // namespace bf_aot::engine
