#include "planner/entries/cache/cache_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "planner/manifest/plan_json_steps.h"

namespace bf_aot {
namespace {

enum class Part : std::uint8_t { kShared, kKept, kOutput };

bool writes_to_caller(const Step& step) {
  if (const auto* interval = std::get_if<IntervalAffine>(&step))
    return interval->centre_out == BufferId::kNone;
  if (const auto* sum = std::get_if<IntervalSum>(&step)) return sum->head;
  return std::holds_alternative<WriteBounds>(step) || std::holds_alternative<MeetOutputs>(step);
}

// All that a step does, in text: equal texts mean equal results from equal buffers.
std::string text_of(const Plan& plan, const Entry& entry, const Step& step) {
  std::string text = step_json(Names{plan, entry}, step).dump();
  const Access access = access_of(step);
  for (const auto& list : {access.reads, access.writes})
    for (const BufferId id : list)
      text += fmt::format(" {}:{}", to_string(entry.buffer(id).element), entry.buffer(id).count);
  return text;
}

// The steps of one entry and the parts that they belong to.
class Parts {
 public:
  Parts(const Plan& plan, const Entry& entry) {
    for (const Step& step : entry.steps) {
      texts.push_back(text_of(plan, entry, step));
      parts.push_back(writes_to_caller(step) ? Part::kOutput : Part::kShared);
      // Persistent buffers are no data that goes from step to step: see MeetAnchor.
      access_.push_back(access_of(step));
      for (auto* list : {&access_.back().reads, &access_.back().writes}) {
        std::erase_if(
            *list, [&](BufferId id) { return entry.buffer(id).scope == CacheScope::kPersistent; });
        std::ranges::sort(*list);
      }
    }
  }

  std::vector<std::string> texts;
  std::vector<Part> parts;

  // A step of an earlier part uses nothing that a later part writes, and none of a later part uses
  // what an earlier part overwrites behind it. False when a step had to be moved.
  bool settle() {
    bool settled = true;
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t j = 0; j < parts.size(); ++j)
        if (parts[i] < parts[j] && collide(i, j)) {
          parts[i] = parts[j];
          settled = false;
        }
    return settled;
  }

  // Buffers that a later part reads before it writes them, with the part that makes them.
  std::map<BufferId, Part> crossing() const {
    std::map<BufferId, Part> found, maker;
    for (const Part part : {Part::kShared, Part::kKept, Part::kOutput}) {
      std::map<BufferId, Part> here;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] != part) continue;
        for (const BufferId id : access_[i].reads)
          if (maker.contains(id) && !here.contains(id)) found.emplace(id, maker.at(id));
        for (const BufferId id : access_[i].writes) here.emplace(id, part);
      }
      maker.insert(here.begin(), here.end());
    }
    return found;
  }

 private:
  // Returns true if two sorted lists have a member in common.
  static bool meet(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
    for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
      if (*i == *j) return true;
      *i < *j ? ++i : ++j;
    }
    return false;
  }

  // Step i of an earlier part, j of a later one, in any order.
  bool collide(std::size_t i, std::size_t j) const {
    const Access& first = access_[i];
    const Access& second = access_[j];
    if (meet(second.writes, first.reads) || meet(second.writes, first.writes)) return true;
    return i > j && meet(first.writes, second.reads);
  }

  std::vector<Access> access_;
};

// Steps that only one entry has are its own.
bool keep_common(std::vector<Parts>& entries) {
  bool settled = true;
  for (Parts& one : entries)
    for (std::size_t i = 0; i < one.parts.size(); ++i) {
      if (one.parts[i] != Part::kShared) continue;
      const bool common = std::ranges::all_of(entries, [&](const Parts& other) {
        for (std::size_t j = 0; j < other.texts.size(); ++j)
          if (other.texts[j] == one.texts[i] && other.parts[j] == Part::kShared) return true;
        return false;
      });
      if (common) continue;
      one.parts[i] = Part::kKept;
      settled = false;
    }
  return settled;
}

void order(const Parts& parts, Entry& entry) {
  std::vector<Step> steps;
  for (const Part part : {Part::kShared, Part::kKept, Part::kOutput}) {
    for (std::size_t i = 0; i < parts.parts.size(); ++i)
      if (parts.parts[i] == part) steps.push_back(std::move(entry.steps[i]));
    if (part == Part::kShared) entry.shared_steps = static_cast<int>(steps.size());
    if (part == Part::kKept) entry.kept_steps = static_cast<int>(steps.size());
  }
  entry.steps = std::move(steps);
}

}  // namespace

void rename_own(Entry& entry, Buffer& buffer) {
  std::string name = fmt::format("{}_{}", is_spec(entry.kind) ? "spec" : "output", buffer.name);
  while (std::ranges::count(entry.buffers, name, &Buffer::name) > 0) name += "_";
  buffer.name = std::move(name);
}

void split_into_parts(const Plan& plan, std::vector<Entry>& entries) {
  std::vector<Parts> parts;
  for (const Entry& entry : entries) parts.emplace_back(plan, entry);
  for (bool settled = false; !settled;) {
    settled = keep_common(parts);
    for (Parts& one : parts) settled = one.settle() && settled;
  }
  std::set<std::string> shared;  // what any entry needs of shared steps is kept by all
  for (std::size_t e = 0; e < entries.size(); ++e)
    for (const auto& [id, part] : parts[e].crossing())
      if (part == Part::kShared) shared.insert(entries[e].buffer(id).name);
  for (std::size_t e = 0; e < entries.size(); ++e) {
    Entry& entry = entries[e];
    std::vector<Buffer*> own;
    for (const auto& [id, part] : parts[e].crossing())
      if (part == Part::kKept) own.push_back(&entry.buffer(id));
    for (Buffer& buffer : entry.buffers)
      if (shared.contains(buffer.name)) buffer.scope = CacheScope::kEpoch;
    for (Buffer* buffer : own) {
      buffer->scope = CacheScope::kEpoch;
      rename_own(entry, *buffer);
    }
    order(parts[e], entry);
  }
}

}  // namespace bf_aot
