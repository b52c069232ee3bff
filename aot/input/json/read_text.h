#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace bf_aot::input {

// The bytes of a file, a pipe, or standard input, "-". `what`: the kind of file, for messages.
// Throws: BF3001 cannot be read, BF3002 too large.
std::string read_text(const std::filesystem::path& path, std::string_view what);

}  // namespace bf_aot::input
