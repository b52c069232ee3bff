#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "frontend/read_bytes.h"

namespace bf_aot {

// The bytes of a file. `what` names its role in messages: "model".
// Throws: BF1001 cannot be read; BF1002 larger than max_bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes,
                      std::string_view what, Sources sources = Sources::kFilesAndPipes);

// `text` made safe to print in messages, JSON and one-line comments of generated code: control
// characters, backslashes and what is not UTF-8 become '_', more than 200 bytes are cut to "...".
// Names in a model are an attacker's to choose.
std::string printable(std::string_view text);

}  // namespace bf_aot
