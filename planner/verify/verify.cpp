#include "planner/verify/verify.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "frontend/check_scope.h"
#include "planner/lowering/lowered.h"
#include "planner/lowering/weight_tables.h"
#include "planner/verify/verify_cache.h"
#include "planner/verify/verify_calls.h"
#include "planner/verify/verify_entry.h"
#include "planner/verify/verify_integer.h"
#include "planner/verify/verify_layer.h"
#include "planner/verify/verify_prebuilt.h"

namespace bf_aot {
namespace {

int check_heads(const Plan& plan, const std::vector<LayerId>& heads) {
  int total = 0;
  for (LayerId head : heads) {
    require(plan.layers.has(head), "head {} is no layer", head.number());
    const Layer& layer = plan.layer(head);
    require(layer.is_affine() && !layer.function,
            "head {} is neither dense nor a sum, or has a function", layer.name);
    total += layer.out;
  }
  return total;
}

std::int64_t total_elements(const std::vector<Value>& values) {
  std::int64_t total = 0;
  for (const Value& value : values) total += element_count(value.shape);
  return total;
}

void check_network(const Plan& plan) {
  require(is_identifier(plan.name), "plan name '{}' is no identifier", plan.name);
  require(plan.input_count > 0 && plan.input_count == total_elements(plan.inputs),
          "the inputs hold {} numbers, not {}", total_elements(plan.inputs), plan.input_count);
  require(plan.output_count > 0 && plan.output_count == total_elements(plan.outputs),
          "the outputs hold {} numbers, not {}", total_elements(plan.outputs), plan.output_count);
  std::set<std::string> names;
  for (const LayerId i : plan.layer_ids()) {
    verify_layer(plan, i);
    const std::string& name = plan.layer(i).name;
    require(names.insert(name).second, "two layers are named {}", name);
  }
  require(check_heads(plan, plan.output_heads) == plan.output_count,
          "the heads do not make the {} outputs", plan.output_count);
  require(check_heads(plan, plan.spec_heads) == plan.spec_rows,
          "the heads do not make the {} spec rows", plan.spec_rows);
}

void check_kernels(const Plan& plan) {
  std::set<std::string> keys, functions;
  for (const Kernel& kernel : plan.kernels) {
    require(!kernel.key.empty() && keys.insert(kernel.key).second, "kernel key '{}' is taken",
            kernel.key);
    require(is_identifier(kernel.function) && functions.insert(kernel.function).second,
            "kernel {}: function '{}' is taken or no identifier", kernel.key, kernel.function);
    const Schedule& s = kernel.schedule;
    require(s.lanes >= 1 && s.vectors >= 1 && s.columns >= 1 && s.chunk >= 0 && s.unroll >= 1 &&
                s.pixels >= 0,
            "kernel {}: empty schedule", kernel.key);
    require(kernel.in >= 0 && kernel.out >= 0 && kernel.rows >= 0 && kernel.panel >= 0 &&
                kernel.depth >= 0 && kernel.prefetch >= 0,
            "kernel {}: negative extent", kernel.key);
    require(!kernel.reason.empty(), "kernel {}: no reason", kernel.key);
  }
}

// The kernels that a step calls.
class Calls {
 public:
  explicit Calls(const Plan& plan) : plan_(plan) {}

  template <typename OneStep>
  void operator()(const OneStep& step) {
    if constexpr (requires { step.kernel; }) made_.insert(step.kernel);
    if constexpr (requires { step.parts; })
      for (const SumPart& part : step.parts) made_.insert(part.kernel);
  }

  void operator()(const BackwardRows& step) {
    made_.insert(step.concretize);
    if (is_dense(step.layer)) made_.insert(step.start);
    for (const BackwardOut& out : step.starts) made_.insert(out.kernel);
    for (const BackwardLink& link : step.links) add(link);
    for (const BackwardRows& last : step.last) (*this)(last);
  }

  const std::set<KernelId>& made() const { return made_; }

 private:
  bool is_dense(LayerId layer) const { return plan_.layer(layer).kind == LayerKind::kDense; }

  void add(const BackwardLink& link) {
    made_.insert(link.kernel);
    if (link.relaxed != BufferId::kNone && is_dense(link.layer)) made_.insert(link.relax);
    if (link.values != BufferId::kNone) made_.insert(link.step);
    made_.insert(link.forward.begin(), link.forward.end());
    for (const BackwardOut& out : link.outs) made_.insert(out.kernel);
    for (const RepeatedStep& step : link.remake) std::visit(*this, step);
  }

  const Plan& plan_;
  std::set<KernelId> made_;
};

// Kernels are printed: compilers warn of functions that nothing calls.
void check_calls(const Plan& plan) {
  Calls calls(plan);
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps) std::visit(calls, step);
  for (std::size_t i = 0; i < plan.kernels.size(); ++i)
    require(calls.made().contains(static_cast<KernelId>(i)), "kernel {}: no step calls it",
            plan.kernels[i].key);
}

void check_domains(const Plan& plan, const PerLayer<DomainChoice>& domains) {
  require(domains.size() == plan.layers.size(), "{} domains for {} layers", domains.size(),
          plan.layers.size());
  for (const LayerId id : plan.layer_ids()) {
    const DomainChoice& choice = domains[id];
    require(choice.layer == id, "domain {} is of layer {}", id.number(), choice.layer.number());
    require(!choice.reason.empty(), "domain of layer {}: no reason", id.number());
  }
}

void check_methods(const Plan& plan) {
  check_domains(plan, plan.domains);
  require(plan.cheaper.size() == plan.config.cheaper.size(), "{} cheaper methods, not {}",
          plan.cheaper.size(), plan.config.cheaper.size());
  for (std::size_t i = 0; i < plan.cheaper.size(); ++i) {
    require(plan.cheaper[i].method == plan.config.cheaper[i], "cheaper method {}", i);
    check_domains(plan, plan.cheaper[i].domains);
  }
}

// Bounds of the cheapest method never stop, so that there are some whatever the limit. All others
// ask before each step; rows before each tile.
void check_work(const Plan& plan, const Entry& entry) {
  const bool bounds = entry.kind == EntryKind::kBounds || entry.kind == EntryKind::kSpecBounds;
  const bool several = bounds && !plan.cheaper.empty();
  require(!entry.by || several, "a cheaper method of an entry that has none");
  require(entry.work.size() == (several ? entry.steps.size() : 0), "work of {} steps",
          entry.work.size());
  const bool cheapest = several && entry.by == plan.cheaper.front().method;
  require(entry.can_stop == (several && !cheapest), "an entry stops, or does not");
  for (const StepWork& each : entry.work)
    require(each.operations >= 0 && each.times >= 1, "{} operations {} times", each.operations,
            each.times);
}

void check_layouts(const Plan& plan) {
  require(plan.layouts.size() == plan.layers.size(), "{} layouts for {} layers",
          plan.layouts.size(), plan.layers.size());
  for (const LayerId id : plan.layer_ids()) {
    const WeightLayout& layout = plan.layout(id);
    require(layout.layer == id, "layout {} is of layer {}", id.number(), layout.layer.number());
    require(layout.panel >= 1 && layout.bytes >= 0, "layout of layer {}: panel {}, {} bytes",
            id.number(), layout.panel, layout.bytes);
  }
}

void check_notes(const Plan& plan) {
  for (const CacheEntry& entry : plan.cache)
    require(!entry.task.empty() && plan.context.find(entry.name) != nullptr,
            "cache entry '{}' has no task, or no place in the context", entry.name);
  for (const Rejected& rejected : plan.rejected)
    require(!rejected.slot.empty() && !rejected.candidate.empty() && !rejected.reason.empty(),
            "rejected candidate '{}' of '{}' has no slot or reason", rejected.candidate,
            rejected.slot);
}

void check_split_weights(const Plan& plan) {
  require(plan.split_weights.empty() ||
              (plan.config.decide &&
               plan.split_weights.size() == static_cast<std::size_t>(plan.input_count)),
          "{} weights to split {} inputs by", plan.split_weights.size(), plan.input_count);
  for (const float weight : plan.split_weights)
    require(weight >= 0 && weight <= 1, "a split weight of {}", weight);
}

void check_batch(const Plan& plan) {
  const int lanes = plan.batch.side_by_side;
  require(plan.config.batch >= 1 && lanes >= 1, "a batch of {} boxes, {} side by side",
          plan.config.batch, lanes);
  require((plan.config.batch > 1) == !plan.batch.reason.empty(), "a batch has no reason");
  const bool side_by_side = plan.config.batch > 1 && lanes > 1;
  require((plan.find_entry(EntryKind::kBoundsBatch) != nullptr) == side_by_side &&
              (plan.find_entry(EntryKind::kSpecBoundsBatch) != nullptr) ==
                  (side_by_side && plan.spec_rows > 0),
          "the entries of several boxes are not those of the batch");
  for (const Entry& entry : plan.entries)
    require(entry.boxes == (is_batch(entry.kind) ? lanes : 1), "{}: {} boxes side by side",
            to_string(entry.kind), entry.boxes);
}

void check_parallel(const Plan& plan, PlanStage stage) {
  if (stage < PlanStage::kStorage) return;
  int workers = 1;
  for (const Entry& entry : plan.entries) workers = std::max(workers, entry.workers);
  require(plan.parallel.workers == workers, "{} workers, but entries for {}", plan.parallel.workers,
          workers);
  require((plan.config.workers > 1) == !plan.parallel.reason.empty(), "workers without a reason");
}

void check_entries(const Plan& plan, PlanStage stage) {
  std::multiset<EntryKind> kinds;
  std::set<std::string> names;
  for (const Entry& entry : plan.entries) {
    const CheckScope scope(fmt::format("entry {}", name_of(entry)));
    require(names.insert(name_of(entry)).second, "two entries {}", name_of(entry));
    kinds.insert(entry.kind);
    if (stage >= PlanStage::kTasks) check_work(plan, entry);
    verify_entry(plan, entry, stage);
    verify_workers(plan, entry);
  }
  const std::size_t methods = 1 + plan.cheaper.size();
  require(kinds.count(EntryKind::kBounds) == methods, "{} entries '{}'",
          kinds.count(EntryKind::kBounds), to_string(EntryKind::kBounds));
  require(kinds.count(EntryKind::kSpecBounds) == (plan.spec_rows > 0 ? methods : 0),
          "{} spec rows, but the spec entry says otherwise", plan.spec_rows);
  check_batch(plan);
  check_calls(plan);
  check_parallel(plan, stage);
  verify_cache(plan);
  verify_programs(plan, calls::programs_of(plan, weight_tables(plan)));
}

}  // namespace

void verify_programs(const Plan& plan, const std::vector<calls::Program>& programs) {
  require(programs.size() == plan.entries.size(), "{} programs of {} entries", programs.size(),
          plan.entries.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    verify_calls(plan, plan.entries[i], programs[i]);
    if (plan.config.lowering == Lowering::kPrebuilt) verify_prebuilt(plan, programs[i]);
  }
}

void verify(const Plan& plan, PlanStage stage, bool layers) {
  const CheckScope scope(fmt::format("stage {}", to_string(stage)));
  const int align = plan.config.target.align;
  require(align > 0 && (align & (align - 1)) == 0, "alignment {} is no power of two", align);
  require((plan.config.arithmetic == Arithmetic::kInteger) == plan.integer.has_value(),
          "the plan's arithmetic is not the configuration's");
  if (plan.integer) return verify_integer(plan, stage);
  if (layers) check_network(plan);
  check_notes(plan);
  check_split_weights(plan);
  if (stage >= PlanStage::kDomains)
    check_methods(plan);
  else
    require(plan.domains.empty() && plan.cheaper.empty(), "domains before their time");
  if (stage >= PlanStage::kEntries) {
    check_layouts(plan);
    check_kernels(plan);
    check_entries(plan, stage);
    verify_functions(plan);
  } else {
    require(plan.entries.empty() && plan.kernels.empty(), "entries before their time");
  }
}

}  // namespace bf_aot
