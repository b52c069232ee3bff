#include "aot/engine/run/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "aot/engine/run/find_prebuilt.h"
#include "aot/engine/run/property.h"
#include "bf/contract/limit.h"
#include "bf/contract/spans.h"
#include "bf/contract/workspace.h"
#include "bf/core/blob.h"
#include "bf/dense/boxes.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"

namespace bf_aot::engine {
namespace {

const Prebuilt& code_for(const Plan& plan) {
  const Prebuilt* const code = find_prebuilt(plan.config.target.name);
  if (code == nullptr)
    fail("BF3304", "--target",
         fmt::format("this build of bf-aot has no code for '{}'", plan.config.target.name),
         "leave --target out, or compile with --lowering vector");
  return *code;
}

EntryKind entry_kind(const Signature& s) {
  if (s.purpose == Purpose::kEvaluate) return EntryKind::kEvaluate;
  if (s.cached) return s.spec ? EntryKind::kSpecBoundsCached : EntryKind::kBoundsCached;
  if (s.batch) return s.spec ? EntryKind::kSpecBoundsBatch : EntryKind::kBoundsBatch;
  return s.spec ? EntryKind::kSpecBounds : EntryKind::kBounds;
}

// Where Arguments has the pointer that a parameter is.
std::size_t place_of(const Parameter& parameter) {
  const std::string_view name = parameter.name;
  const bool written = parameter.written;
  if (name == "lower")
    return written ? offsetof(Arguments, of_case.lower) : offsetof(Arguments, boxes.lower);
  if (name == "upper")
    return written ? offsetof(Arguments, of_case.upper) : offsetof(Arguments, boxes.upper);
  if (name == "out_lower") return offsetof(Arguments, bounds.lower);
  if (name == "out_upper") return offsetof(Arguments, bounds.upper);
  if (name == "workspace") return offsetof(Arguments, workspace);
  if (name == "statuses") return offsetof(Arguments, boxes.statuses);
  if (name == "coefficients") return offsetof(Arguments, bounds.coefficients);
  if (name == "ranges") return offsetof(Arguments, bounds.ranges);
  if (name == "x") return offsetof(Arguments, point.x);
  if (name == "y") return offsetof(Arguments, point.y);
  if (name == "result" || name == "results") return offsetof(Arguments, decision.results);
  if (name == "budget") return offsetof(Arguments, decision.budget);
  if (name == "search") return offsetof(Arguments, decision.search);
  if (name == "executor") return offsetof(Arguments, executor);
  if (name == "context") return offsetof(Arguments, context.memory);
  if (name == "counters") return offsetof(Arguments, context.counters);
  if (name == "blob")
    return written ? offsetof(Arguments, context.blob) : offsetof(Arguments, context.from_blob);
  BF_BROKEN("a parameter of no argument");
}

const void* pointer_at(const Arguments& a, std::size_t place) {
  const void* pointer = nullptr;
  std::memcpy(&pointer, reinterpret_cast<const unsigned char*>(&a) + place, sizeof pointer);
  return pointer;
}

std::size_t to_size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

std::size_t size_of(ParameterType type) {
  switch (type) {
    case ParameterType::kFloats:
      return sizeof(float);
    case ParameterType::kResult:
      return sizeof(bf_result);
    case ParameterType::kStatus:
      return sizeof(bf_status);
    case ParameterType::kBudget:
      return sizeof(bf_budget);
    case ParameterType::kSearch:
      return sizeof(bf_search);
    case ParameterType::kCounters:
      return sizeof(bf_cache_counters);
    case ParameterType::kExecutor:
      return sizeof(bf_executor);
    case ParameterType::kLimit:
      return sizeof(bf_limit);
    case ParameterType::kReached:
      return sizeof(bf_reached);
    case ParameterType::kMemory:
    case ParameterType::kSize:
    case ParameterType::kCode:
      break;
  }
  return 1;
}

// Workspaces and contexts have checks of their own.
bool may_be_null(const Parameter& parameter) {
  return parameter.optional || parameter.name == "workspace" || parameter.name == "context";
}

// The pointers of a function, found once: a call takes no longer for them than generated code.
std::vector<EnginePointer> pointers_in(const Plan& plan, const Signature& s) {
  std::vector<EnginePointer> made;
  for (const Parameter& each : pointers_of(s)) {
    EnginePointer pointer;
    pointer.place = place_of(each);
    pointer.workspace = each.name == "workspace";
    if (!pointer.workspace) pointer.bytes = to_size(element_count(plan, each)) * size_of(each.type);
    pointer.per_box = each.per_box;
    pointer.written = each.written;
    pointer.required = !may_be_null(each);
    made.push_back(pointer);
  }
  return made;
}

// Whether arrays that the function writes overlap others. It uses so many bytes of its workspace.
bool overlaps(const Plan& plan, const Signature& s, const std::vector<EnginePointer>& pointers,
              const Arguments& a, std::size_t workspace) {
  bf::Span spans[ParameterList::kMost];
  int count = 0, written = 0;
  for (const EnginePointer& each : pointers) {
    const std::size_t bytes =
        each.workspace ? workspace : (each.per_box ? a.boxes.count : 1) * each.bytes;
    const void* const begin = pointer_at(a, each.place);
    if (begin == nullptr || bytes == 0) continue;
    spans[count++] = {begin, bytes};
    written += each.written ? 1 : 0;
  }
  if (bf::overlap(spans, count, written)) return true;
  if (s.purpose != Purpose::kVerify && s.purpose != Purpose::kDecide) return false;
  const std::size_t point = to_size(plan.input_count) * sizeof(float);
  for (std::size_t i = 0; i < (s.batch ? a.boxes.count : 1); ++i)
    if (bf::overlap(spans, count, {a.decision.results[i].counterexample, point})) return true;
  return false;
}

// The caller's arrays that steps read and write.
CallMemory memory_of(const Signature& s, const Arguments& a) {
  CallMemory memory;
  memory.lower = a.boxes.lower;
  memory.upper = a.boxes.upper;
  memory.out_lower = a.bounds.lower;
  memory.out_upper = a.bounds.upper;
  memory.x = a.point.x;
  memory.y = a.point.y;
  memory.coefficients = s.coefficients ? a.bounds.coefficients : nullptr;
  memory.kept_ranges = s.ranges ? a.bounds.ranges : nullptr;
  memory.workspace = a.workspace;
  memory.context = s.cached ? a.context.memory : nullptr;
  memory.count = a.boxes.count;
  memory.statuses = a.boxes.statuses;
  memory.open = s.batch ? nullptr : a.notes.open;
  memory.ranges = s.batch ? nullptr : a.notes.ranges;
  memory.seconds = s.parallel ? nullptr : a.notes.seconds;
  memory.watch = s.cached ? nullptr : a.notes.watch;
  return memory;
}

}  // namespace

Engine::Engine(std::shared_ptr<const Lowered> lowered, const EngineOptions& options)
    : Engine(lowered, code_for(lowered->plan()), options) {}

Engine::Engine(std::shared_ptr<const Lowered> lowered, const Prebuilt& code,
               const EngineOptions& options)
    : lowered_(std::move(lowered)), plan_(&lowered_->plan()), constants_(*lowered_) {
  expect_float_environment();
  if (std::ranges::any_of(plan_->domains, &DomainChoice::remade) && code.relax_fuses())
    BF_BROKEN("relaxations that are made anew need code that fuses no products");
  for (const Entry& entry : plan_->entries)
    entries_.push_back(assemble(*lowered_, entry, code, constants_, options.with_parts));
  for (const ExportedFunction& function : plan_->functions)
    pointers_.push_back(pointers_in(*plan_, function.signature));
  if (options.property == nullptr) return;
  property_ = std::make_shared<const PropertyMemory>(*options.property);
  if (property().inputs != plan_->input_count || property().rows != std::max(plan_->spec_rows, 1))
    BF_BROKEN("the plan is for another property");
}

const std::vector<EnginePointer>& Engine::pointers_of(const ExportedFunction& function) const {
  return pointers_[static_cast<std::size_t>(&function - plan_->functions.data())];
}

const EntryOperations& Engine::entry(EntryKind kind) const {
  for (const EntryOperations& each : entries_)
    if (each.entry->kind == kind) return each;
  BF_BROKEN("the plan has no such entry");
}

EntryKind Engine::entry_of(const Signature& signature) const {
  Signature of = signature;
  of.batch = signature.batch && plan_->batch.side_by_side > 1;
  return entry_kind(of);
}

std::size_t Engine::calls(EntryKind kind) const {
  return entry(kind).calls;
}

Thunk Engine::replace(EntryKind kind, std::size_t call, Thunk code) const {
  const EntryOperations& of = entry(kind);
  BF_CHECK(call < of.calls);
  return of.code[call].exchange(code, std::memory_order_relaxed);
}

// Checks arguments in the order in which generated functions do.
bf_status Engine::check(const ExportedFunction& function, const Arguments& a,
                        bf::Team& team) const {
  const Signature& s = function.signature;
  const std::vector<EnginePointer>& pointers = pointers_of(function);
  for (const EnginePointer& each : pointers)
    if (each.required && pointer_at(a, each.place) == nullptr) return BF_NULL_ARGUMENT;
  const auto align = static_cast<std::size_t>(plan_->config.target.align);
  if (s.cached || s.purpose == Purpose::kCacheCounters || s.purpose == Purpose::kContextSave)
    if (const bf_status status =
            bf::check_context(a.context.memory, a.context.bytes, to_size(plan_->context.bytes),
                              align, plan_->context.fingerprint))
      return status;
  if (s.batch &&
      (a.boxes.count == 0 || a.boxes.count > static_cast<std::size_t>(plan_->config.batch)))
    return BF_BAD_COUNT;
  if (s.parallel)
    if (const bf_status status =
            bf::gather_team(a.executor, static_cast<std::size_t>(plan_->config.workers), team))
      return status;
  if (!has_workspace(s)) return overlaps(*plan_, s, pointers, a, 0) ? BF_OVERLAP : BF_OK;
  std::size_t bytes = to_size(function.workspace.bytes);
  if (s.parallel)
    bytes = s.batch ? team.workers * bytes
                    : bytes + (team.workers - 1) * to_size(function.workspace.worker_bytes);
  if (bytes == 0 && !bf::float_environment_ok()) return BF_FLOAT_ENVIRONMENT;
  if (bytes > 0)
    if (const bf_status status = bf::check_workspace(a.workspace, a.workspace_bytes, bytes, align))
      return status;
  // A search takes all that it is given.
  const std::size_t used = s.purpose == Purpose::kDecide ? a.workspace_bytes : bytes;
  return overlaps(*plan_, s, pointers, a, used) ? BF_OVERLAP : BF_OK;
}

bf_status Engine::call(const Signature& signature, const Arguments& arguments,
                       TraceHook hook) const {
  const auto found = std::ranges::find(plan_->functions, signature, &ExportedFunction::signature);
  if (found == plan_->functions.end())
    BF_BROKEN("the plan has no function " + suffix_of(signature));
  bf::Team team = {nullptr, 1};
  if (signature.purpose == Purpose::kContextInit || signature.purpose == Purpose::kContextLoad)
    return overlaps(*plan_, signature, pointers_of(*found), arguments, 0)
               ? BF_OVERLAP
               : context_call(signature, arguments);
  if (const bf_status status = check(*found, arguments, team)) return status;
  switch (signature.purpose) {
    case Purpose::kBounds:
      return bounds(*found, arguments, team, hook);
    case Purpose::kEvaluate: {
      if (const bf_status status = check_box(arguments.point.x, arguments.point.x)) return status;
      return run(entry(EntryKind::kEvaluate), memory_of(signature, arguments), nullptr, {}, hook);
    }
    case Purpose::kVerify:
      return verdicts(*found, arguments, team);
    case Purpose::kPropertyBox:
      return property_box(arguments);
    case Purpose::kDecide:
      return decide(arguments);
    case Purpose::kCacheCounters:
    case Purpose::kContextSave:
      return context_call(signature, arguments);
    case Purpose::kContextInit:
    case Purpose::kContextLoad:
    case Purpose::kStatusText:
    case Purpose::kInfo:
      break;
  }
  BF_BROKEN("the engine does not run " + suffix_of(signature));
}

bf_status Engine::check_box(const float* lower, const float* upper) const {
  if (!is_in_float32(plan_->config.semantics))
    return bf::check_box(lower, upper, plan_->input_count);
  return bf::check_box(lower, upper, plan_->input_count, static_cast<float>(plan_->float32_reach));
}

bf_status Engine::check_boxes(const Arguments& a) const {
  if (!is_in_float32(plan_->config.semantics))
    return bf::check_boxes(a.boxes.count, a.boxes.lower, a.boxes.upper, plan_->input_count,
                           a.boxes.statuses);
  return bf::check_boxes(a.boxes.count, a.boxes.lower, a.boxes.upper, plan_->input_count,
                         a.boxes.statuses, static_cast<float>(plan_->float32_reach));
}

bf_status Engine::bounds(const ExportedFunction& function, const Arguments& a, const bf::Team& team,
                         TraceHook hook) const {
  const Signature& s = function.signature;
  if (s.batch) return batch(function, a, team, hook);
  if (const bf_status status = check_box(a.boxes.lower, a.boxes.upper)) return status;
  if (s.cached) return cached_bounds(s, a, hook);
  CallMemory memory = memory_of(s, a);
  memory.team = memory.helpers = team;
  // The workspace of such a call has no room for the tiles of more than one.
  if (!s.parallel && a.executor != nullptr)
    if (const bf_status status =
            bf::gather_team(a.executor, to_size(plan_->config.workers), memory.helpers))
      return status;
  return run(entry(entry_kind(s)), memory, nullptr, {}, hook);
}

bf_status Engine::cached_bounds(const Signature& s, const Arguments& a, TraceHook hook) const {
  const EntryOperations& of = entry(entry_kind(s));
  auto& state = *static_cast<bf::Context*>(a.context.memory);
  const auto box = [&](std::string_view name) -> float* {
    const Buffer* const buffer = plan_->context.find(name);
    if (buffer == nullptr) return nullptr;
    return reinterpret_cast<float*>(static_cast<std::byte*>(a.context.memory) + buffer->offset);
  };
  const bf::KeptBoxes boxes = {box("last_lower"), box("last_upper"), box("anchor_lower"),
                               box("anchor_upper")};
  const bf::CachedCall call = bf::begin_call(state, boxes, a.boxes.lower, a.boxes.upper,
                                             plan_->input_count, s.spec ? 1 : 0);
  if (const bf_status status = run(of, memory_of(s, a), &state, call, hook)) return status;
  bf::end_call(state, boxes, call, of.improves);
  return BF_OK;
}

// ---- several boxes

Arguments Engine::box_of(const Signature& s, const Arguments& a, std::size_t i) const {
  const auto inputs = static_cast<std::size_t>(plan_->input_count);
  const auto rows = static_cast<std::size_t>(s.spec ? plan_->spec_rows : plan_->output_count);
  Arguments one = a;
  one.boxes.lower = a.boxes.lower + i * inputs;
  one.boxes.upper = a.boxes.upper + i * inputs;
  if (s.purpose == Purpose::kVerify) {
    one.decision.results = a.decision.results + i;
    return one;
  }
  one.bounds.lower = a.bounds.lower + i * rows;
  one.bounds.upper = a.bounds.upper + i * rows;
  if (a.bounds.coefficients != nullptr)
    one.bounds.coefficients = a.bounds.coefficients + i * rows * bf::lines_of_row(inputs);
  return one;
}

bf_status Engine::batch_by_turns(const Signature& signature, const Arguments& a) const {
  Signature one = signature;
  one.batch = false;
  for (std::size_t i = 0; i < a.boxes.count; ++i) {
    a.boxes.statuses[i] = call(one, box_of(signature, a, i));
    if (signature.parallel &&
        (a.boxes.statuses[i] == BF_BAD_EXECUTOR || a.boxes.statuses[i] == BF_FLOAT_ENVIRONMENT))
      return bf::fail_boxes(a.boxes.statuses[i], i, a.boxes.count, a.boxes.statuses);
  }
  return bf::first_failure(a.boxes.count, a.boxes.statuses);
}

bf_status Engine::batch(const ExportedFunction& function, const Arguments& a, const bf::Team& team,
                        TraceHook hook) const {
  const Signature& s = function.signature;
  if (plan_->batch.side_by_side == 1)
    return s.parallel ? turns_of_workers(function, a, team) : batch_by_turns(s, a);
  if (s.parallel) return groups_of_workers(function, a, team);
  const bf_status first = check_boxes(a);
  if (const bf_status status = run(entry(entry_kind(s)), memory_of(s, a), nullptr, {}, hook))
    return status;
  return first;
}

// Deals boxes out to workers, each of which has a workspace. Of fewer boxes than workers, each
// box's rows are shared among all workers instead.
bf_status Engine::turns_of_workers(const ExportedFunction& function, const Arguments& a,
                                   const bf::Team& team) const {
  const Signature& s = function.signature;
  if (a.boxes.count < team.workers && plan_->parallel.workers > 1) return batch_by_turns(s, a);
  const std::size_t bytes = to_size(function.workspace.worker_bytes);
  const bf::Scratch scratch = {static_cast<unsigned char*>(a.workspace), bytes};
  Signature one = s;
  one.batch = one.parallel = false;
  const auto box = [&](int index, unsigned char* own) {
    const auto i = static_cast<std::size_t>(index);
    Arguments of = box_of(s, a, i);
    of.workspace = own;
    of.workspace_bytes = bytes;
    of.notes.watch = nullptr;  // nothing is thrown through an executor
    a.boxes.statuses[i] = call(one, of);
  };
  if (const bf_status status = bf::run_tiles(team, scratch, static_cast<int>(a.boxes.count), box))
    return bf::fail_boxes(status, 0, a.boxes.count, a.boxes.statuses);
  return bf::first_failure(a.boxes.count, a.boxes.statuses);
}

// Deals groups of boxes out to workers, each of which has a workspace.
bf_status Engine::groups_of_workers(const ExportedFunction& function, const Arguments& a,
                                    const bf::Team& team) const {
  const Signature& s = function.signature;
  const bf::Scratch scratch = {static_cast<unsigned char*>(a.workspace),
                               to_size(function.workspace.worker_bytes)};
  const bf_status first = check_boxes(a);
  const EntryOperations& of = entry(entry_kind(s));
  const auto group = [&](int index, unsigned char* own) {
    CallMemory mine = memory_of(s, a);
    mine.group = index;
    mine.watch = nullptr;
    mine.workspace = own;
    (void)run(of, mine, nullptr, {}, nullptr);  // an entry of several boxes has no workers
  };
  const auto good = static_cast<std::size_t>(
      std::count(a.boxes.statuses, a.boxes.statuses + a.boxes.count, BF_OK));
  const auto size = static_cast<std::size_t>(plan_->batch.side_by_side);
  if (const bf_status status =
          bf::run_tiles(team, scratch, static_cast<int>((good + size - 1) / size), group))
    return bf::fail_boxes(status, 0, a.boxes.count, a.boxes.statuses);
  return first;
}

bf_status Engine::verdicts(const ExportedFunction& function, const Arguments& a,
                           const bf::Team& team) const {
  const Signature& s = function.signature;
  if (!s.batch) return verify(s, a, team);
  if (plan_->batch.side_by_side > 1) return verify_together(s, a, team);
  return s.parallel ? turns_of_workers(function, a, team) : batch_by_turns(s, a);
}

// ---- contexts

bf_status Engine::context_call(const Signature& signature, const Arguments& a) const {
  const ContextPlan& context = plan_->context;
  const std::size_t begin = to_size(context.persistent_begin);
  const std::size_t bytes = to_size(context.persistent_bytes);
  const std::size_t blob_bytes = BF_BLOB_HEADER_BYTES + bytes;
  const char* const sha256 = plan_->model.sha256.c_str();
  if (signature.purpose == Purpose::kCacheCounters) {
    *a.context.counters = static_cast<const bf::Context*>(a.context.memory)->counters;
    return BF_OK;
  }
  if (signature.purpose == Purpose::kContextSave) {
    if (a.context.blob_bytes < blob_bytes) return BF_BLOB_TOO_SMALL;
    bf::save_blob(a.context.memory, begin, bytes, sha256, a.context.blob);
    return BF_OK;
  }
  const auto align = static_cast<std::size_t>(plan_->config.target.align);
  if (const bf_status status =
          bf::check_room(a.context.memory, a.context.bytes, to_size(context.bytes), align))
    return status;
  bf::init_context(a.context.memory, context.fingerprint, begin, bytes);
  if (signature.purpose == Purpose::kContextInit) return BF_OK;
  if (a.context.from_blob == nullptr) return BF_NULL_ARGUMENT;
  if (a.context.blob_bytes < blob_bytes) return BF_BLOB_TOO_SMALL;
  return bf::load_blob(a.context.memory, begin, bytes, sha256, a.context.from_blob);
}

}  // namespace bf_aot::engine
