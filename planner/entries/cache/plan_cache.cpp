#include "planner/entries/cache/plan_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/entries/cache/cache_parts.h"
#include "planner/manifest/plan_hash.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot {
namespace {

void reject(Plan& plan, std::string candidate, std::string reason) {
  plan.rejected.push_back({"cache", std::move(candidate), std::move(reason)});
}

std::optional<EntryKind> cached_kind(EntryKind kind) {
  if (kind == EntryKind::kBounds) return EntryKind::kBoundsCached;
  if (kind == EntryKind::kSpecBounds) return EntryKind::kSpecBoundsCached;
  return std::nullopt;
}

BufferId add_buffer(Entry& entry, std::string name, Element element, std::int64_t count,
                    CacheScope scope) {
  Buffer made;
  made.name = std::move(name);
  made.element = element;
  made.count = count;
  made.scope = scope;
  entry.buffers.push_back(std::move(made));
  return static_cast<BufferId>(entry.buffers.size() - 1);
}

// ---- The anchor

// A layer whose bounds backward rows tighten: where its interval is made, and where it is final.
struct Tightened {
  LayerId layer = 0;
  std::size_t first = 0, last = 0;  // steps
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
};

std::vector<Tightened> tightened_layers(const Entry& entry) {
  std::map<LayerId, Tightened> found;
  std::map<BufferId, std::size_t> made;  // the first step that writes a buffer
  for (std::size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    for (const BufferId id : access_of(step).writes) made.emplace(id, i);
    if (const auto* rows = std::get_if<BackwardRows>(&step))
      found[rows->layer] = {rows->layer,  made.at(rows->below), i,
                            rows->centre, rows->below,          rows->above};
  }
  std::vector<Tightened> list;
  for (const auto& [layer, one] : found) list.push_back(one);
  return list;
}

// Hidden layers that all cached entries tighten: each of them can make and use the anchor.
std::vector<LayerId> anchored_layers(Plan& plan, const std::vector<Entry>& entries) {
  std::map<LayerId, std::size_t> entries_of;
  for (const Entry& entry : entries)
    for (const Tightened& one : tightened_layers(entry)) ++entries_of[one.layer];
  std::vector<LayerId> layers;
  for (const LayerId index : plan.layer_ids()) {
    const std::string candidate = "anchor of " + plan.layer(index).name;
    if (plan.is_head(index)) continue;
    if (plan.domain(index).domain == Domain::kForward)
      reject(plan, candidate, "its lines cost less than backward rows: they are made again");
    else if (!entries_of.contains(index))
      reject(plan, candidate, "its interval on a box inside lies inside, but for rounding");
    else if (entries_of.at(index) < entries.size())
      reject(plan, candidate, "not every cached entry makes its bounds");
    else
      layers.push_back(index);
  }
  return layers;
}

template <typename AnchorStep>
AnchorStep anchor_step(const Tightened& at, BufferId low, BufferId high) {
  AnchorStep step;
  step.layer = at.layer;
  step.centre = at.centre;
  step.below = at.below;
  step.above = at.above;
  step.low = low;
  step.high = high;
  return step;
}

void add_anchor(const Plan& plan, const std::vector<LayerId>& layers, Entry& entry) {
  std::map<std::size_t, std::vector<Step>> after;
  for (const Tightened& one : tightened_layers(entry)) {
    if (std::ranges::count(layers, one.layer) == 0) continue;
    const Layer& layer = plan.layer(one.layer);
    const BufferId low = add_buffer(entry, layer.name + "_low", Element::kFloat32, layer.out,
                                    CacheScope::kPersistent);
    const BufferId high = add_buffer(entry, layer.name + "_high", Element::kFloat32, layer.out,
                                     CacheScope::kPersistent);
    after[one.first].push_back(anchor_step<MeetAnchor>(one, low, high));
    after[one.last].push_back(anchor_step<KeepAnchor>(one, low, high));
  }
  std::vector<Step> steps;
  for (std::size_t i = 0; i < entry.steps.size(); ++i) {
    steps.push_back(std::move(entry.steps[i]));
    for (Step& step : after[i]) steps.push_back(std::move(step));
  }
  const bool spec = is_spec(entry.kind);
  const std::string name = spec ? "spec" : "output";
  const int count = spec ? plan.spec_rows : plan.output_count;
  MeetOutputs meet;
  meet.low = add_buffer(entry, name + "_low", Element::kFloat32, count, CacheScope::kPersistent);
  meet.high = add_buffer(entry, name + "_high", Element::kFloat32, count, CacheScope::kPersistent);
  steps.emplace_back(meet);
  entry.steps = std::move(steps);
}

// ---- Slopes

// Rows that choose slopes keep them, each tile its own: any in [0, 1] are sound, so those of an
// earlier call are a start on every box.
bool keep_slopes(const Plan& plan, Entry& entry) {
  bool found = false;
  for (Step& step : entry.steps) {
    auto* const rows = std::get_if<BackwardRows>(&step);
    if (rows == nullptr || rows->iterations < 2 || rows->unstable_only) continue;
    found = true;
    rows->warm_iterations = (rows->iterations + 1) / 2;
    const int pairs = rows->tile / 2;
    const int tiles = (plan.layer(rows->layer).out + pairs - 1) / pairs;
    for (const BackwardLink& link : rows->links) {
      if (link.slopes.slope == BufferId::kNone) continue;
      Buffer& buffer = entry.buffer(link.slopes.slope);
      buffer.count *= tiles;
      buffer.scope = CacheScope::kPersistent;
    }
  }
  return found;
}

// ---- The context

void add_box(Plan& plan, const std::string& name, CacheScope scope) {
  for (const char* side : {"_lower", "_upper"}) {
    Buffer made;
    made.name = name + side;
    made.count = plan.input_count;
    made.scope = scope;
    plan.context.buffers.push_back(std::move(made));
  }
}

// Ranges one after the other, persistent ones first. Equal names are one range.
void lay_out(Plan& plan) {
  ContextPlan& context = plan.context;
  if (plan.config.reuse.bounds) add_box(plan, "anchor", CacheScope::kPersistent);
  if (plan.config.reuse.ibp) add_box(plan, "last", CacheScope::kEpoch);
  for (Entry& entry : plan.entries)
    for (Buffer& buffer : entry.buffers) {
      if (buffer.scope == CacheScope::kRun) continue;
      // Slopes of one layer's rows, which tiles of other sizes make where the layer is no head.
      const Buffer* const place = context.find(buffer.name);
      if (place != nullptr && place->count != buffer.count &&
          buffer.scope == CacheScope::kPersistent && place->scope == CacheScope::kPersistent)
        rename_own(entry, buffer);
      if (context.find(buffer.name) == nullptr) context.buffers.push_back(buffer);
    }
  std::stable_partition(context.buffers.begin(), context.buffers.end(), [](const Buffer& buffer) {
    return buffer.scope == CacheScope::kPersistent;
  });
  const std::int64_t align = plan.config.target.align;
  std::int64_t end = (bf::kContextHeaderBytes + align - 1) / align * align;
  context.persistent_begin = end;
  for (Buffer& buffer : context.buffers) {
    const std::int64_t bytes = buffer.count * static_cast<std::int64_t>(size_of(buffer.element));
    buffer.bytes = (bytes + align - 1) / align * align;
    buffer.offset = end;
    end += buffer.bytes;
    if (buffer.scope == CacheScope::kPersistent) context.persistent_bytes += buffer.bytes;
  }
  context.bytes = end;
  for (Entry& entry : plan.entries)
    for (Buffer& buffer : entry.buffers) {
      if (buffer.scope == CacheScope::kRun) continue;
      const Buffer& place = *context.find(buffer.name);
      BF_CHECK(place.element == buffer.element && place.count == buffer.count &&
               place.scope == buffer.scope);
      buffer.bytes = place.bytes;
      buffer.offset = place.offset;
    }
}

// ---- The list of what is kept

BoxMatch match_of(const Step& step, CacheScope scope) {
  if (scope == CacheScope::kPersistent && std::holds_alternative<BackwardRows>(step))
    return BoxMatch::kAny;
  return std::holds_alternative<KeepAnchor>(step) || std::holds_alternative<MeetOutputs>(step)
             ? BoxMatch::kInside
             : BoxMatch::kSame;
}

void list_kept(Plan& plan) {
  std::set<std::string> listed;
  for (const Entry& entry : plan.entries) {
    if (!is_cached(entry.kind)) continue;
    std::map<BufferId, const Step*> maker;  // the last step that writes it
    for (const Step& step : entry.steps)
      for (const BufferId id : access_of(step).writes) maker[id] = &step;
    for (const auto& [id, step] : maker) {
      const Buffer& buffer = entry.buffer(id);
      if (buffer.scope == CacheScope::kRun || !listed.insert(buffer.name).second) continue;
      const std::optional<LayerId> layer = layer_of(*step);
      CacheEntry made;
      made.name = buffer.name;
      made.scope = buffer.scope;
      made.task = std::string(step_name(*step));
      if (layer) {
        made.task += " " + plan.layer(*layer).name;
        made.domain = plan.domain(*layer).domain;
      }
      const auto at = static_cast<int>(step - entry.steps.data());
      made.spec = is_spec(entry.kind) && at >= entry.shared_steps;
      made.box = match_of(*step, buffer.scope);
      plan.cache.push_back(std::move(made));
    }
  }
}

}  // namespace

void plan_cache(Plan& plan) {
  const Reuse& reuse = plan.config.reuse;
  if (!reuse.any()) return;
  std::vector<Entry> cached;
  for (const Entry& entry : plan.entries)
    if (const auto kind = cached_kind(entry.kind)) {
      cached.push_back(entry);
      cached.back().kind = *kind;
    }
  if (reuse.bounds) {
    const std::vector<LayerId> layers = anchored_layers(plan, cached);
    for (Entry& entry : cached) add_anchor(plan, layers, entry);
  }
  if (reuse.alpha)
    for (Entry& entry : cached)
      if (!keep_slopes(plan, entry))
        reject(plan, fmt::format("slopes of {}", to_string(entry.kind)),
               "none are improved from call to call: that takes method alpha-crown and two "
               "iterations or more");
  if (reuse.ibp) split_into_parts(plan, cached);
  for (Entry& entry : cached) plan.entries.push_back(std::move(entry));
  lay_out(plan);
  list_kept(plan);
  plan.context.fingerprint = plan_hash(plan);
}

}  // namespace bf_aot
