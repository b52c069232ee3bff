#include "aot/host/cache.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "aot/host/files.h"
#include "aot/host/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/model.h"
#include "frontend/sha256.h"

namespace bf_aot::cli {
namespace {

constexpr char kLibrary[] = "verifier.so";
// Files beside the library.
constexpr char kDigest[] = "verifier.sha256";  // as `sha256sum verifier.so` prints it
constexpr char kSeconds[] = "compile_seconds";
constexpr std::uint64_t kMaxLibraryBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 20;

// Length-prefixed, so that two different sequences of parts never hash alike.
void append_part(std::string& text, std::string_view part) {
  text += fmt::format("{}:", part.size());
  text += part;
}

std::string content_key(const std::vector<EmittedFile>& files, const Toolchain& toolchain) {
  std::string text;
  for (const EmittedFile& file : files) {
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

// What the digest's file holds when the library beside it is as it was made.
std::string digest_line(const std::filesystem::path& folder) {
  return fmt::format("{}  {}\n", sha256(read_file(folder / kLibrary, kMaxLibraryBytes, "library")),
                     kLibrary);
}

bool is_whole(const std::filesystem::path& folder) {
  try {
    const std::string expected = digest_line(folder);
    return read_file(folder / kDigest, expected.size(), "digest") == expected;
  } catch (const CompileError&) {  // one of the two cannot be read
    return false;
  }
}

// Moved away in one step, so that no other process sees half of it, then removed.
void discard(const std::filesystem::path& cache, const std::string& name) {
  const Staging grave(cache);
  std::error_code error;
  std::filesystem::rename(cache / name, grave.folder() / name, error);
  if (error)
    fail("BF3305", (cache / name).string(),
         "this folder of the cache is damaged and cannot be moved: " + error.message(),
         "remove it");
}

double seconds_of(const std::filesystem::path& folder) {
  std::ifstream stream(folder / kSeconds);
  double seconds = 0;
  return stream >> seconds ? seconds : 0;
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
  make_folder(folder);
  std::error_code ignored;  // code that is run later: for the owner alone
  fs::permissions(folder, fs::perms::owner_all, ignored);
  return folder;
}

CachedVerifier cached_verifier(const std::vector<EmittedFile>& files, const Target& target,
                               const CompilerOptions& options) {
  expect_runs_here(target);
  const Toolchain toolchain = find_toolchain(options, target);
  const std::filesystem::path cache = cache_folder();
  const std::string key = content_key(files, toolchain);
  CachedVerifier result;
  result.library = cache / key / kLibrary;
  std::error_code error;
  if (std::filesystem::exists(cache / key, error)) {
    result.hit = is_whole(cache / key);
    result.compile_seconds = seconds_of(cache / key);
    if (result.hit) return result;
    fmt::print(stderr, "note: {} is damaged: it is made again\n", (cache / key).string());
    discard(cache, key);
  }

  const Progress progress("compile");
  Staging staging(cache);
  for (const EmittedFile& file : files) staging.write(kCachedStem + file.suffix, file.bytes);
  const Stopwatch stopwatch;
  build_shared(toolchain, staging.folder(), kCachedStem, files);
  result.compile_seconds = stopwatch.seconds();
  staging.write(kSeconds, fmt::format("{}\n", result.compile_seconds));
  staging.write(kDigest, digest_line(staging.folder()));
  staging.publish_folder(key);
  if (!is_whole(cache / key))  // another process may have been there first
    fail("BF3305", (cache / key).string(), "this folder of the cache is damaged", "remove it");
  return result;
}

}  // namespace bf_aot::cli
