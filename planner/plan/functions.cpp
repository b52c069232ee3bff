#include "planner/plan/functions.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/plan/plan.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot {
namespace {

class FunctionList {
 public:
  FunctionList(Plan& plan, bool property) : plan_(plan), property_(property) {}

  void make() {
    bounds({});
    if (property_) {
      add({.purpose = Purpose::kVerify}, {}, one_with("VERIFY_WORKSPACE_BYTES", verify_bytes()));
      add({.purpose = Purpose::kPropertyBox}, {}, {});
    }
    if (!plan_.cheaper.empty()) several_methods();
    if (plan_.parallel.workers > 1) {
      bounds({.parallel = true});
      if (property_)
        add({.purpose = Purpose::kVerify, .parallel = true}, {},
            shared(one_with("VERIFY_WORKSPACE_BYTES", verify_bytes())));
    }
    if (plan_.config.batch > 1) batches();
    if (keeps_coefficients()) {
      const bool batch = plan_.config.batch > 1;
      add({.purpose = Purpose::kBounds, .spec = true, .coefficients = true, .batch = batch},
          batch ? EntryKind::kSpecBoundsBatch : EntryKind::kSpecBounds, batch ? several() : one());
    }
    if (plan_.decide.neurons > 0)
      add({.purpose = Purpose::kBounds, .spec = true, .ranges = true}, EntryKind::kSpecBounds,
          one());
    if (property_ && plan_.config.decide)
      add({.purpose = Purpose::kDecide}, {},
          plan_.config.splits == Splits::kNeurons ? decide_by_neurons() : decide());
    if (plan_.context.bytes > 0) contexts();
    add({.purpose = Purpose::kEvaluate}, EntryKind::kEvaluate, one());
    add({.purpose = Purpose::kStatusText}, {}, {});
    add({.purpose = Purpose::kInfo}, {}, {});
  }

 private:
  void add(const Signature& signature, std::optional<EntryKind> entry, Workspace workspace) {
    if (entry && plan_.find_entry(*entry, cheaper_method(signature)) == nullptr) entry.reset();
    plan_.functions.push_back({signature, entry, std::move(workspace)});
  }

  // Adds the functions that bound the outputs, and the specification if there is one.
  void bounds(Signature signature) {
    const Workspace alone = signature.batch ? several() : one();
    const Workspace workspace = !signature.parallel ? alone
                                : signature.batch   ? each_worker(alone)
                                                    : shared(alone);
    using enum EntryKind;
    add(signature,
        signature.cached  ? kBoundsCached
        : signature.batch ? kBoundsBatch
                          : kBounds,
        workspace);
    if (plan_.spec_rows == 0) return;
    signature.spec = true;
    add(signature,
        signature.cached  ? kSpecBoundsCached
        : signature.batch ? kSpecBoundsBatch
                          : kSpecBounds,
        workspace);
  }

  // Adds the bounds of each cheaper method, and what all do within a limit.
  void several_methods() {
    for (const CheaperMethod& each : plan_.cheaper) bounds({.cheaper = true, .by = each.method});
    const bool spec = plan_.spec_rows > 0;
    const std::int64_t kept = 2 * 4 * std::max(plan_.output_count, plan_.spec_rows);
    const Workspace within = one_with("WITHIN_WORKSPACE_BYTES", kept);
    add({.within = true}, {}, within);
    if (spec) add({.spec = true, .within = true}, {}, within);
    if (property_)
      add({.purpose = Purpose::kVerify, .within = true}, {},
          one_with("VERIFY_WORKSPACE_BYTES", verify_bytes()));
  }

  void batches() {
    Workspace verify = several();
    verify.macro = "VERIFY_BATCH_WORKSPACE_BYTES";
    verify.bytes += batch_verify_bytes();
    bounds({.batch = true});
    if (property_) add({.purpose = Purpose::kVerify, .batch = true}, {}, verify);
    if (plan_.config.workers == 1) return;
    bounds({.batch = true, .parallel = true});
    if (property_)
      add({.purpose = Purpose::kVerify, .batch = true, .parallel = true}, {}, each_worker(verify));
  }

  void contexts() {
    add({.purpose = Purpose::kContextInit}, {}, {});
    add({.purpose = Purpose::kCacheCounters}, {}, {});
    bounds({.cached = true});
    if (property_)
      add({.purpose = Purpose::kVerify, .cached = true}, {},
          one_with("VERIFY_WORKSPACE_BYTES", verify_bytes()));
    if (plan_.context.persistent_bytes == 0) return;
    add({.purpose = Purpose::kContextSave}, {}, {});
    add({.purpose = Purpose::kContextLoad}, {}, {});
  }

  Workspace one() const { return {"WORKSPACE_BYTES", plan_.arena_bytes(), {}, 0}; }
  Workspace several() const { return {"BATCH_WORKSPACE_BYTES", plan_.batch_bytes(), {}, 0}; }
  Workspace one_with(const char* macro, std::int64_t more) const {
    return {macro, plan_.arena_bytes() + more, {}, 0};
  }
  Workspace shared(Workspace made) const {
    made.worker_macro = "WORKER_BYTES";
    made.worker_bytes = plan_.worker_bytes();
    return made;
  }
  static Workspace each_worker(Workspace made) {
    made.worker_macro = made.macro;
    made.worker_bytes = made.bytes;
    return made;
  }

  std::size_t inputs() const { return static_cast<std::size_t>(plan_.input_count); }
  std::size_t rows() const { return static_cast<std::size_t>(std::max(plan_.spec_rows, 1)); }
  std::size_t boxes() const { return static_cast<std::size_t>(plan_.config.batch); }

  std::int64_t verify_bytes() const {
    if (plan_.integer)
      return static_cast<std::int64_t>(bf::integer_verify_bytes(
          inputs(), static_cast<std::size_t>(plan_.integer->property->rows)));
    return static_cast<std::int64_t>(bf::verify_bytes(inputs(), rows()));
  }

  // Workspaces of several workers follow each other: each is aligned.
  std::int64_t batch_verify_bytes() const {
    const auto bytes =
        plan_.batch.side_by_side == 1
            ? verify_bytes()
            : static_cast<std::int64_t>(bf::verify_boxes_bytes(inputs(), rows(), boxes()));
    const std::int64_t align = plan_.config.target.align;
    return plan_.config.workers > 1 ? (bytes + align - 1) / align * align : bytes;
  }

  Workspace decide() {
    // Depth first, a level down leaves a round's boxes open: room for a tree as deep as a box of a
    // few inputs has bits to split. More is the caller's to give.
    constexpr int kLevels = 64;
    constexpr int kLeastOpen = 128;
    DecidePlan& decide = plan_.decide;
    decide.open_boxes = std::max(kLeastOpen, kLevels * plan_.config.batch);
    decide.open_box_bytes = static_cast<std::int64_t>(bf::open_box_bytes(inputs()));
    const auto round =
        static_cast<std::int64_t>(bf::round_bytes(inputs(), rows(), boxes(), keeps_coefficients()));
    decide.bytes = round + decide.open_boxes * decide.open_box_bytes;
    const Workspace below = plan_.config.batch > 1 ? several() : one();
    return {"DECIDE_WORKSPACE_BYTES", below.bytes + decide.bytes, {}, 0};
  }

  // Depth first, a level leaves a node open: room for a tree as deep as most are. Where neurons are
  // stable on a box nodes are smaller, and more fit.
  Workspace decide_by_neurons() {
    constexpr int kLevels = 64;
    DecidePlan& decide = plan_.decide;
    decide.open_boxes = kLevels;
    const bf::SplitExtents extents = split_extents(plan_);
    decide.open_box_bytes =
        static_cast<std::int64_t>(bf::open_node_bytes(extents.choices, extents.terms));
    decide.bytes = static_cast<std::int64_t>(bf::split_bytes(extents)) +
                   decide.open_boxes * decide.open_box_bytes;
    return {"DECIDE_WORKSPACE_BYTES", one().bytes + decide.bytes, {}, 0};
  }

  bool keeps_coefficients() const {
    for (const Entry& entry : plan_.entries)
      for (const Step& step : entry.steps)
        if (const auto* const rows = std::get_if<BackwardRows>(&step))
          if (rows->kept_position >= 0) return true;
    return false;
  }

  Plan& plan_;
  const bool property_;
};

std::string_view name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::kBounds:
      return "bounds";
    case Purpose::kVerify:
      return "verify";
    case Purpose::kPropertyBox:
      return "property_box";
    case Purpose::kDecide:
      return "decide";
    case Purpose::kContextInit:
      return "context_init";
    case Purpose::kCacheCounters:
      return "cache_counters";
    case Purpose::kContextSave:
      return "context_save";
    case Purpose::kContextLoad:
      return "context_load";
    case Purpose::kEvaluate:
      return "evaluate";
    case Purpose::kStatusText:
      return "status_text";
    case Purpose::kInfo:
      return "info";
  }
  return {};
}

}  // namespace

std::int64_t element_count(const Plan& plan, const Parameter& parameter) {
  const std::int64_t inputs = plan.input_count;
  switch (parameter.count) {
    case Count::kOne:
      return 1;
    case Count::kInputs:
      return inputs;
    case Count::kOutputs:
      return plan.output_count;
    case Count::kSpecRows:
      return plan.spec_rows;
    case Count::kCoefficients:
      return plan.spec_rows *
             static_cast<std::int64_t>(bf::lines_of_row(static_cast<std::size_t>(inputs)));
    case Count::kRanges:
      return 2 * static_cast<std::int64_t>(plan.decide.neurons);
    case Count::kBytes:
      BF_CHECK(parameter.name != "workspace");
      return parameter.name == "context" ? plan.context.bytes
                                         : bf::kBlobHeaderBytes + plan.context.persistent_bytes;
  }
  return 0;
}

void SplitPlaces::add(SplitRole role, int neurons) {
  switch (role) {
    case SplitRole::kLinear:
    case SplitRole::kRelu:
      choices += neurons;
      return;
    case SplitRole::kFunction:
    case SplitRole::kFactor:
      choices += neurons * bf::kCurveChoices;
      curves += neurons;
      functions = functions || role == SplitRole::kFunction;
      return;
    case SplitRole::kProduct:
      choices += neurons * bf::kProductChoices;
      multiplies = true;
  }
}

bf::SplitExtents split_extents(const Plan& plan) {
  bf::SplitExtents extents = {};
  extents.inputs = static_cast<std::size_t>(plan.input_count);
  extents.rows = static_cast<std::size_t>(plan.spec_rows);
  extents.neurons = static_cast<std::size_t>(plan.decide.neurons);
  extents.widest = static_cast<std::size_t>(plan.decide.widest);
  extents.layers = plan.decide.network.layers.size();
  extents.terms = static_cast<std::size_t>(plan.decide.terms);
  SplitPlaces places;
  for (const SplitLayerPlan& each : plan.decide.network.layers)
    places.add(each.role, plan.layer(each.layer).out);
  extents.choices = static_cast<std::size_t>(places.choices);
  extents.curves = static_cast<std::size_t>(places.curves);
  extents.activations = places.multiplies ? extents.neurons : 0;
  return extents;
}

std::string symbol_of(Method method) {
  std::string name(to_string(method));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string suffix_of(const Signature& s) {
  std::string suffix(s.coefficients ? "coefficients" : s.ranges ? "ranges" : name_of(s.purpose));
  if (s.spec) suffix.insert(0, "spec_");
  if (s.cheaper) suffix += "_" + symbol_of(s.by);
  if (s.within) suffix += "_within";
  if (s.cached) suffix += "_cached";
  if (s.batch) suffix += "_batch";
  if (s.parallel) suffix += "_parallel";
  return suffix;
}

void list_functions(Plan& plan, bool property) {
  FunctionList(plan, property).make();
}

}  // namespace bf_aot
