#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aot/emit/text/emitted_file.h"

namespace bf_aot::build {

// A file of the runtime. Its path is the one by which verifiers include it: "bf.h",
// "bf/core/bounds.h".
struct RuntimeFile {
  std::string path;
  std::string text;
};

// The runtime's files that the sources include, directly or not, each after those that it includes.
// Throws: BF3205.
std::vector<RuntimeFile> runtime_files_of(const std::vector<emit::EmittedFile>& sources);

// A file of the runtime. Throws: BF3205.
RuntimeFile read_runtime(std::string_view path);

// The source bf.cpp, of which every program needs one copy.
RuntimeFile runtime_source();

// The path that a line includes by `#include "path"`; empty for all other lines.
std::string_view included_by(std::string_view line);

// The lines of a text, each with its newline.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace bf_aot::build
