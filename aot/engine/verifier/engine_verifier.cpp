#include "aot/engine/verifier/engine_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "aot/engine/run/pool.h"
#include "aot/engine/verifier/call_watch.h"
#include "aot/engine/verifier/timed_parts.h"
#include "frontend/diagnostic.h"
#include "runtime/bf/contract/workspace.h"
#include "runtime/bf/core/parallel.h"

namespace bf_aot::engine {
namespace {

constexpr Signature kSpecBatch = {.spec = true, .batch = true};
constexpr Signature kCoefficientsBatch = {.spec = true, .coefficients = true, .batch = true};
constexpr Signature kEvaluate = {.purpose = Purpose::kEvaluate};

// Seconds of a call that workers share: it runs some tens of rounds of tiles, and to wake a thread
// for one takes tens of microseconds.
constexpr double kWorthSharing = 2e-3;

std::size_t workers_of(const Plan& plan) {
  if (plan.config.workers == 1) return 1;
  const double seconds = std::max(predicted_seconds(plan, EntryKind::kBounds),
                                  predicted_seconds(plan, EntryKind::kSpecBounds));
  const bf_executor* const threads = seconds < kWorthSharing ? nullptr : pool();
  return threads == nullptr
             ? 1
             : std::min(threads->workers, static_cast<std::size_t>(plan.config.workers));
}

void expect_ok(bf_status status, const Signature& signature) {
  if (status != BF_OK)
    fail("BF3306", suffix_of(signature),
         fmt::format("the verifier refused: {}", bf_status_text(status)));
}

}  // namespace

void EngineVerifier::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

EngineVerifier::EngineVerifier(std::shared_ptr<const Lowered> lowered, bool with_parts,
                               std::unique_ptr<EngineCaller> caller)
    : EngineVerifier(std::make_shared<const engine::Engine>(
                         lowered, engine::EngineOptions{.with_parts = with_parts}),
                     with_parts ? 1 : workers_of(lowered->plan())) {
  caller_ = std::move(caller);
}

EngineVerifier::EngineVerifier(std::shared_ptr<const engine::Engine> engine, std::size_t workers)
    : engine_(std::move(engine)), workers_(workers) {
  const Plan& of = engine_->plan();
  std::int64_t needed = 1;
  for (const ExportedFunction& each : of.functions)
    if (each.signature.purpose == Purpose::kBounds || each.signature.purpose == Purpose::kEvaluate)
      needed = std::max(needed, each.workspace.bytes);
  needed += static_cast<std::int64_t>(workers_ - 1) * of.worker_bytes();
  const auto align =
      std::max(static_cast<std::size_t>(of.config.target.align), alignof(std::max_align_t));
  workspace_bytes_ = (static_cast<std::size_t>(needed) + align - 1) / align * align;
  workspace_.reset(static_cast<std::byte*>(std::aligned_alloc(align, workspace_bytes_)));
  if (workspace_ == nullptr)
    fail("BF3504", "workspace", fmt::format("there is no memory for {} bytes", workspace_bytes_),
         "a memory budget or a smaller batch needs less");
}

std::unique_ptr<const HostVerifier> EngineVerifier::twin() const {
  return std::unique_ptr<const HostVerifier>(new EngineVerifier(engine_, 1));
}

double EngineVerifier::waited_seconds() const {
  return caller_ == nullptr ? 0 : caller_->waited_seconds();
}

bf_status EngineVerifier::run(const Signature& signature, const engine::Arguments& arguments,
                              engine::TraceHook hook) const {
  if (caller_ == nullptr) return engine_->call(signature, arguments, hook);
  return caller_->call(*engine_, signature, arguments, hook);
}

engine::Arguments EngineVerifier::in_workspace() const {
  engine::Arguments made;
  made.workspace = workspace_.get();
  made.workspace_bytes = workspace_bytes_;
  return made;
}

engine::Arguments EngineVerifier::on_box(const input::FloatBox& box, std::vector<float>& lower,
                                         std::vector<float>& upper) const {
  engine::Arguments made = in_workspace();
  made.boxes.lower = box.lower.data();
  made.boxes.upper = box.upper.data();
  made.bounds.lower = lower.data();
  made.bounds.upper = upper.data();
  if (workers_ > 1) made.executor = pool();
  return made;
}

Signature EngineVerifier::one_box(bool spec) const {
  return {.spec = spec, .parallel = workers_ > 1 && engine_->plan().parallel.workers > 1};
}

Bounds EngineVerifier::call(const Signature& signature, const input::FloatBox& box,
                            const Arguments::Notes& notes, engine::TraceHook hook) const {
  const Plan& plan = engine_->plan();
  const auto rows = static_cast<std::size_t>(signature.spec ? plan.spec_rows : plan.output_count);
  std::vector<float> lower(rows), upper(rows);
  engine::Arguments arguments = on_box(box, lower, upper);
  arguments.notes = notes;
  arguments.notes.watch = watch_;
  expect_ok(run(signature, arguments, hook), signature);
  return {{lower.begin(), lower.end()}, {upper.begin(), upper.end()}};
}

bool EngineVerifier::ask(engine::Watch* watch) const {
  watch_ = watch;
  return true;
}

Bounds EngineVerifier::bounds(const input::FloatBox& box) const {
  last_ = {};
  open_.assign(engine_->plan().layers.size(), -1);
  Bounds made = call(one_box(false), box, {.open = &open_});
  last_ = box;
  return made;
}

Bounds EngineVerifier::spec_bounds(const input::FloatBox& box) const {
  return call(one_box(true), box, {});
}

RangedBounds EngineVerifier::spec_ranges(const input::FloatBox& box) const {
  RangedBounds made;
  made.ranges.resize(engine_->plan().layers.size());
  made.rows = call(one_box(true), box, {.ranges = &made.ranges});
  return made;
}

std::optional<std::vector<int>> EngineVerifier::count_unstable(const input::FloatBox& box) const {
  const Plan& plan = engine_->plan();
  if (!(last_.lower == box.lower && last_.upper == box.upper)) bounds(box);
  std::vector<int> counts;
  for (const LayerId id : plan.layer_ids()) {
    if (!plan.layer(id).relu && !plan.layer(id).function) continue;
    const int count = open_[static_cast<std::size_t>(id.number())];
    if (count < 0) return std::nullopt;
    counts.push_back(count);
  }
  return counts;
}

std::vector<float> EngineVerifier::evaluate(const std::vector<float>& x) const {
  std::vector<float> y(static_cast<std::size_t>(engine_->plan().output_count));
  engine::Arguments arguments = in_workspace();
  arguments.point.x = x.data();
  arguments.point.y = y.data();
  expect_ok(run(kEvaluate, arguments), kEvaluate);
  return y;
}

// Plans without a batch have functions of one box.
bf_status EngineVerifier::by_turns(const Signature& batch, const Arguments& arguments) const {
  const auto inputs = static_cast<std::size_t>(engine_->plan().input_count);
  const auto rows = static_cast<std::size_t>(engine_->plan().spec_rows);
  Signature one = batch;
  one.batch = false;
  for (std::size_t i = 0; i < arguments.boxes.count; ++i) {
    engine::Arguments box = arguments;
    box.boxes.lower += i * inputs;
    box.boxes.upper += i * inputs;
    box.bounds.lower += i * rows;
    box.bounds.upper += i * rows;
    if (one.coefficients) box.bounds.coefficients += i * rows * bf::lines_of_row(inputs);
    arguments.boxes.statuses[i] = run(one, box);
  }
  return bf::first_failure(arguments.boxes.count, arguments.boxes.statuses);
}

bf_status EngineVerifier::batch(const Signature& signature, std::size_t count, const float* lower,
                                const float* upper, float* row_lower, float* row_upper,
                                float* coefficients, bf_status* statuses) const {
  engine::Arguments arguments = in_workspace();
  arguments.boxes.count = count;
  arguments.boxes.lower = lower;
  arguments.boxes.upper = upper;
  arguments.bounds.lower = row_lower;
  arguments.bounds.upper = row_upper;
  arguments.bounds.coefficients = coefficients;
  arguments.boxes.statuses = statuses;
  arguments.notes.watch = watch_;
  return engine_->plan().config.batch > 1 ? run(signature, arguments)
                                          : by_turns(signature, arguments);
}

bf_status EngineVerifier::spec_bounds_batch(std::size_t count, const float* lower,
                                            const float* upper, float* row_lower, float* row_upper,
                                            bf_status* statuses) const {
  return batch(kSpecBatch, count, lower, upper, row_lower, row_upper, nullptr, statuses);
}

bf_status EngineVerifier::spec_coefficients_batch(std::size_t count, const float* lower,
                                                  const float* upper, float* row_lower,
                                                  float* row_upper, float* coefficients,
                                                  bf_status* statuses) const {
  return batch(kCoefficientsBatch, count, lower, upper, row_lower, row_upper, coefficients,
               statuses);
}

std::vector<double> EngineVerifier::sample_times(const input::FloatBox& box,
                                                 const system::SampleLimits& limits) const {
  const Plan& plan = engine_->plan();
  const Signature signature = one_box(plan.spec_rows > 0);
  const auto rows = static_cast<std::size_t>(signature.spec ? plan.spec_rows : plan.output_count);
  std::vector<float> lower(rows), upper(rows);
  const engine::Arguments arguments = on_box(box, lower, upper);
  run(signature, arguments);  // what makes calls faster is not measured
  return system::sample_calls([&] { run(signature, arguments); }, limits);
}

std::vector<TimedPart> EngineVerifier::time_parts(const input::FloatBox& box, int repeats) const {
  const Signature signature = one_box(engine_->plan().spec_rows > 0);
  return timed_parts([&](engine::TraceHook hook) { call(signature, box, {}, hook); }, repeats);
}

}  // namespace bf_aot::engine
