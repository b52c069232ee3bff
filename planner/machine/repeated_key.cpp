#include "planner/machine/repeated_key.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace bf_aot {

std::string repeated_key(std::string_view text) {
  using nlohmann::json;
  std::string repeated;
  std::vector<std::set<std::string>> open;
  [[maybe_unused]] const json read =
      json::parse(text, [&](int, json::parse_event_t event, json& value) {
        if (event == json::parse_event_t::object_start) open.emplace_back();
        if (event == json::parse_event_t::object_end) open.pop_back();
        if (event == json::parse_event_t::key) {
          const auto name = value.get<std::string>();
          if (!open.back().insert(name).second && repeated.empty()) repeated = name;
        }
        return true;
      });
  return repeated;
}

}  // namespace bf_aot
