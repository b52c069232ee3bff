#include "aot/build/single_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "aot/build/library.h"
#include "aot/build/runtime_files.h"
#include "aot/emit/text/dialect.h"
#include "frontend/diagnostic.h"

namespace bf_aot::build {
namespace {

// The pragmas are needed since clang warns of unused functions in a source, but not in a header.
constexpr std::string_view kBegin = R"(// ---- the runtime, as far as this verifier needs it

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wunused-const-variable"
#endif
)";
constexpr std::string_view kEnd = R"(
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// ---- the verifier
)";

class SingleSource {
 public:
  SingleSource(const Verifier& verifier, std::string stem)
      : verifier_(verifier), stem_(std::move(stem)), runtime_(runtime_files_of(verifier.files)) {}

  std::string_view suffix() const {
    const std::string_view in_c = emit::Dialect(Language::kC).suffix();
    const bool is_c = std::ranges::find(verifier_.files, in_c, &emit::EmittedFile::suffix) !=
                      verifier_.files.end();
    return emit::Dialect(is_c ? Language::kC : Language::kCpp).suffix();
  }

  std::string source() {
    const std::string& text = file(suffix());
    for (const std::string_view line : lines_of(text)) add_line(line);
    return std::move(made_);
  }

  // The verifier's header with those of the runtime that it includes in it. Its own <stddef.h> is
  // left out, since bf.h includes that.
  std::string header() const {
    std::string made;
    for (const std::string_view line : lines_of(file(".h"))) {
      if (const std::string_view path = included_by(line); !path.empty())
        made += text_of(path);
      else if (line != "#include <stddef.h>\n")
        made += line;
    }
    return made;
  }

 private:
  const std::string& file(std::string_view suffix) const {
    const auto found = std::ranges::find(verifier_.files, suffix, &emit::EmittedFile::suffix);
    BF_CHECK(found != verifier_.files.end());
    return found->bytes;
  }

  // A header of the runtime that the verifier's includes, without its own includes of others.
  std::string text_of(std::string_view path) const {
    std::string made;
    for (const std::string_view line :
         lines_of(std::ranges::find(runtime_, path, &RuntimeFile::path)->text))
      if (included_by(line).empty()) made += line;
    return made;
  }

  bool in_header(std::string_view path) const {
    return std::ranges::any_of(lines_of(file(".h")),
                               [&](std::string_view line) { return included_by(line) == path; });
  }

  // Adds a line of the source. The runtime goes where its first header was included, so that lines
  // before it, such as those about fusing products, hold for it, too.
  void add_line(std::string_view line) {
    const std::string_view path = included_by(line);
    if (path.starts_with("bf/") || path.starts_with("host/")) {
      if (!has_runtime_) add_runtime();
    } else if (path.ends_with(".inc")) {
      BF_CHECK(path.starts_with(stem_));
      made_ += file(path.substr(stem_.size()));
    } else {
      add_own(line);
    }
  }

  void add_runtime() {
    has_runtime_ = true;
    made_ += kBegin;
    for (const RuntimeFile& one : runtime_)
      if (!in_header(one.path)) add_runtime_file(one);
    add_runtime_file(runtime_source());
    made_ += kEnd;
  }

  void add_runtime_file(const RuntimeFile& one) {
    made_ += fmt::format("\n// ---- {}\n", one.path);
    // A header of hosts keeps each include of a standard header: the first one in the file may
    // stand under a condition that does not hold.
    const bool of_host = one.path.starts_with("host/");
    for (const std::string_view line : lines_of(one.text)) {
      if (line == "#pragma once\n" || !included_by(line).empty()) continue;
      if (of_host)
        made_ += line;
      else
        add_own(line);
    }
  }

  // Adds a line of the verifier, but each include of a standard header once.
  void add_own(std::string_view line) {
    if (line.starts_with("#include <") && !standard_.emplace(line).second) return;
    made_ += line;
  }

  const Verifier& verifier_;
  std::string stem_;
  std::vector<RuntimeFile> runtime_;
  std::set<std::string, std::less<>> standard_;
  std::string made_;
  bool has_runtime_ = false;
};

void check_possible(const Verifier& verifier) {
  int sources = 0;
  for (const emit::EmittedFile& file : verifier.files) {
    if (file.suffix.ends_with(".S"))
      fail("BF3105", "--single-file",
           fmt::format("{} bytes of constants need an assembler file beside the source",
                       verifier.weights_bytes),
           "leave --single-file out");
    sources += is_source(file) ? 1 : 0;
  }
  BF_CHECK(sources == 1);
}

}  // namespace

std::vector<emit::EmittedFile> single_file(const Verifier& verifier, const std::string& stem) {
  const auto has = [&](std::string_view suffix) {
    return std::ranges::find(verifier.files, suffix, &emit::EmittedFile::suffix) !=
           verifier.files.end();
  };
  if (has(emit::Dialect(Language::kCuda).suffix())) return verifier.files;  // they are so
  check_possible(verifier);
  SingleSource made(verifier, stem);
  std::vector<emit::EmittedFile> files = {{std::string(made.suffix()), made.source()},
                                          {".h", made.header()}};
  for (const emit::EmittedFile& file : verifier.files)
    if (file.suffix.ends_with(".json") || file.suffix == emit::Dialect(Language::kOpenCl).suffix())
      files.push_back(file);
  return files;
}

}  // namespace bf_aot::build
