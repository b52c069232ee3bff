#include "planner/manifest/search_json.h"

#include <nlohmann/json.hpp>

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json to_json(const SearchConfig& config) {
  Json objective;
  if (config.objective)
    objective = {{"time", config.objective->time},
                 {"memory", config.objective->memory},
                 {"looseness", config.objective->looseness},
                 {"compile", config.objective->compile}};
  return {{"kind", to_string(config.kind)},
          {"beam_width", config.beam_width},
          {"time_budget", config.time_budget},
          {"looseness_target", config.looseness_target},
          {"objective", std::move(objective)}};
}

Json to_json(const SearchSummary& summary) {
  return {{"pass", summary.pass},
          {"kind", summary.kind},
          {"goal", summary.goal},
          {"looseness_of", summary.looseness_of},
          {"candidates", summary.candidates},
          {"measured", summary.measured},
          {"complete", summary.complete},
          {"seconds", summary.seconds},
          {"bytes", summary.bytes},
          {"looseness", summary.looseness},
          {"compile_seconds", summary.compile_seconds}};
}

}  // namespace bf_aot
