#pragma once

#include <string_view>

namespace bf_aot::test {

// Imports the bytes under small limits. Only CompileError may escape the importer, and a model that
// it accepts must be a valid graph that prints. True: accepted.
bool try_import(std::string_view bytes);

}  // namespace bf_aot::test
