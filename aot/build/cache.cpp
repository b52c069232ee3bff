#include "aot/build/cache.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"
#include "frontend/sha256.h"

namespace bf_aot::build {
namespace {

constexpr char kLibrary[] = "verifier.so";
// Files beside the library.
constexpr char kDigest[] = "verifier.sha256";  // as `sha256sum verifier.so` prints it
constexpr char kSeconds[] = "compile_seconds";
constexpr std::uint64_t kMaxLibraryBytes = std::uint64_t{1} << 34;
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 20;

// This text and the key stand in the library, so that no library of other sources is taken for it,
// however it came to lie there.
constexpr std::string_view kKeyMark = "bf-aot built this from ";
constexpr char kKeySymbol[] = "bf_cache_key";

emit::EmittedFile key_source(const std::string& key) {
  return {"_key.cpp",
          fmt::format("extern \"C\" {{\nextern const char {0}[];\n__attribute__((used, "
                      "visibility(\"default\"))) const char {0}[] = \"{1}{2}\";\n}}\n",
                      kKeySymbol, kKeyMark, key),
          {}};
}

// Length-prefixed, so that two different sequences of parts never hash alike.
void append_part(std::string& text, std::string_view part) {
  text += fmt::format("{}:", part.size());
  text += part;
}

std::string content_key(const std::vector<emit::EmittedFile>& files, const Toolchain& toolchain) {
  std::string text(kKeyMark);  // older libraries have no key in them
  for (const emit::EmittedFile& file : files) {
    append_part(text, file.suffix);
    append_part(text, file.bytes);
  }
  for (const std::filesystem::path& file : runtime_files())
    append_part(text, read_file(runtime_folder() / file, kMaxHeaderBytes, "runtime header"));
  for (const std::string& word : toolchain.compiler) append_part(text, word);
  append_part(text, toolchain.version);
  for (const std::string& flag : toolchain.flags) append_part(text, flag);
  return sha256(text);
}

// The content of the digest's file, while the library is as it was made.
std::string digest_line(std::string_view library) {
  return fmt::format("{}  {}\n", sha256(library), kLibrary);
}

std::string read_own(const std::filesystem::path& file, std::uint64_t max_bytes) {
  return read_file(file, max_bytes, "cached file", Sources::kFiles);
}

bool is_whole(const std::filesystem::path& folder, const std::string& key) {
  try {
    const std::string library = read_own(folder / kLibrary, kMaxLibraryBytes);
    const std::string expected = digest_line(library);
    return library.find(std::string(kKeyMark) + key) != std::string::npos &&
           read_own(folder / kDigest, expected.size()) == expected;
  } catch (const CompileError&) {  // one of the two cannot be read
    return false;
  }
}

// Moves a folder away in one step, so that no other process sees half of it, then removes it.
void discard(const std::filesystem::path& cache, const std::string& name) {
  const system::Staging grave(cache);
  std::error_code error;
  std::filesystem::rename(cache / name, grave.folder() / name, error);
  if (error)
    fail("BF3305", (cache / name).string(),
         "this folder of the cache is damaged and cannot be moved: " + error.message(),
         "remove it");
}

double seconds_of(const std::filesystem::path& folder) {
  constexpr std::uint64_t kMostBytes = 100;
  const ReadBytes read = read_bytes(folder / kSeconds, kMostBytes, Sources::kFiles);
  double seconds = 0;
  return read.problem.empty() && std::istringstream(read.bytes) >> seconds ? seconds : 0;
}

// Refuses a folder that others own or may write to: it holds code that is run later.
void expect_private(const std::filesystem::path& folder) {
  struct stat status = {};
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    fail("BF3101", folder.string(),
         fmt::format("cannot make this folder: {}", std::strerror(errno)));
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    fail("BF3101", folder.string(), "cannot make this folder: a file is in the way");
  const char* const hint = "remove it, or set XDG_CACHE_HOME to a folder of your own";
  if (status.st_uid != geteuid())
    fail("BF3319", folder.string(), "the cache folder belongs to another user", hint);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail("BF3319", folder.string(),
         fmt::format("other users may write to the cache folder, mode {:o}: what is in it may be "
                     "theirs",
                     status.st_mode & 07777),
         hint);
}

}  // namespace

std::filesystem::path cache_folder() {
  namespace fs = std::filesystem;
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (xdg != nullptr && fs::path(xdg).is_absolute())  // the specification ignores relative ones
    folder = xdg;
  else if (home != nullptr && *home != '\0')
    folder = fs::path(home) / ".cache";
  else
    fail("BF3303", "", "no folder for compiled verifiers: neither XDG_CACHE_HOME nor HOME is set",
         "set one of them");
  folder /= "bf-aot";
  system::make_folder(folder.parent_path());
  expect_private(folder);
  return folder;
}

CachedVerifier cached_verifier(const std::vector<emit::EmittedFile>& files, const Target& target,
                               const CompilerOptions& options) {
  expect_runs_here(target);
  const Toolchain toolchain = find_toolchain(options, target);
  const std::filesystem::path cache = cache_folder();
  const std::string key = content_key(files, toolchain);
  CachedVerifier result;
  result.library = cache / key / kLibrary;
  std::error_code error;
  if (std::filesystem::exists(cache / key, error)) {
    result.hit = is_whole(cache / key, key);
    result.compile_seconds = seconds_of(cache / key);
    if (result.hit) return result;
    fmt::print(stderr, "note: {} is damaged: it is made again\n", (cache / key).string());
    discard(cache, key);
  }

  const system::Progress progress("compile");
  system::Staging staging(cache);
  std::vector<emit::EmittedFile> sources = files;
  sources.push_back(key_source(key));
  for (const emit::EmittedFile& file : sources)
    staging.write(kCachedStem + file.suffix, file.bytes);
  const system::Stopwatch stopwatch;
  build_shared(toolchain, staging.folder(), kCachedStem, sources);
  result.compile_seconds = stopwatch.seconds();
  staging.write(kSeconds, fmt::format("{}\n", result.compile_seconds));
  staging.write(kDigest, digest_line(read_own(staging.folder() / kLibrary, kMaxLibraryBytes)));
  staging.publish_folder(key);
  if (!is_whole(cache / key, key))  // another process may have been there first
    fail("BF3305", (cache / key).string(), "this folder of the cache is damaged", "remove it");
  return result;
}

OpenLibrary open_library(const std::filesystem::path& library) {
  OpenLibrary opened(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (opened == nullptr) {
    const char* const reason = dlerror();
    fail("BF3305", library.string(),
         fmt::format("cannot load the verifier: {}", reason != nullptr ? reason : "unknown"),
         "remove the cache folder and try again");
  }
  return opened;
}

OpenLibrary open_cached(const std::filesystem::path& library) {
  OpenLibrary opened = open_library(library);
  const auto* const held = static_cast<const char*>(dlsym(opened.get(), kKeySymbol));
  if (held == nullptr || std::string(kKeyMark) + library.parent_path().filename().string() != held)
    fail("BF3305", library.string(), "this library was built from another source",
         "remove the cache folder and try again");
  return opened;
}

void CloseLibrary::operator()(void* library) const {
  dlclose(library);
}

}  // namespace bf_aot::build
