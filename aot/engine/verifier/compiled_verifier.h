#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "aot/build/cache.h"
#include "aot/engine/verifier/exported_pointer.h"
#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// A compiled verifier, loaded into this process.
class CompiledVerifier final : public HostVerifier {
 public:
  // Throws: BF3305 when the library cannot be loaded or is not the plan's.
  CompiledVerifier(const std::filesystem::path& library, const Plan& plan);
  // Takes a library that is open. Its path is for messages.
  CompiledVerifier(build::OpenLibrary opened, const std::filesystem::path& library,
                   const Plan& plan);

  std::unique_ptr<const HostVerifier> twin() const override;
  Bounds bounds(const input::FloatBox& box) const override;
  Bounds spec_bounds(const input::FloatBox& box) const override;
  std::vector<float> evaluate(const std::vector<float>& x) const override;
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
  using BoundsFunction = ExportedPointer<Signature{}>;
  using BatchFunction = ExportedPointer<Signature{.spec = true, .batch = true}>;
  using CoefficientsFunction =
      ExportedPointer<Signature{.spec = true, .coefficients = true, .batch = true}>;
  using EvaluateFunction = ExportedPointer<Signature{.purpose = Purpose::kEvaluate}>;

  struct Free {
    void operator()(void* memory) const;
  };

  CompiledVerifier(const CompiledVerifier& other);
  void make_workspace();
  void* symbol(const std::string& name) const;
  template <Signature kSignature>
  ExportedPointer<kSignature> load() const {
    return reinterpret_cast<ExportedPointer<kSignature>>(
        symbol(name_ + "_" + suffix_of(kSignature)));
  }
  Bounds call(BoundsFunction function, int count, const input::FloatBox& box) const;

  std::shared_ptr<void> library_;
  std::unique_ptr<void, Free> workspace_;
  std::size_t workspace_bytes_ = 0, workspace_align_ = 0;
  std::string name_;
  int outputs_ = 0, spec_rows_ = 0;
  BoundsFunction bounds_ = nullptr;
  BoundsFunction spec_bounds_ = nullptr;
  BatchFunction spec_bounds_batch_ = nullptr;
  CoefficientsFunction spec_coefficients_batch_ = nullptr;
  EvaluateFunction evaluate_ = nullptr;
};

}  // namespace bf_aot::engine
