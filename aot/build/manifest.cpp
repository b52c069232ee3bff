#include "aot/build/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aot/build/dispatch.h"
#include "aot/build/work_json.h"
#include "aot/emit/interface/statuses.h"
#include "frontend/diagnostic.h"
#include "frontend/source_state.h"
#include "planner/manifest/plan_json.h"

namespace bf_aot::build {
namespace {

using Json = nlohmann::ordered_json;

// Adds the statuses that each function may return to its entry in the manifest.
void add_statuses(const Plan& plan, Json& functions) {
  for (std::size_t i = 0; i < plan.functions.size(); ++i) {
    Json& list = functions.at(i)["statuses"] = Json::array();
    for (const bf_status status : emit::statuses_of(plan, plan.functions[i].signature))
      list.push_back(emit::status_name(status));
  }
}

Json verifier_json(const Verifier& verifier) {
  const Plan& plan = verifier.plan();
  Json json = to_json(plan);
  json["work"] = work_json(*verifier.lowered, verifier.verify_work);
  if (const auto& property = verifier.property)
    json["property"] = {{"file", property->file},
                        {"cases", property->cases},
                        {"clauses", property->clauses},
                        {"rows", property->rows}};
  if (!plan.functions.empty()) add_statuses(plan, json.at("functions"));
  return json;
}

Json dispatch_json(const Verifier& verifier, const std::string& stem) {
  const Plan& first = verifier.levels.front().plan();
  Json list = Json::array();
  for (const Verifier& level : verifier.levels) {
    const Target& target = level.plan().config.target;
    list.push_back({{"target", target.name},
                    {"manifest", stem + level_suffix(target) + ".json"},
                    {"arena_bytes", level.plan().arena_bytes()},
                    {"weights_bytes", level.plan().weights_bytes()}});
  }
  return {{"name", verifier.plan().name},
          {"model", to_json(first)["model"]},
          {"method", to_string(first.config.method)},
          {"dispatch", std::move(list)}};
}

const Verifier& level_of(const Verifier& verifier, const std::string& suffix) {
  const auto found = std::ranges::find_if(verifier.levels, [&](const Verifier& level) {
    return suffix == level_suffix(level.plan().config.target) + ".json";
  });
  BF_CHECK(found != verifier.levels.end());
  return *found;
}

Json library_json(const std::vector<LibraryObject>& objects) {
  Json list = Json::array();
  for (const LibraryObject& object : objects)
    list.push_back({{"archive", object.archive},
                    {"object", object.object},
                    {"bytes", object.bytes},
                    {"functions", object.functions}});
  return list;
}

Json record_json(const BuildRecord& record) {
  if (record.toolchain == nullptr) return nullptr;
  std::vector<std::string> flags = record.toolchain->flags;
  if (record.toolchain->language == Language::kC) flags.insert(flags.begin(), {"-x", "c"});
  Json build = {{"compiler", record.toolchain->version}, {"flags", flags}, {"code_bytes", nullptr}};
  if (record.code) build["code_bytes"] = *record.code;
  if (const auto& footprint = record.footprint) {
    build["flash_bytes"] = footprint->text + footprint->data;
    if (footprint->library_bytes) build["library_bytes"] = *footprint->library_bytes;
    build["data_bytes"] = footprint->data;
    build["zeroed_bytes"] = footprint->zeroed;
    build["stack_bytes"] = nullptr;
    if (footprint->stack) build["stack_bytes"] = *footprint->stack;
    build["calls"] = footprint->calls;
    build["uncounted"] = footprint->uncounted;
    build["library"] = nullptr;
    if (footprint->library) build["library"] = library_json(*footprint->library);
  }
  return build;
}

}  // namespace

std::string manifest_text(const Verifier& verifier, const std::string& stem,
                          const std::string& suffix, const BuildRecord& record) {
  Json json = verifier.levels.empty() ? verifier_json(verifier)
              : suffix == ".json"     ? dispatch_json(verifier, stem)
                                      : verifier_json(level_of(verifier, suffix));
  json["build"] = record_json(record);
  json["sources"] = source_state();
  Json manifest = {{"format", kManifestFormat}};
  manifest.update(json);
  return manifest.dump(2) + "\n";
}

}  // namespace bf_aot::build
