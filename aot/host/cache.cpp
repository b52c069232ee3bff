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

constexpr char kStem[] = "verifier";
constexpr char kSeconds[] = "compile_seconds";  // a file beside the library
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 20;

// Length-prefixed, so that two different sequences of parts never hash alike.
void append_part(std::string& text, std::string_view part) {
  text += fmt::format("{}:", part.size());
  text += part;
}

std::string content_key(const Verifier& verifier, const Toolchain& toolchain) {
  std::string text;
  for (const EmittedFile& file : verifier.files) {
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

CachedVerifier cached_verifier(const Verifier& verifier, const CompilerOptions& options) {
  const Target& target = verifier.plan.config.target;
  expect_runs_here(target);
  const Toolchain toolchain = find_toolchain(options, target);
  const std::filesystem::path cache = cache_folder();
  const std::string key = content_key(verifier, toolchain);
  CachedVerifier result;
  result.library = cache / key / (std::string(kStem) + ".so");
  std::error_code error;
  result.hit = std::filesystem::is_regular_file(result.library, error);
  result.compile_seconds = seconds_of(cache / key);
  if (result.hit) return result;

  const Progress progress("compile");
  Staging staging(cache);
  for (const EmittedFile& file : verifier.files) staging.write(kStem + file.suffix, file.bytes);
  const Stopwatch stopwatch;
  build_shared(toolchain, staging.folder(), kStem, verifier.files);
  result.compile_seconds = stopwatch.seconds();
  staging.write(kSeconds, fmt::format("{}\n", result.compile_seconds));
  staging.publish_folder(key);
  if (!std::filesystem::is_regular_file(result.library, error))
    fail("BF3305", (cache / key).string(), "this folder of the cache is damaged", "remove it");
  return result;
}

}  // namespace bf_aot::cli
