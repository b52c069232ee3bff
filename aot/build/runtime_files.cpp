#include "aot/build/runtime_files.h"

#include <algorithm>
#include <cstdint>

#include "aot/build/library.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::build {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
constexpr std::string_view kInclude = "#include \"";

void add_included(std::string_view text, std::vector<RuntimeFile>& files) {
  for (const std::string_view line : lines_of(text)) {
    const std::string_view path = included_by(line);
    if (path != "bf.h" && !path.starts_with("bf/") && !path.starts_with("host/")) continue;
    if (std::ranges::find(files, path, &RuntimeFile::path) != files.end()) continue;
    RuntimeFile file = read_runtime(path);
    add_included(file.text, files);
    files.push_back(std::move(file));
  }
}

}  // namespace

RuntimeFile read_runtime(std::string_view path) {
  return {std::string(path), read_file(runtime_folder() / path, kMaxBytes, "runtime source")};
}

std::vector<RuntimeFile> runtime_files_of(const std::vector<emit::EmittedFile>& sources) {
  std::vector<RuntimeFile> files;
  for (const emit::EmittedFile& source : sources)
    if (source.suffix.ends_with(".cpp") || source.suffix.ends_with(".c") ||
        source.suffix.ends_with(".h"))
      add_included(source.bytes, files);
  return files;
}

RuntimeFile runtime_source() {
  return read_runtime("bf.cpp");
}

std::string_view included_by(std::string_view line) {
  if (!line.starts_with(kInclude)) return {};
  line.remove_prefix(kInclude.size());
  return line.substr(0, line.find('"'));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace bf_aot::build
