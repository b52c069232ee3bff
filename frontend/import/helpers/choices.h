#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/node_import.h"

namespace bf_aot {

// The meaning of an attribute that is one of some words. Throws: BF1012 when it is another.
template <typename Enum>
Enum read_choice(const NodeImport& node, std::string_view attribute, std::string_view otherwise,
                 const std::vector<std::pair<std::string_view, Enum>>& choices) {
  const std::string given = node.string_attribute(attribute, otherwise);
  for (const auto& [name, value] : choices)
    if (given == name) return value;
  std::string names;
  for (const auto& [name, value] : choices)
    names += (names.empty() ? "" : ", ") + std::string(name);
  fail("BF1012", "", fmt::format("attribute '{}' is none of {}", attribute, names));
}

}  // namespace bf_aot
