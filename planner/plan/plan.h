#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/plan/buffers.h"
#include "planner/plan/config.h"
#include "planner/plan/functions.h"
#include "planner/plan/integer.h"
#include "planner/plan/kernels.h"
#include "planner/plan/layers.h"
#include "planner/plan/steps.h"

namespace bf_aot {

// The plan: BoundFlow's slots. All members are made by planner passes and used by the emitter.

// Calls of one kernel or routine within a task, as the cost model predicts them.
struct TaskPart {
  std::string name;      // "backward_affine_50x50_rows32", "tighten"
  KernelId kernel = -1;  // -1: a routine of the runtime that is no kernel
  int step = 0;          // of the entry
  double calls = 0;
  double flops = 0, bytes = 0, seconds = 0;  // of all calls
  bool operator==(const TaskPart&) const = default;
};

// A unit of work: consecutive steps of an entry, as many as PlannerConfig::granularity says.
struct Task {
  std::string name;              // "forward + backward + relax fc1", "bind box"
  std::optional<LayerId> layer;  // none: the box, or several layers
  Domain domain = Domain::kInterval;
  std::vector<int> steps;         // indices into the entry's steps
  std::vector<BufferId> inputs;   // made by other tasks
  std::vector<BufferId> outputs;  // read by other tasks
  std::vector<int> after;         // tasks that must run before: the edges of the TaskGraph
  std::int64_t flops = 0;         // at most: every neuron unstable
  std::int64_t bytes = 0;         // of weights read at most once per pass over them
  std::vector<TaskPart> parts;    // their seconds sum up to predicted_seconds
  double predicted_seconds = 0;   // per call; see Plan::prediction
  bool operator==(const Task&) const = default;
};

enum class EntryKind : std::uint8_t {
  kBounds,
  kSpecBounds,
  kEvaluate,
  // Entries with a context, in which calls keep results for each other.
  kBoundsCached,
  kSpecBoundsCached,
  // Entries for several boxes side by side; see BatchPlan.
  kBoundsBatch,
  kSpecBoundsBatch,
};

constexpr bool is_spec(EntryKind kind) {
  return kind == EntryKind::kSpecBounds || kind == EntryKind::kSpecBoundsCached ||
         kind == EntryKind::kSpecBoundsBatch;
}
constexpr bool is_cached(EntryKind kind) {
  return kind == EntryKind::kBoundsCached || kind == EntryKind::kSpecBoundsCached;
}
constexpr bool is_batch(EntryKind kind) {
  return kind == EntryKind::kBoundsBatch || kind == EntryKind::kSpecBoundsBatch;
}

// Operations, as the cost model counts them with every neuron unstable: of a step, or of each of
// its tiles of rows.
struct StepWork {
  std::int64_t operations = 0;
  std::int64_t times = 1;  // at most
  bool operator==(const StepWork&) const = default;
};

// One function of the verifier: its steps, their tasks, and its use of the arena.
struct Entry {
  EntryKind kind = EntryKind::kBounds;
  std::optional<Method> by = {};  // one of Plan::cheaper; none: the plan's method
  std::vector<Step> steps;
  std::vector<Task> tasks;
  std::vector<Buffer> buffers;
  StorageTotals storage;

  // Cached entries, on the box of the call before: its first `shared_steps` need not run again, nor
  // those up to `kept_steps` if that call, or one since, was of this entry.
  int shared_steps = 0;
  int kept_steps = 0;

  // Has an element for each step where a plan has several methods; else it is empty. An entry that
  // can stop asks before each whether so much is left of its caller's limit.
  std::vector<StepWork> work = {};
  bool can_stop = false;

  // Side by side: element i of box b is element i boxes + b of a buffer, in the lanes of vectors.
  int boxes = 1;

  // Tiles of rows go to so many workers at most; 1: they follow each other. With several, `storage`
  // is of what they share, and each has a part of its own behind it.
  int workers = 1;
  StorageTotals worker_storage;

  // Storage of a call by one worker, where tiles may go to several.
  StorageTotals with_one_worker() const;  // the totals of the shared part and of one worker's
  std::int64_t arena_bytes() const { return storage.planned_bytes + worker_storage.planned_bytes; }
  std::int64_t operations() const;          // of a call, at most
  std::int64_t longest_operations() const;  // between two questions whether to go on
  const Step& step(int index) const { return steps.at(static_cast<std::size_t>(index)); }
  Step& step(int index) { return steps.at(static_cast<std::size_t>(index)); }
  const Task& task(int index) const { return tasks.at(static_cast<std::size_t>(index)); }
  Task& task(int index) { return tasks.at(static_cast<std::size_t>(index)); }
  const Buffer& buffer(BufferId id) const { return buffers.at(static_cast<std::size_t>(id)); }
  Buffer& buffer(BufferId id) { return buffers.at(static_cast<std::size_t>(id)); }
  bool operator==(const Entry&) const = default;
};

struct DomainChoice {
  LayerId layer = 0;
  Domain domain = Domain::kInterval;
  bool unstable_only = true;  // backward: of the neurons whose relaxation is not exact, or of all
  std::string reason;
  int row_tile = 0;  // rows of a backward tile; 0: as configured
  // The layer's relaxation is not stored: rows that pass it make it anew for each tile. Not where
  // rows choose its slopes.
  bool remade = false;
  bool operator==(const DomainChoice&) const = default;
};

// A method beside the plan's own, and what it keeps of each layer.
struct CheaperMethod {
  Method method = Method::kIbp;
  PerLayer<DomainChoice> domains;
  bool operator==(const CheaperMethod&) const = default;
};

// The boxes for which a later call uses again what survived a call.
enum class BoxMatch : std::uint8_t {
  kSame,    // the box is the same, bit for bit
  kInside,  // the box lies inside
  kAny,     // always: no bound depends on it
};

// The record of a search for domains.
struct SearchSummary {
  std::string pass;          // that searched
  std::string kind;          // "greedy", "beam of 4", "exhaustive"
  std::string goal;          // what was minimised, within what
  std::string looseness_of;  // how looseness was found out
  double candidates = 0;     // of the space
  std::int64_t measured = 0;
  bool complete = true;  // the work allowed for measuring was enough
  // Predicted of the plan that was taken.
  double seconds = 0, looseness = 0, compile_seconds = 0;
  std::int64_t bytes = 0;
  bool operator==(const SearchSummary&) const = default;
};

// Something that survives a call, and all that it depends on. Every key also holds the fingerprint
// of the plan: model, specification, method, options, version.
struct CacheEntry {
  std::string name;  // of a buffer of the context
  CacheScope scope = CacheScope::kEpoch;
  std::string task;  // that makes it: "backward_rows fc1"
  Domain domain = Domain::kInterval;
  bool spec = false;  // made for the rows of the specification alone
  BoxMatch box = BoxMatch::kSame;
  bool operator==(const CacheEntry&) const = default;
};

// The assumptions behind predicted times; empty texts: nothing was predicted.
struct Prediction {
  std::string profile;   // machine
  std::string activity;  // where the numbers of backward rows come from
  bool operator==(const Prediction&) const = default;
};

std::string cache_key(const CacheEntry& entry);

// The caller's memory that cached entries keep things in: a header of bf::kContextHeaderBytes, then
// what is persistent, then the rest. See plan_cache.h.
struct ContextPlan {
  std::int64_t bytes = 0;             // 0: there are no cached entries
  std::int64_t persistent_begin = 0;  // what a blob holds
  std::int64_t persistent_bytes = 0;
  std::vector<Buffer> buffers;    // of scope EPOCH or PERSISTENT; each entry's have the same places
  std::uint64_t fingerprint = 0;  // of the plan and its weights

  const Buffer* find(std::string_view name) const;  // null when there is none
  bool operator==(const ContextPlan&) const = default;
};

// The layout of a layer's weight table: [out / panel][in][panel], the last panel zero-padded.
struct WeightLayout {
  LayerId layer = 0;
  int panel = 1;
  std::int64_t bytes = 0;  // weight, residual and bias tables
  bool operator==(const WeightLayout&) const = default;
};

// The way in which batch entry points, with PlannerConfig::batch boxes per call, do their work.
struct BatchPlan {
  int side_by_side = 1;  // boxes; 1: one after the other, by the entries of one box
  std::string reason;    // empty without batch entry points
  bool operator==(const BatchPlan&) const = default;
};

// The way in which the work of a call is shared by PlannerConfig::workers workers; see
// share_rows.h.
struct ParallelPlan {
  int workers = 1;     // of the entries of one box; 1: they have no rows to share
  std::string reason;  // empty where nothing was asked for
  bool operator==(const ParallelPlan&) const = default;
};

// The part that a layer plays in neuron splits.
enum class SplitRole : std::uint8_t {
  kLinear,    // a = z
  kRelu,      // a = relu(z): split at 0
  kFunction,  // a = f(z): split where f bends, or in the middle
  kFactor,    // a = z, an affine layer that products read: split in the middle
  kProduct,   // z = x y, which is not split itself
};

// A layer of a network whose neurons are split.
struct SplitLayerPlan {
  LayerId layer;
  SplitRole role = SplitRole::kLinear;
  std::vector<int> sources;  // places in SplitNetworkPlan::layers of what it reads; -1: the inputs
  int first = 0;             // the number of its first neuron, counted over all of them
  bool is_read = false;      // by a layer of the network
  bool operator==(const SplitLayerPlan&) const = default;
};

// A network whose neurons are split, whatever the box, and what proofs of its nodes pay for.
struct SplitNetworkPlan {
  std::vector<SplitLayerPlan> layers;  // in order
  // Roundings that a number meets on its way backward at most, and products of a whole pass, both
  // rounded up: docs/proofs/neuron-splits.md.
  double roundings = 0, products = 0;
  bool operator==(const SplitNetworkPlan&) const = default;
};

// NAME_decide: its memory beyond what bounds need, and what splits of neurons read.
struct DecidePlan {
  std::string reason;  // of what it splits; empty: there is no such function
  int open_boxes = 0;  // or nodes, that its workspace has room for; 0: there is no such function
  std::int64_t open_box_bytes = 0;
  std::int64_t bytes = 0;

  // Used by splits of neurons alone.
  SplitNetworkPlan network;  // the layers that rows of the specification depend on
  int neurons = 0;
  int relus = 0;   // of them
  int widest = 0;  // neurons of a layer
  int terms = 0;   // of a clause, that a node weighs
  bool operator==(const DecidePlan&) const = default;
};

// A candidate that a pass considered and did not take.
inline constexpr const char* kArithmeticSlot = "arithmetic";  // of what auto did not take

struct Rejected {
  std::string slot;  // "arithmetic", "domain", "layout", "lowering", "storage"
  std::string candidate;
  std::string reason;
  bool operator==(const Rejected&) const = default;
};

// The place of a verifier's constants.
enum class WeightStorage : std::uint8_t {
  kInline,   // arrays in the source
  kInclude,  // arrays in <stem>_weights.inc
  kObject,   // <stem>_weights.bin, made an object by <stem>_weights.S
};

std::string_view to_string(WeightStorage storage);

// Chooses a place that compilers and readers can take: short arrays as text, megabytes as binary.
// C code has them as text alone.
WeightStorage weight_storage_for(std::int64_t bytes, Language language);

struct Plan {
  std::string name;  // C identifier; prefix of all symbols
  ModelInfo model;
  PlannerConfig config;

  std::vector<Value> inputs, outputs;  // name and shape, in order
  int input_count = 0;                 // elements over all inputs
  OneHot one_hot;  // that the inputs are, see Graph; rows end as docs/proofs/one-hot.md says
  // Under semantics float32, the largest magnitude of boxes for which bounds are promised: no
  // evaluation on them overflows. A float.
  double float32_reach = 0;
  int output_count = 0;
  int spec_rows = 0;  // 0: no spec was compiled in

  PerLayer<Layer> layers;  // topological; heads included, which are dense or sums
  std::vector<LayerId> output_heads, spec_heads;

  PerLayer<DomainChoice> domains;
  std::vector<CheaperMethod> cheaper;  // of PlannerConfig::cheaper
  std::optional<SearchSummary> search;
  std::vector<float> split_weights;  // see split_weights.h; empty: of widths alone, or never split
  PerLayer<WeightLayout> layouts;
  WeightStorage weight_storage = WeightStorage::kInline;
  std::vector<CacheEntry> cache;
  ContextPlan context;
  BatchPlan batch;
  ParallelPlan parallel;
  DecidePlan decide;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
  // Present with arithmetic integer, instead of layers, domains, layouts and kernels; its entry has
  // buffers, but no steps of its own.
  std::optional<IntegerPlan> integer;
  std::vector<ExportedFunction> functions;
  std::vector<Rejected> rejected;
  Prediction prediction;

  auto layer_ids() const { return layers.ids(); }
  const Layer& layer(LayerId id) const { return layers[id]; }
  Layer& layer(LayerId id) { return layers[id]; }
  const DomainChoice& domain(LayerId id) const { return domains[id]; }
  DomainChoice& domain(LayerId id) { return domains[id]; }
  const PerLayer<DomainChoice>& domains_of(const Entry& entry) const;
  const DomainChoice& domain(const Entry& entry, LayerId id) const { return domains_of(entry)[id]; }
  Method method_of(const Entry& entry) const { return entry.by.value_or(config.method); }
  const WeightLayout& layout(LayerId id) const { return layouts[id]; }
  WeightLayout& layout(LayerId id) { return layouts[id]; }
  const Kernel& kernel(KernelId id) const { return kernels.at(static_cast<std::size_t>(id)); }
  Kernel& kernel(KernelId id) { return kernels.at(static_cast<std::size_t>(id)); }

  std::int64_t arena_bytes() const;     // largest of the entries of one box, with one worker
  std::int64_t batch_bytes() const;     // and of those of several; at least arena_bytes()
  std::int64_t worker_bytes() const;    // what each more worker needs for the entries of one box
  std::int64_t parallel_bytes() const;  // largest of the entries of one box, with all workers
  std::int64_t weights_bytes() const;   // sum of layouts

  // Bounds hold for the whole box, not for a ball or for one-hot inputs in it, whose rows end in
  // routines of their own.
  bool is_of_boxes() const { return config.norm == Norm::kLargest && one_hot.size == 0; }
  bool is_head(LayerId layer) const;  // of the outputs or of the specification
  // Null when the plan has none. by: as Entry::by.
  const Entry* find_entry(EntryKind kind, std::optional<Method> by = {}) const;
  const Entry* entry_of(const ExportedFunction& function) const;
  bool operator==(const Plan&) const = default;

  // Method ibp, and auto where it chose intervals alone.
  bool intervals_only(const Entry& entry) const;
  bool intervals_only() const;  // by the plan's method
};

// The planner's progress. A plan at a stage holds all that the stages up to it name.
enum class PlanStage : std::uint8_t {
  kLayers,   // the network
  kDomains,  // and a domain for each layer
  kEntries,  // and steps, buffers without places, kernels, weight layouts
  kStorage,  // and places
  kTasks,    // everything
};

std::string_view to_string(PlanStage stage);
std::string_view to_string(EntryKind kind);
std::string name_of(const Entry& entry);  // "bounds", "bounds_crown_ibp"
std::string_view to_string(BoxMatch match);

}  // namespace bf_aot
