#pragma once

#include <filesystem>
#include <vector>

namespace bf_aot {

// The files in which a model keeps tensors, as far as its bytes name them; none of what is no
// model. Takes no longer than reading the file.
std::vector<std::filesystem::path> external_files(const std::filesystem::path& model);

}  // namespace bf_aot
