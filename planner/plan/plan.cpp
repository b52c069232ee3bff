#include "planner/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

template <class Value>
std::string_view name_of(Value value) {
  const auto found = std::ranges::find(kNames<Value>, value, &NamedValue<Value>::value);
  BF_CHECK(found != kNames<Value>.end());
  return found->name;
}

}  // namespace

std::int64_t max_candidates(const Layer& layer) {
  return static_cast<std::int64_t>(std::get<SparseMap>(layer.term(0).map).column.size());
}

std::vector<LayerId> inputs_of(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return {layer.input};
  std::vector<LayerId> inputs;
  for (const Term& term : layer.terms) inputs.push_back(term.input);
  return inputs;
}

bool feeds_nonlinear(const Plan& plan, LayerId index) {
  return std::ranges::any_of(plan.layers, [&](const Layer& reader) {
    return !reader.is_affine() && std::ranges::count(inputs_of(reader), index) > 0;
  });
}

bool live_together(const Buffer& a, const Buffer& b) {
  return std::pair(a.first, a.first_op) <= std::pair(b.last, b.last_op) &&
         std::pair(b.first, b.first_op) <= std::pair(a.last, a.last_op);
}

std::int64_t Plan::arena_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries)
    if (!is_batch(entry.kind)) bytes = std::max(bytes, entry.arena_bytes());
  return bytes;
}

std::int64_t Plan::worker_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries)
    if (!is_batch(entry.kind)) bytes = std::max(bytes, entry.worker_storage.planned_bytes);
  return bytes;
}

std::int64_t Plan::parallel_bytes() const {
  return arena_bytes() + (config.workers - 1) * worker_bytes();
}

std::int64_t Plan::batch_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) bytes = std::max(bytes, entry.arena_bytes());
  return bytes;
}

std::int64_t Plan::weights_bytes() const {
  std::int64_t bytes = 0;
  for (const WeightLayout& layout : layouts) bytes += layout.bytes;
  if (integer)
    for (const IntegerStep& step : integer->steps) bytes += constant_bytes(step);
  constexpr std::int64_t kLineBytes = 32;  // of bf::integer::Line
  if (integer && integer->crown)
    for (const CrownLayer& layer : integer->crown->layers)
      bytes += kLineBytes * static_cast<std::int64_t>(layer.lines.size());
  if (integer && integer->property)
    for (const PropertySums& sums : integer->property->sums) bytes += constant_bytes(sums);
  return bytes;
}

const Entry* Plan::find_entry(EntryKind kind, std::optional<Method> by) const {
  for (const Entry& entry : entries)
    if (entry.kind == kind && entry.by == by) return &entry;
  return nullptr;
}

const Entry* Plan::entry_of(const ExportedFunction& function) const {
  return function.entry ? find_entry(*function.entry, cheaper_method(function.signature)) : nullptr;
}

const PerLayer<DomainChoice>& Plan::domains_of(const Entry& entry) const {
  if (!entry.by) return domains;
  const auto found = std::ranges::find(cheaper, *entry.by, &CheaperMethod::method);
  BF_CHECK(found != cheaper.end());
  return found->domains;
}

std::int64_t Entry::operations() const {
  std::int64_t sum = 0;
  for (const StepWork& each : work) sum += each.operations * each.times;
  return sum;
}

std::int64_t Entry::longest_operations() const {
  std::int64_t longest = 0;
  for (const StepWork& each : work) longest = std::max(longest, each.operations);
  return longest;
}

const Buffer* ContextPlan::find(std::string_view name) const {
  for (const Buffer& buffer : buffers)
    if (buffer.name == name) return &buffer;
  return nullptr;
}

std::string cache_key(const CacheEntry& entry) {
  std::string key = "plan, task " + entry.task + ", domain " + std::string(to_string(entry.domain));
  if (entry.spec) key += ", specification";
  if (entry.box == BoxMatch::kSame) key += ", the box's bits";
  if (entry.box == BoxMatch::kInside) key += ", a box around";
  return key;
}

bool Plan::intervals_only(const Entry& entry) const {
  return entry.by ? *entry.by == Method::kIbp : intervals_only();
}

bool Plan::intervals_only() const {
  if (config.method == Method::kIbp) return true;
  if (config.method != Method::kAuto) return false;
  const auto relaxes = [](const Layer& layer) { return layer.relu || layer.function; };
  const auto is_interval = [](const DomainChoice& c) { return c.domain == Domain::kInterval; };
  // A network without activations has intervals under crown too, whose centres are more exact.
  return std::ranges::any_of(layers, relaxes) && std::ranges::all_of(domains, is_interval);
}

// ---- Names: of options by the tables of config.h; of others the compiler warns of a missing one.

std::string_view to_string(Method method) {
  return name_of(method);
}

std::vector<Method> methods_of(const PlannerConfig& config) {
  std::vector<Method> methods = config.cheaper;
  methods.push_back(config.method);
  return methods;
}

std::string methods_text(const PlannerConfig& config) {
  std::string text;
  for (const Method method : methods_of(config))
    text += (text.empty() ? "" : ",") + std::string(to_string(method));
  return text;
}

std::string_view to_string(AlphaRows rows) {
  return name_of(rows);
}

std::string_view to_string(Splits splits) {
  return name_of(splits);
}

std::string_view to_string(Norm norm) {
  return name_of(norm);
}

std::string_view to_string(Domain domain) {
  switch (domain) {
    case Domain::kInterval:
      return "interval";
    case Domain::kBackward:
      return "backward";
    case Domain::kOptimised:
      return "optimised";
    case Domain::kForward:
      return "forward";
  }
  BF_CHECK(!"a Domain");
  return {};
}

std::string_view to_string(SearchKind kind) {
  return name_of(kind);
}

std::string_view to_string(Language language) {
  return name_of(language);
}

std::string_view to_string(Arithmetic arithmetic) {
  return name_of(arithmetic);
}

std::string_view to_string(Semantics semantics) {
  return name_of(semantics);
}

std::string_view to_string(Lowering lowering) {
  return name_of(lowering);
}

std::string_view to_string(Granularity granularity) {
  return name_of(granularity);
}

namespace {

// The log-softmax layer whose powers a layer is, element by element; null when it is something
// else.
const Layer* softmax_of(const Plan& plan, LayerId id) {
  if (!id.is_layer()) return nullptr;
  const Layer& powers = plan.layer(id);
  if (powers.kind != LayerKind::kSum || powers.terms.size() != 1 || !powers.function ||
      powers.function->kind != FunctionKind::kExp)
    return nullptr;
  const Term& term = powers.terms.front();
  const auto* const gather = std::get_if<GatherMap>(&term.map);
  const bool moves_nothing = gather != nullptr && gather->source.empty() &&
                             powers.errors.bias_norm == 0 && powers.errors.bias_double == 0;
  if (!moves_nothing || !term.input.is_layer()) return nullptr;
  const Layer& softmax = plan.layer(term.input);
  return softmax.kind == LayerKind::kLogSoftmax ? &softmax : nullptr;
}

// Elements that copy those of another layer, or are 0, as the shares of masked scores are.
struct Copies {
  LayerId of;
  std::vector<std::int64_t> source;  // -1: 0
};

// Nothing where some element of the layer is neither a copy nor 0.
std::optional<Copies> copies_of(const Plan& plan, LayerId id) {
  if (!id.is_layer()) return std::nullopt;
  const Layer& layer = plan.layer(id);
  if (layer.kind != LayerKind::kSum || layer.terms.size() != 1 || layer.relu || layer.function ||
      layer.errors.bias_norm != 0 || layer.errors.bias_double != 0)
    return std::nullopt;
  const Term& term = layer.terms.front();
  Copies made{term.input, {}};
  if (const auto* const gather = std::get_if<GatherMap>(&term.map)) {
    if (gather->source.empty()) return std::nullopt;
    made.source.assign(gather->source.begin(), gather->source.end());
    return made;
  }
  const auto* const rows = std::get_if<SparseMap>(&term.map);
  const bool ones = rows != nullptr && layer.errors.weight_relative == 0 && term.residual.empty() &&
                    std::ranges::all_of(term.weight, [](float w) { return w == 1; });
  if (!ones) return std::nullopt;
  for (std::size_t i = 0; i + 1 < rows->row_start.size(); ++i) {
    const std::int32_t begin = rows->row_start[i], count = rows->row_start[i + 1] - begin;
    if (count > 1) return std::nullopt;
    made.source.push_back(count == 0 ? -1 : rows->column[static_cast<std::size_t>(begin)]);
  }
  return made;
}

}  // namespace

namespace {

// Returns whether each row of the factor that `gather` reads has the elements of one group, each
// once, and elements of no group. element: the element of a group that each of the tensor is; -1:
// of none.
bool are_groups(const ContractionShape& shape, const GatherMap& gather,
                const std::vector<std::int32_t>& groups, const std::vector<std::int32_t>& element) {
  for (std::int64_t row = 0; row < shape.left() / shape.sums; ++row) {
    std::vector<std::int64_t> members;
    for (std::int64_t l = row * shape.sums; l < (row + 1) * shape.sums; ++l) {
      const std::int64_t from =
          gather.source.empty() ? l : gather.source[static_cast<std::size_t>(l)];
      if (const std::int32_t each = element[static_cast<std::size_t>(from)]; each >= 0)
        members.push_back(each);
    }
    if (members.empty()) return false;
    std::ranges::sort(members);
    const auto count = static_cast<std::int64_t>(members.size());
    const auto group = std::ranges::lower_bound(groups, members.front());
    if (group == groups.end() || *group != members.front() || group + 1 == groups.end() ||
        *(group + 1) != members.front() + count)
      return false;
    for (std::int64_t l = 0; l < count; ++l)
      if (members[static_cast<std::size_t>(l)] != members.front() + l) return false;
  }
  return true;
}

}  // namespace

std::optional<Scores> scores_of(const Plan& plan, const Layer& contraction) {
  const Term& left = contraction.term(0);
  const auto* const gather = std::get_if<GatherMap>(&left.map);
  if (gather == nullptr) return std::nullopt;
  std::vector<std::int32_t> element;
  const Layer* softmax = softmax_of(plan, left.input);
  if (softmax != nullptr) {
    element.resize(static_cast<std::size_t>(left.in));
    std::iota(element.begin(), element.end(), 0);
  } else if (const auto copies = copies_of(plan, left.input)) {
    softmax = softmax_of(plan, copies->of);
    element.assign(copies->source.begin(), copies->source.end());
  }
  if (softmax == nullptr) return std::nullopt;
  const Term& scores = softmax->term(0);
  const SparseMap& groups = std::get<SparseMap>(scores.map);
  if (!are_groups(contraction.contraction, *gather, groups.row_start, element)) return std::nullopt;
  for (std::int32_t& each : element)
    if (each >= 0) each = groups.column[static_cast<std::size_t>(each)];
  return Scores{scores.input, std::move(element)};
}

int groups_of(const Layer& layer) {
  return static_cast<int>(std::get<SparseMap>(layer.term(0).map).row_start.size()) - 1;
}

std::string_view to_string(LayerKind kind) {
  switch (kind) {
    case LayerKind::kDense:
      return "dense";
    case LayerKind::kSum:
      return "sum";
    case LayerKind::kProduct:
      return "product";
    case LayerKind::kMax:
      return "max";
    case LayerKind::kLogSoftmax:
      return "log_softmax";
    case LayerKind::kContraction:
      return "contraction";
  }
  BF_CHECK(!"a LayerKind");
  return {};
}

std::string_view to_string(PlanStage stage) {
  switch (stage) {
    case PlanStage::kLayers:
      return "layers";
    case PlanStage::kDomains:
      return "domains";
    case PlanStage::kEntries:
      return "entries";
    case PlanStage::kStorage:
      return "storage";
    case PlanStage::kTasks:
      return "tasks";
  }
  BF_CHECK(!"a PlanStage");
  return {};
}

std::string name_of(const Entry& entry) {
  return std::string(to_string(entry.kind)) + (entry.by ? "_" + symbol_of(*entry.by) : "");
}

std::string_view to_string(EntryKind kind) {
  switch (kind) {
    case EntryKind::kBounds:
      return "bounds";
    case EntryKind::kSpecBounds:
      return "spec_bounds";
    case EntryKind::kEvaluate:
      return "evaluate";
    case EntryKind::kBoundsCached:
      return "bounds_cached";
    case EntryKind::kSpecBoundsCached:
      return "spec_bounds_cached";
    case EntryKind::kBoundsBatch:
      return "bounds_batch";
    case EntryKind::kSpecBoundsBatch:
      return "spec_bounds_batch";
  }
  BF_CHECK(!"an EntryKind");
  return {};
}

std::string_view to_string(KernelKind kind) {
  switch (kind) {
    case KernelKind::kBindFloat:
      return "bind_float";
    case KernelKind::kBindDouble:
      return "bind_double";
    case KernelKind::kIntervalAffine:
      return "interval_affine";
    case KernelKind::kCentreAffine:
      return "centre_affine";
    case KernelKind::kRelax:
      return "relax";
    case KernelKind::kStartRows:
      return "start_rows";
    case KernelKind::kBackwardAffine:
      return "backward_affine";
    case KernelKind::kFirstLink:
      return "first_link";
    case KernelKind::kConcretize:
      return "concretize";
    case KernelKind::kEvaluateAffine:
      return "evaluate_affine";
    case KernelKind::kTermInterval:
      return "term_interval";
    case KernelKind::kIntervalMax:
      return "interval_max";
    case KernelKind::kTermCentre:
      return "term_centre";
    case KernelKind::kTermStart:
      return "term_start";
    case KernelKind::kTermBackward:
      return "term_backward";
    case KernelKind::kRelaxRows:
      return "relax_rows";
    case KernelKind::kRelaxProduct:
      return "relax_product";
    case KernelKind::kRelaxMax:
      return "relax_max";
    case KernelKind::kRelaxLogSoftmax:
      return "relax_log_softmax";
    case KernelKind::kRelaxContraction:
      return "relax_contraction";
    case KernelKind::kForwardRows:
      return "forward_rows";
    case KernelKind::kStepSlopes:
      return "step_slopes";
    case KernelKind::kStartLines:
      return "start_lines";
    case KernelKind::kForwardLines:
      return "forward_lines";
    case KernelKind::kRelaxLines:
      return "relax_lines";
  }
  BF_CHECK(!"a KernelKind");
  return {};
}

KernelVariant variant_of(const Kernel& kernel) {
  const bool rows =
      kernel.kind == KernelKind::kBackwardAffine || kernel.kind == KernelKind::kConcretize;
  return {.kind = kernel.kind,
          .rows = rows ? kernel.rows : 0,
          .boxes = kernel.boxes,
          .wide = kernel.wide,
          .plain = kernel.plain,
          .live_out = kernel.live_out,
          .live_in = kernel.live_in,
          .relu = kernel.relu,
          .residual = kernel.residual,
          .head = kernel.head};
}

KernelCode code_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kIntervalAffine:
    case KernelKind::kCentreAffine:
    case KernelKind::kEvaluateAffine:
    case KernelKind::kBackwardAffine:
    case KernelKind::kConcretize:
    case KernelKind::kForwardLines:
      return KernelCode::kPrinted;
    case KernelKind::kBindFloat:
    case KernelKind::kBindDouble:
    case KernelKind::kRelax:
    case KernelKind::kStartRows:
    case KernelKind::kFirstLink:
    case KernelKind::kTermInterval:
    case KernelKind::kIntervalMax:
    case KernelKind::kTermCentre:
    case KernelKind::kTermStart:
    case KernelKind::kTermBackward:
    case KernelKind::kRelaxRows:
    case KernelKind::kRelaxProduct:
    case KernelKind::kRelaxMax:
    case KernelKind::kRelaxLogSoftmax:
    case KernelKind::kRelaxContraction:
    case KernelKind::kForwardRows:
    case KernelKind::kStepSlopes:
    case KernelKind::kStartLines:
    case KernelKind::kRelaxLines:
      return KernelCode::kRoutine;
  }
  BF_CHECK(!"a KernelKind");
  return {};
}

std::string_view to_string(Element element) {
  switch (element) {
    case Element::kFloat32:
      return "float32";
    case Element::kFloat64:
      return "float64";
    case Element::kInt32:
      return "int32";
    case Element::kUint8:
      return "uint8";
  }
  BF_CHECK(!"an Element");
  return {};
}

std::string_view to_string(CacheScope scope) {
  switch (scope) {
    case CacheScope::kRun:
      return "run";
    case CacheScope::kEpoch:
      return "epoch";
    case CacheScope::kPersistent:
      return "persistent";
  }
  BF_CHECK(!"a CacheScope");
  return {};
}

std::string_view to_string(BoxMatch match) {
  switch (match) {
    case BoxMatch::kSame:
      return "same";
    case BoxMatch::kInside:
      return "inside";
    case BoxMatch::kAny:
      return "any";
  }
  BF_CHECK(!"a BoxMatch");
  return {};
}

std::string_view to_string(StorageProof proof) {
  switch (proof) {
    case StorageProof::kNotShared:
      return "one range per buffer";
    case StorageProof::kLowerBound:
      return "equals the lower bound";
    case StorageProof::kSearched:
      return "exact search: no smaller arena";
    case StorageProof::kBestFound:
      return "best found";
  }
  BF_CHECK(!"a StorageProof");
  return {};
}

const MachineProfile& profile_of(const PlannerConfig& config) {
  return config.profile ? *config.profile : find_profile(config.target.name);
}

std::string_view to_string(WeightStorage storage) {
  switch (storage) {
    case WeightStorage::kInline:
      return "inline";
    case WeightStorage::kInclude:
      return "include";
    case WeightStorage::kObject:
      return "object";
  }
  return {};
}

WeightStorage weight_storage_for(std::int64_t bytes, Language language) {
  constexpr std::int64_t kInlineBytes = 2 << 10, kIncludeBytes = 128 << 10;
  if (is_of_device(language)) return WeightStorage::kInclude;  // of the host
  if (bytes <= kInlineBytes) return WeightStorage::kInline;
  return bytes <= kIncludeBytes || language != Language::kCpp ? WeightStorage::kInclude
                                                              : WeightStorage::kObject;
}

StorageTotals Entry::with_one_worker() const {
  if (workers == 1) return storage;
  const StorageTotals &shared = storage, &own = worker_storage;
  StorageTotals sum;
  sum.naive_bytes = shared.naive_bytes + own.naive_bytes;
  sum.planned_bytes = shared.planned_bytes + own.planned_bytes;
  sum.lower_bound_bytes = shared.lower_bound_bytes + own.lower_bound_bytes;
  sum.proof = sum.planned_bytes == sum.lower_bound_bytes ? StorageProof::kLowerBound
                                                         : StorageProof::kBestFound;
  return sum;
}

bool Plan::is_head(LayerId layer) const {
  return std::ranges::count(output_heads, layer) + std::ranges::count(spec_heads, layer) > 0;
}

}  // namespace bf_aot
