#include "aot/build/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "aot/build/options/language.h"
#include "aot/build/runtime_files.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/device/device.h"
#include "aot/emit/text/wrap.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::build {
namespace {

constexpr std::string_view kOpenCl = "opencl", kCuda = "cuda";

// Headers of hosts, whose words a device has otherwise.
bool is_of_host(std::string_view path) {
  return path == "bf/c/words/c99.h" || path == "bf/c/words/bytes.h";
}

// Puts files of the runtime where they are included first. standard: keeps includes of others.
class Inliner {
 public:
  explicit Inliner(bool standard) : standard_(standard) {}

  std::string text(const std::string& source) {
    add(source);
    return std::move(made_);
  }

 private:
  void add(const std::string& text) {
    for (const std::string_view line : lines_of(text)) {
      const std::string_view path = included_by(line);
      const bool own = path == "bf.h" || path.starts_with("bf/") || path.starts_with("host/");
      if (own)
        add_file(std::string(path));
      else if (line != "#pragma once\n" && (standard_ || !line.starts_with("#include <")))
        made_ += line;
    }
  }

  void add_file(const std::string& path) {
    if (is_of_host(path) || !done_.insert(path).second) return;
    made_ += fmt::format("// ---- {}\n", path);
    add(read_runtime(path).text);
  }

  const bool standard_;
  std::set<std::string> done_;
  std::string made_;
};

// The runtime of hosts has structures such as bf_opencl_device, and the verifier's are called
// alike.
void check_name(const std::string& name) {
  if (name != "bf" && !name.starts_with("bf_")) return;
  fail("BF3302", fmt::format("name '{}'", name), "names of the runtime begin with bf_",
       "--name with another beginning");
}

}  // namespace

std::string device_name_fault(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string number = text.substr(std::min(colon + 1, text.size()));
  const bool digits = !number.empty() && number.size() <= 4 &&
                      std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  const std::string library = text.substr(0, colon);
  const bool known = library == kOpenCl || library == kCuda;
  if (known && (colon == text.size() || digits)) return {};
  return fmt::format("'{}' names no device: opencl or cuda, or opencl:N for the N-th from 0",
                     printable(text));
}

DeviceName device_named(const std::string& text) {
  BF_CHECK(device_name_fault(text).empty());
  const std::size_t colon = std::min(text.find(':'), text.size());
  DeviceName name{text.substr(0, colon), 0};
  if (colon < text.size())
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), name.index);
  return name;
}

Language language_of_device(std::string_view library) {
  return library == kCuda ? Language::kCuda : Language::kOpenCl;
}

CompileOptions for_device(CompileOptions options, Language language, int items) {
  BF_CHECK(is_of_device(language));
  options.planner.profile.reset();
  options.planner.target = find_target(to_string(language));
  options.planner.items = items;
  options.planner.lowering = Lowering::kGeneric;
  set_language(options, language);
  return options;
}

std::string device_text(const Lowered& lowered) {
  return device_text(lowered.plan().config.language, emit::emit_device_source(lowered));
}

std::string device_text(Language language, const std::string& source) {
  return emit::wrap_lines(Inliner(language == Language::kCuda).text(source));
}

std::string device_kernels_text(Language language, int items, std::string_view header) {
  return device_text(
      language, fmt::format("#define BF_ITEMS {}\n#define BF_STAGED 0\n#define BF_TEAM_BYTES {}\n"
                            "#include \"bf/c/words/{}.h\"\n#include \"bf/c/probe.h\"\n"
                            "#include \"{}\"\n",
                            items, emit::device_team_bytes(items, 0),
                            language == Language::kCuda ? kCuda : kOpenCl, header));
}

std::vector<emit::EmittedFile> device_files(const Lowered& lowered, const std::string& stem) {
  check_name(lowered.plan().name);
  const bool cuda = lowered.plan().config.language == Language::kCuda;
  const std::string text = device_text(lowered);
  const std::string host = emit::emit_device_host(lowered, stem);
  std::vector<emit::EmittedFile> files;
  if (cuda) {  // one source for both, and a header without others
    files = {{".cu", text + "\n" + Inliner(true).text(host)},
             {".h", Inliner(true).text(emit::emit_device_header(lowered))}};
    emit::wrap_files(files);
    return files;
  }
  files = {{".cl", text}, {".h", emit::emit_device_header(lowered)}, {".c", host}};
  for (emit::EmittedFile& file : emit::emit_weight_files(lowered, stem))
    files.push_back(std::move(file));
  emit::wrap_files(files);
  files.push_back({"_cl.inc", emit::as_strings(text)});
  return files;
}

}  // namespace bf_aot::build
