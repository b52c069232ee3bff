#include "tests/soundness/engine_call.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "aot/build/library.h"
#include "aot/engine/run/find_prebuilt.h"
#include "aot/engine/verifier/exported_pointer.h"

namespace bf_aot::soundness {
namespace {

template <Signature kSignature, std::size_t kIndex>
auto argument(const engine::Arguments& a) {
  constexpr Parameter parameter = parameters_of(kSignature)[kIndex];
  constexpr std::string_view name = parameter.name;
  if constexpr (name == "context")
    return a.context.memory;
  else if constexpr (name == "context_bytes")
    return a.context.bytes;
  else if constexpr (name == "lower" && parameter.written)
    return a.of_case.lower;
  else if constexpr (name == "upper" && parameter.written)
    return a.of_case.upper;
  else if constexpr (name == "count")
    return a.boxes.count;
  else if constexpr (name == "lower")
    return a.boxes.lower;
  else if constexpr (name == "upper")
    return a.boxes.upper;
  else if constexpr (name == "out_lower")
    return a.bounds.lower;
  else if constexpr (name == "out_upper")
    return a.bounds.upper;
  else if constexpr (name == "coefficients")
    return a.bounds.coefficients;
  else if constexpr (name == "ranges")
    return a.bounds.ranges;
  else if constexpr (name == "x")
    return a.point.x;
  else if constexpr (name == "y")
    return a.point.y;
  else if constexpr (name == "index")
    return a.of_case.index;
  else if constexpr (name == "result" || name == "results")
    return a.decision.results;
  else if constexpr (name == "budget")
    return a.decision.budget;
  else if constexpr (name == "search")
    return a.decision.search;
  else if constexpr (name == "statuses")
    return a.boxes.statuses;
  else if constexpr (name == "workspace")
    return a.workspace;
  else if constexpr (name == "workspace_bytes")
    return a.workspace_bytes;
  else if constexpr (name == "executor")
    return a.executor;
  else if constexpr (name == "counters")
    return a.context.counters;
  else if constexpr (name == "blob" && parameter.written)
    return a.context.blob;
  else if constexpr (name == "blob")
    return a.context.from_blob;
  else if constexpr (name == "blob_bytes")
    return a.context.blob_bytes;
}

template <Signature kSignature, std::size_t... kIndices>
bf_status call_symbol(void* symbol, const engine::Arguments& a,
                      std::index_sequence<kIndices...> /*parameters*/) {
  return reinterpret_cast<engine::ExportedPointer<kSignature>>(symbol)(
      argument<kSignature, kIndices>(a)...);
}

// What outputs hold before a call.
constexpr float kLowerBefore = 12345, kUpperBefore = 54321;

// Bounds and verdicts of all kinds, evaluation, and what contexts need.
constexpr std::size_t kSignatures = 27;
constexpr std::array<Signature, kSignatures> all_signatures() {
  std::array<Signature, kSignatures> all = {};
  std::size_t n = 0;
  for (const bool batch : {false, true})
    for (const bool parallel : {false, true})
      for (int rows = 0; rows < 3; ++rows)
        all[n++] = {Purpose::kBounds, rows > 0, rows > 1, false, batch, parallel};
  all[n++] = {.spec = true, .ranges = true};
  all[n++] = {Purpose::kBounds, false, false, true};
  all[n++] = {Purpose::kBounds, true, false, true};
  all[n++] = {Purpose::kContextInit};
  all[n++] = {Purpose::kCacheCounters};
  all[n++] = {Purpose::kContextSave};
  all[n++] = {Purpose::kContextLoad};
  all[n++] = {Purpose::kEvaluate};
  for (const bool batch : {false, true})
    for (const bool parallel : {false, true})
      all[n++] = {Purpose::kVerify, false, false, false, batch, parallel};
  all[n++] = {Purpose::kVerify, false, false, true};
  all[n++] = {Purpose::kPropertyBox};
  all[n++] = {Purpose::kDecide};
  return all;
}
constexpr std::array<Signature, kSignatures> kAll = all_signatures();

template <std::size_t... kIndices>
bf_status call_symbol(const Signature& signature, void* symbol, const engine::Arguments& a,
                      std::index_sequence<kIndices...> /*signatures*/) {
  bf_status status = BF_OK;
  const bool found =
      ((signature == kAll[kIndices] &&
        (status = call_symbol<kAll[kIndices]>(
             symbol, a, std::make_index_sequence<parameters_of(kAll[kIndices]).size()>()),
         true)) ||
       ...);
  if (!found) throw std::logic_error("no pointer to " + suffix_of(signature));
  return status;
}

}  // namespace

Arena workspace_for(const Plan& plan, const Signature& signature, const CallWith& with,
                    std::size_t& bytes) {
  const auto found = std::ranges::find(plan.functions, signature, &ExportedFunction::signature);
  if (found == plan.functions.end())
    throw std::logic_error("the plan has no " + suffix_of(signature));
  const Workspace& needs = found->workspace;
  bytes = static_cast<std::size_t>(needs.bytes);
  if (signature.parallel && with.executor != nullptr) {
    const std::size_t workers = with.workers.value_or(
        std::min(with.executor->workers, static_cast<std::size_t>(plan.config.workers)));
    bytes = signature.batch ? workers * bytes
                            : bytes + (workers - 1) * static_cast<std::size_t>(needs.worker_bytes);
  }
  Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
  arena.fill(with.fill);
  return arena;
}

void expect_guards(const Arena& arena) {
  if (!arena.guards_intact()) throw std::logic_error("written outside the memory of a call");
}

std::vector<std::string> engine_targets() {
  std::vector<std::string> found;
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "generic"})
    if (engine::find_prebuilt(name) != nullptr && build::runs_here(find_target(name)))
      found.emplace_back(name);
  return found;
}

namespace {

std::shared_ptr<const Plan> planned(const Graph& graph, bool has_spec, bool property,
                                    const PlannerConfig& config) {
  ModelInfo info;
  info.file_name = graph.name;
  info.sha256 = std::string(64, '0');
  info.opset = 17;
  PlanOptions options;
  const Property any;
  options.property = property ? &any : nullptr;
  return std::make_shared<const Plan>(bf_aot::plan(graph, info, "net", has_spec, config, options));
}

}  // namespace

std::shared_ptr<const Plan> plan_for_engine(const Graph& graph, bool has_spec,
                                            const PlannerConfig& config) {
  return planned(graph, has_spec, false, config);
}

std::shared_ptr<const Plan> plan_for_property(const Graph& graph, const PlannerConfig& config) {
  return planned(graph, true, true, config);
}

Callee callee_of(const engine::Engine& engine) {
  return [&engine](const Signature& signature, const engine::Arguments& arguments) {
    return engine.call(signature, arguments);
  };
}

Callee callee_of(const Batch& batch, std::size_t net) {
  return [&batch, net](const Signature& signature, const engine::Arguments& arguments) {
    void* const symbol = batch.symbol(net, "_" + suffix_of(signature));
    return call_symbol(signature, symbol, arguments, std::make_index_sequence<kSignatures>());
  };
}

bool has_function(const Plan& plan, const Signature& signature) {
  return std::ranges::find(plan.functions, signature, &ExportedFunction::signature) !=
         plan.functions.end();
}

bool untouched(const Outcome& outcome) {
  const auto all = [](const std::vector<float>& values, float value) {
    return std::ranges::count(values, value) == static_cast<std::ptrdiff_t>(values.size());
  };
  return all(outcome.lower, kLowerBefore) && all(outcome.upper, kUpperBefore);
}

Called call_bounds(const Plan& plan, const Callee& callee, const Signature& signature,
                   const std::vector<FloatBox>& boxes, const CallWith& with) {
  const auto rows = static_cast<std::size_t>(signature.spec ? plan.spec_rows : plan.output_count);
  const auto inputs = static_cast<std::size_t>(plan.input_count);
  std::vector<float> lower, upper;
  for (const FloatBox& box : boxes) {
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
  }
  std::vector<float> out_lower(boxes.size() * rows, kLowerBefore);
  std::vector<float> out_upper(boxes.size() * rows, kUpperBefore);
  std::vector<bf_status> statuses(boxes.size(), static_cast<bf_status>(-1));
  Called called;
  if (signature.coefficients)
    called.coefficients.resize(boxes.size() * rows * bf::lines_of_row(inputs), 7777.0F);
  if (signature.ranges)
    called.ranges.resize(2 * static_cast<std::size_t>(plan.decide.neurons), 7777.0F);
  engine::Arguments a;
  Arena arena = workspace_for(plan, signature, with, a.workspace_bytes);
  a.boxes.count = boxes.size();
  a.boxes.lower = lower.data();
  a.boxes.upper = upper.data();
  a.bounds.lower = out_lower.data();
  a.bounds.upper = out_upper.data();
  a.bounds.coefficients = signature.coefficients ? called.coefficients.data() : nullptr;
  a.bounds.ranges = signature.ranges ? called.ranges.data() : nullptr;
  a.boxes.statuses = statuses.data();
  a.workspace = arena.data();
  a.executor = with.executor;
  if (with.context != nullptr) {
    a.context.memory = with.context->data();
    a.context.bytes = static_cast<std::size_t>(plan.context.bytes);
  }
  called.status = callee(signature, a);
  expect_guards(arena);
  if (with.context != nullptr) expect_guards(*with.context);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto part = [&](const std::vector<float>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * rows);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(rows));
    };
    called.boxes.push_back(
        {signature.batch ? statuses[i] : called.status, part(out_lower), part(out_upper)});
  }
  return called;
}

Outcome call_evaluate(const Plan& plan, const Callee& callee, const std::vector<float>& x) {
  const Signature signature = {Purpose::kEvaluate};
  Outcome outcome;
  outcome.lower.resize(static_cast<std::size_t>(plan.output_count), kLowerBefore);
  engine::Arguments a;
  Arena arena = workspace_for(plan, signature, {}, a.workspace_bytes);
  a.point.x = x.data();
  a.point.y = outcome.lower.data();
  a.workspace = arena.data();
  outcome.status = callee(signature, a);
  expect_guards(arena);
  outcome.upper = outcome.lower;
  return outcome;
}

Arena new_context(const Plan& plan, const Callee& callee) {
  const auto bytes = static_cast<std::size_t>(plan.context.bytes);
  Arena context(bytes, static_cast<std::size_t>(plan.config.target.align));
  context.fill(0xa5);
  engine::Arguments a;
  a.context.memory = context.data();
  a.context.bytes = bytes;
  if (callee({Purpose::kContextInit}, a) != BF_OK) throw std::logic_error("no context");
  return context;
}

}  // namespace bf_aot::soundness
