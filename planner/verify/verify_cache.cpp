#include "planner/verify/verify_cache.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "planner/manifest/plan_json_steps.h"
#include "planner/verify/verify_layer.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot {
namespace {

void check_context(const Plan& plan) {
  const ContextPlan& context = plan.context;
  const int align = plan.config.target.align;
  std::set<std::string> names;
  std::int64_t end = bf::kContextHeaderBytes;
  for (const Buffer& b : context.buffers) {
    require(names.insert(b.name).second, "context buffer '{}' is there twice", b.name);
    require(b.scope != CacheScope::kRun, "context buffer '{}' is of scope run", b.name);
    require(b.offset >= end && b.offset % align == 0, "context buffer '{}' overlaps at {}", b.name,
            b.offset);
    require(b.count > 0 && b.bytes >= b.count * static_cast<std::int64_t>(size_of(b.element)),
            "context buffer '{}': {} bytes do not hold {} elements", b.name, b.bytes, b.count);
    end = b.offset + b.bytes;
    const bool in_blob = b.offset >= context.persistent_begin &&
                         end <= context.persistent_begin + context.persistent_bytes;
    require(in_blob == (b.scope == CacheScope::kPersistent),
            "context buffer '{}' is in the {} part", b.name, in_blob ? "persistent" : "other");
  }
  require(context.persistent_begin >= bf::kContextHeaderBytes && context.persistent_bytes >= 0 &&
              context.persistent_begin + context.persistent_bytes <= context.bytes,
          "the persistent part lies outside of the context");
  require(end <= context.bytes, "the context has {} bytes, not {}", context.bytes, end);
}

int part_of(const Entry& entry, int step) {
  return step < entry.shared_steps ? 0 : step < entry.kept_steps ? 1 : 2;
}

void check_buffers(const Plan& plan, const Entry& entry) {
  for (const Buffer& b : entry.buffers) {
    if (b.scope == CacheScope::kRun) continue;
    require(is_cached(entry.kind), "buffer '{}' of {} survives a call", b.name,
            to_string(entry.kind));
    const Buffer* const place = plan.context.find(b.name);
    require(place != nullptr && place->offset == b.offset && place->bytes == b.bytes &&
                place->scope == b.scope && place->element == b.element && place->count == b.count,
            "buffer '{}' is not that of the context", b.name);
  }
}

// The steps of each part read of earlier parts only what the context holds, and change none of it.
void check_parts(const Entry& entry) {
  const int steps = static_cast<int>(entry.steps.size());
  require(0 <= entry.shared_steps && entry.shared_steps <= entry.kept_steps &&
              entry.kept_steps <= steps,
          "{}: parts end at steps {} and {} of {}", to_string(entry.kind), entry.shared_steps,
          entry.kept_steps, steps);
  std::map<BufferId, int> part;  // of the step that wrote a buffer last
  for (int i = 0; i < steps; ++i) {
    const Step& step = entry.step(i);
    const int here = part_of(entry, i);
    const Access access = access_of(step);
    for (const BufferId id : access.reads) {
      const auto made = part.find(id);
      require(
          made == part.end() || made->second == here || entry.buffer(id).scope != CacheScope::kRun,
          "{}: step {} reads '{}' of a part that may be left out", to_string(entry.kind), i,
          entry.buffer(id).name);
    }
    for (const BufferId id : access.writes) {
      const auto made = part.find(id);
      require(made == part.end() || made->second == here ||
                  entry.buffer(id).scope != CacheScope::kEpoch,
              "{}: step {} overwrites '{}' of an earlier part", to_string(entry.kind), i,
              entry.buffer(id).name);
      part[id] = here;
    }
    require(!std::holds_alternative<MeetOutputs>(step) || i + 1 == steps,
            "{}: something follows what meets the outputs", to_string(entry.kind));
  }
}

// The steps that the entries share, as text, in order. Their buffers have the same places: see
// check_buffers.
std::vector<std::string> shared_texts(const Plan& plan, const Entry& entry) {
  std::vector<std::string> texts;
  for (int i = 0; i < entry.shared_steps; ++i)
    texts.push_back(step_json(Names{plan, entry}, entry.step(i)).dump());
  return texts;
}

// The names of an entry's EPOCH buffers that its shared steps make: all entries must make these.
std::set<std::string> shared_buffers(const Entry& entry) {
  std::set<std::string> names;
  for (int i = 0; i < entry.shared_steps; ++i)
    for (const BufferId id : access_of(entry.step(i)).writes)
      if (entry.buffer(id).scope == CacheScope::kEpoch) names.insert(entry.buffer(id).name);
  return names;
}

}  // namespace

void verify_cache(const Plan& plan) {
  const Entry* const bounds = plan.find_entry(EntryKind::kBoundsCached);
  const Entry* const spec = plan.find_entry(EntryKind::kSpecBoundsCached);
  require((bounds != nullptr) == (plan.context.bytes > 0), "{} bytes of context without an entry",
          plan.context.bytes);
  for (const Entry& entry : plan.entries) {
    check_buffers(plan, entry);
    check_parts(entry);
  }
  if (bounds == nullptr) {
    require(spec == nullptr && plan.context == ContextPlan{} && plan.cache.empty(),
            "something is kept without cached entries");
    return;
  }
  require((spec != nullptr) == (plan.spec_rows > 0), "{} spec rows, but no cached entry",
          plan.spec_rows);
  check_context(plan);
  if (spec == nullptr) return;
  require(shared_texts(plan, *bounds) == shared_texts(plan, *spec),
          "the cached entries share steps that differ");
  require(shared_buffers(*bounds) == shared_buffers(*spec),
          "the cached entries share steps, but not their buffers");
}

}  // namespace bf_aot
