#include "planner/fit_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/cost/cost_model.h"
#include "planner/entries/build_entries.h"
#include "planner/entries/cache/plan_cache.h"
#include "planner/entries/live_pixels.h"
#include "planner/entries/share_rows.h"
#include "planner/lowering/lowering.h"
#include "planner/storage/placement.h"
#include "planner/storage/storage.h"

namespace bf_aot {
namespace {

// Bytes alive at the fullest op of a step.
std::int64_t peak_of(const Entry& entry, int step) {
  std::int64_t peak = 0;
  for (int op = 0; op < op_count(entry.step(step)); ++op) {
    Buffer moment;
    moment.first = moment.last = step;
    moment.first_op = moment.last_op = op;
    std::int64_t bytes = 0;
    for (const Buffer& buffer : entry.buffers)
      if (buffer.scope == CacheScope::kRun && live_together(buffer, moment)) bytes += buffer.bytes;
    peak = std::max(peak, bytes);
  }
  return peak;
}

// Makes and places entries, by the passes that are enabled.
void place_entries(Plan& plan) {
  LoweringPlanner lowering(plan);
  build_entries(lowering, plan);
  if (is_enabled(plan.config, "live-pixels")) list_live_pixels(plan);
  if (is_enabled(plan.config, "plan-cache")) plan_cache(plan);
  for (Entry& entry : plan.entries) {
    if (is_enabled(plan.config, "reuse-in-place")) reuse_in_place(entry);
    if (is_enabled(plan.config, "share-rows")) share_rows(entry, plan.config.workers);
    place_apart(entry, plan.config.target.align);
    if (!is_enabled(plan.config, "share-storage")) continue;
    share_storage(entry, plan.rejected);
    if (is_enabled(plan.config, "search-offsets")) search_offsets(entry, plan.rejected);
  }
}

struct Shrink {
  LayerId layer = 0;
  int tile = 0;  // from
  int to = 0;
};

// Tries plans of the same network with other choices: the later passes' members are made on the
// plan itself, which would be large to copy, and cleared in the end.
class Fitting {
 public:
  explicit Fitting(Plan& plan) : plan_(plan), notes_(plan.rejected.size()) {}
  ~Fitting() { clear(); }
  Fitting(const Fitting&) = delete;
  Fitting& operator=(const Fitting&) = delete;

  void run();

 private:
  DomainChoice& choice(LayerId layer) { return plan_.domain(layer); }
  const std::string& name(LayerId layer) const { return plan_.layer(layer).name; }
  bool fits() const { return plan_.parallel_bytes() <= plan_.config.memory_budget; }

  void clear();
  void build();
  std::int64_t place();
  std::optional<Shrink> next_shrink();
  void shrink_tiles();
  double seconds();
  std::vector<LayerId> remakeable() const;
  std::vector<LayerId> by_gain();
  void note(std::string candidate, std::string reason);

  Plan& plan_;
  std::size_t notes_;           // of passes before, then of this one
  std::int64_t smallest_ = -1;  // workspace of all that was tried
};

void Fitting::note(std::string candidate, std::string reason) {
  plan_.rejected.resize(notes_);  // others are of plans that are being tried
  plan_.rejected.push_back({"storage", std::move(candidate), std::move(reason)});
  ++notes_;
}

void Fitting::clear() {
  plan_.entries.clear();
  plan_.kernels.clear();
  plan_.layouts.clear();
  plan_.cache.clear();
  plan_.context = {};
  plan_.rejected.resize(notes_);
}

void Fitting::build() {
  clear();
  LoweringPlanner lowering(plan_);
  build_entries(lowering, plan_);
}

// The workspace, as the passes that are enabled make it.
std::int64_t Fitting::place() {
  clear();
  place_entries(plan_);
  const std::int64_t bytes = plan_.parallel_bytes();
  smallest_ = smallest_ < 0 ? bytes : std::min(smallest_, bytes);
  return bytes;
}

// The rows whose tiles must shrink for the largest entry to need less; nothing where its fullest
// step has none that can.
std::optional<Shrink> Fitting::next_shrink() {
  const Entry& entry =
      *std::ranges::max_element(plan_.entries, {}, [](const Entry& e) { return e.arena_bytes(); });
  std::optional<Shrink> shrink;
  std::int64_t most = 0;
  const LoweringPlanner lowering(plan_);
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i) {
    const std::int64_t peak = peak_of(entry, i);
    if (peak <= most) continue;
    most = peak;
    shrink.reset();
    const auto* rows = std::get_if<BackwardRows>(&entry.step(i));
    if (rows == nullptr || rows->tile <= 2) continue;
    const int out = plan_.layer(rows->layer).out;
    const int to = lowering.row_tile(out, rows->wide, rows->tile / 2);
    if (to < rows->tile) shrink = Shrink{rows->layer, rows->tile, to};
  }
  return shrink;
}

void Fitting::shrink_tiles() {
  std::int64_t needed = place();
  while (!fits()) {
    const std::optional<Shrink> shrink = next_shrink();
    if (!shrink) return;
    choice(shrink->layer).row_tile = shrink->to;
    note(
        fmt::format("{}: rows in tiles of {}", name(shrink->layer), shrink->tile),
        fmt::format("the workspace needs {} bytes; the budget is {}, so that tiles of {} are tried",
                    needed, plan_.config.memory_budget, shrink->to));
    needed = place();
  }
}

// Layers whose tables some rows could make anew: affine ones that stand on affine ones alone, and
// whose slopes no rows choose.
std::vector<LayerId> Fitting::remakeable() const {
  PerLayer<bool> affine(plan_.layers.size()), passed(plan_.layers.size());
  for (const LayerId i : plan_.layer_ids()) {
    affine[i] = plan_.layer(i).is_affine();
    for (const LayerId input : inputs_of(plan_.layer(i)))
      affine[i] = affine[i] && (input < 0 || affine[input]);
  }
  for (const Entry& entry : plan_.entries)
    for (const Step& step : entry.steps)
      if (const auto* rows = std::get_if<BackwardRows>(&step))
        for (const BackwardLink& link : rows->links)
          if (rows->iterations == 0) passed[link.layer] = true;
  for (const Entry& entry : plan_.entries)
    for (const Step& step : entry.steps)
      if (const auto* rows = std::get_if<BackwardRows>(&step))
        for (const BackwardLink& link : rows->links)
          if (rows->iterations > 0) passed[link.layer] = false;
  std::vector<LayerId> layers;
  for (const LayerId i : plan_.layer_ids())
    if (affine[i] && passed[i]) layers.push_back(i);
  return layers;
}

// Predicted, of all entries.
double Fitting::seconds() {
  build();
  double sum = 0;
  for (const Entry& entry : plan_.entries)
    sum += predict_entry(plan_, entry, assumed_activity(plan_, entry), profile_of(plan_.config))
               .total.seconds;
  return sum;
}

// The layers whose relaxation can be made anew, by falling bytes saved per second spent: a table
// that is not stored, against the steps that are repeated.
std::vector<LayerId> Fitting::by_gain() {
  std::vector<LayerId> layers = remakeable();
  PerLayer<double> gain(plan_.layers.size());
  const double before = seconds();
  for (const LayerId layer : layers) {
    choice(layer).remade = true;
    const double spent = std::max(seconds() - before, 1e-12);
    choice(layer).remade = false;
    const bool tightened =
        choice(layer).domain != Domain::kInterval || plan_.config.norm != Norm::kLargest;
    const double rows = bf::kRelaxRows - (tightened ? 2 : 0);  // its bounds are stored instead
    gain[layer] = rows * plan_.layer(layer).out / spent;
  }
  std::ranges::stable_sort(layers, [&](LayerId a, LayerId b) { return gain[a] > gain[b]; });
  return layers;
}

void Fitting::run() {
  shrink_tiles();
  if (fits()) return;
  for (const LayerId layer : by_gain()) {
    const std::int64_t needed = place();
    choice(layer).remade = true;
    note(fmt::format("{}: its relaxation is stored", name(layer)),
         fmt::format("the workspace needs {} bytes; the budget is {}, so that each tile of rows "
                     "makes it anew",
                     needed, plan_.config.memory_budget));
    shrink_tiles();
    if (fits()) return;
  }
  fail("BF2105", fmt::format("a memory budget of {} bytes", plan_.config.memory_budget),
       fmt::format("the workspace needs {} bytes with the smallest tiles of rows and with "
                   "relaxations made anew where that saves some",
                   smallest_),
       fmt::format("--memory-budget {} is the smallest that works; --method ibp needs less, and "
                   "--lowering generic has smaller tiles",
                   smallest_));
}

}  // namespace

Plan placed(Plan plan) {
  place_entries(plan);
  return plan;
}

void fit_memory(PlanState& state) {
  if (state.plan.config.memory_budget > 0) Fitting(state.plan).run();
}

}  // namespace bf_aot
