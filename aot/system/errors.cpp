#include "aot/system/errors.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "aot/system/terminal.h"

namespace bf_aot::system {
namespace {

bool as_json = false;

}  // namespace

void set_json_output(bool json) {
  as_json = json;
}

bool json_output() {
  return as_json;
}

std::string errors_json(std::span<const Diagnostic> diagnostics) {
  nlohmann::ordered_json json;
  json["errors"] = nlohmann::ordered_json::array();
  for (const Diagnostic& each : diagnostics)
    json["errors"].push_back({{"code", each.code},
                              {"place", each.where},
                              {"message", each.message},
                              {"hint", each.hint}});
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print_errors(std::span<const Diagnostic> diagnostics) {
  // A broken stream must not hide the error: nothing is thrown.
  if (as_json) std::fputs((errors_json(diagnostics) + "\n").c_str(), stdout);
  const Style red(Style::kError, Stream::kErrors);
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string text = with_documents(to_string(diagnostic));
    const std::size_t head = text.find(':') + 1;
    std::fputs((red(text.substr(0, head)) + text.substr(head)).c_str(), stderr);
  }
}

}  // namespace bf_aot::system
