#include "aot/engine/verifier/compiled_verifier.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "aot/engine/verifier/timed_parts.h"
#include "frontend/diagnostic.h"
#include "planner/entries/keep_coefficients.h"

namespace bf_aot::engine {
namespace {

void expect_ok(bf_status status, const std::string& function) {
  if (status != BF_OK)
    fail("BF3306", function, fmt::format("the verifier refused: {}", bf_status_text(status)));
}

}  // namespace

void CompiledVerifier::Free::operator()(void* memory) const {
  std::free(memory);
}

void* CompiledVerifier::symbol(const std::string& name) const {
  void* address = dlsym(library_.get(), name.c_str());
  if (address == nullptr)
    fail("BF3305", name, "the compiled verifier has no such function",
         "remove the cache folder and try again");
  return address;
}

CompiledVerifier::CompiledVerifier(const std::filesystem::path& library, const Plan& plan)
    : CompiledVerifier(build::open_library(library), library, plan) {}

CompiledVerifier::CompiledVerifier(build::OpenLibrary opened, const std::filesystem::path& library,
                                   const Plan& plan)
    : library_(std::move(opened)),
      name_(plan.name),
      outputs_(plan.output_count),
      spec_rows_(plan.spec_rows) {
  const bf_model_info& info = *load<Signature{.purpose = Purpose::kInfo}>()();
  if (info.abi != BF_ABI_VERSION || info.model_sha256 != plan.model.sha256)
    fail("BF3305", library.string(), "the library belongs to another model or version",
         "remove the cache folder and try again");
  bounds_ = load<Signature{}>();
  evaluate_ = load<Signature{.purpose = Purpose::kEvaluate}>();
  if (spec_rows_ > 0) spec_bounds_ = load<Signature{.spec = true}>();
  std::size_t needed = info.workspace_bytes;
  if (plan.config.batch > 1) {
    needed = std::max(needed, static_cast<std::size_t>(plan.batch_bytes()));
    if (spec_rows_ > 0) spec_bounds_batch_ = load<Signature{.spec = true, .batch = true}>();
    if (spec_rows_ > 0 && keeps_coefficients(plan))
      spec_coefficients_batch_ =
          load<Signature{.spec = true, .coefficients = true, .batch = true}>();
  }

  workspace_align_ = std::max<std::size_t>(info.workspace_align, alignof(std::max_align_t));
  workspace_bytes_ = (std::max<std::size_t>(needed, 1) + workspace_align_ - 1) / workspace_align_ *
                     workspace_align_;
  make_workspace();
}

CompiledVerifier::CompiledVerifier(const CompiledVerifier& other)
    : HostVerifier(),
      library_(other.library_),
      workspace_bytes_(other.workspace_bytes_),
      workspace_align_(other.workspace_align_),
      name_(other.name_),
      outputs_(other.outputs_),
      spec_rows_(other.spec_rows_),
      bounds_(other.bounds_),
      spec_bounds_(other.spec_bounds_),
      spec_bounds_batch_(other.spec_bounds_batch_),
      spec_coefficients_batch_(other.spec_coefficients_batch_),
      evaluate_(other.evaluate_) {
  make_workspace();
}

std::unique_ptr<const HostVerifier> CompiledVerifier::twin() const {
  return std::unique_ptr<const HostVerifier>(new CompiledVerifier(*this));
}

void CompiledVerifier::make_workspace() {
  workspace_.reset(std::aligned_alloc(workspace_align_, workspace_bytes_));
  if (workspace_ == nullptr)
    fail("BF3504", "workspace", fmt::format("there is no memory for {} bytes", workspace_bytes_),
         "a memory budget or a smaller batch needs less");
}

Bounds CompiledVerifier::call(BoundsFunction function, int count,
                              const input::FloatBox& box) const {
  const auto size = static_cast<std::size_t>(count);
  std::vector<float> lower(size), upper(size);
  expect_ok(function(box.lower.data(), box.upper.data(), lower.data(), upper.data(),
                     workspace_.get(), workspace_bytes_),
            "bounds");
  return {{lower.begin(), lower.end()}, {upper.begin(), upper.end()}};
}

Bounds CompiledVerifier::bounds(const input::FloatBox& box) const {
  return call(bounds_, outputs_, box);
}

Bounds CompiledVerifier::spec_bounds(const input::FloatBox& box) const {
  BF_CHECK(spec_bounds_ != nullptr);
  return call(spec_bounds_, spec_rows_, box);
}

std::vector<float> CompiledVerifier::evaluate(const std::vector<float>& x) const {
  std::vector<float> y(static_cast<std::size_t>(outputs_));
  expect_ok(evaluate_(x.data(), y.data(), workspace_.get(), workspace_bytes_), "evaluate");
  return y;
}

bf_status CompiledVerifier::spec_bounds_batch(std::size_t count, const float* lower,
                                              const float* upper, float* row_lower,
                                              float* row_upper, bf_status* statuses) const {
  return spec_bounds_batch_(count, lower, upper, row_lower, row_upper, statuses, workspace_.get(),
                            workspace_bytes_);
}

bf_status CompiledVerifier::spec_coefficients_batch(std::size_t count, const float* lower,
                                                    const float* upper, float* row_lower,
                                                    float* row_upper, float* coefficients,
                                                    bf_status* statuses) const {
  return spec_coefficients_batch_(count, lower, upper, row_lower, row_upper, coefficients, statuses,
                                  workspace_.get(), workspace_bytes_);
}

std::vector<double> CompiledVerifier::sample_times(const input::FloatBox& box,
                                                   const system::SampleLimits& limits) const {
  const BoundsFunction function = spec_bounds_ != nullptr ? spec_bounds_ : bounds_;
  const auto size = static_cast<std::size_t>(spec_bounds_ != nullptr ? spec_rows_ : outputs_);
  std::vector<float> lower(size), upper(size);
  return system::sample_calls(
      [&] {
        function(box.lower.data(), box.upper.data(), lower.data(), upper.data(), workspace_.get(),
                 workspace_bytes_);
      },
      limits);
}

std::vector<TimedPart> CompiledVerifier::time_parts(const input::FloatBox& box, int repeats) const {
  using Hook = void (*)(int, const char*);
  auto* const of_library = static_cast<Hook*>(symbol(name_ + "_trace"));
  const BoundsFunction function = spec_bounds_ != nullptr ? spec_bounds_ : bounds_;
  const int count = spec_bounds_ != nullptr ? spec_rows_ : outputs_;
  return timed_parts(
      [&](Hook hook) {
        *of_library = hook;
        call(function, count, box);
        *of_library = nullptr;
      },
      repeats);
}

}  // namespace bf_aot::engine
