#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace bf_aot::vnnlib {

// The text of a file; what gzip compressed is expanded, whatever the file's name.
// Throws: BF3401 cannot be read, or damaged; BF3402 larger than max_bytes, expanded.
std::string read_source(const std::filesystem::path& path, std::uint64_t max_bytes);

// Expands `bytes` when gzip made them. `name` for messages. Throws as above.
std::string expand(std::string bytes, std::uint64_t max_bytes, std::string_view name);

}  // namespace bf_aot::vnnlib
