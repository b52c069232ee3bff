// Compiled code in the cache: what was built of one source is never loaded for another.

#include "aot/build/cache.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "frontend/diagnostic.h"
#include "tests/support/model_text.h"

namespace bf_aot::build {
namespace {

namespace fs = std::filesystem;

CachedVerifier cached(int number) {
  const std::string source =
      "extern \"C\" int number();\nint number() { return " + std::to_string(number) + "; }\n";
  return cached_verifier({{".cpp", source, {}}}, find_target("host"), {});
}

int number_of(const fs::path& library) {
  const OpenLibrary opened = open_cached(library);
  return reinterpret_cast<int (*)()>(dlsym(opened.get(), "number"))();
}

std::string refusal_of(const fs::path& library) {
  try {
    open_cached(library);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "loaded";
}

TEST(Cache, LibrariesAreTiedToTheirSources) {
  const test::TempFolder folder;
  ASSERT_EQ(setenv("XDG_CACHE_HOME", folder.path().c_str(), 1), 0);
  const fs::path one = cached(1).library, two = cached(2).library;
  EXPECT_EQ(number_of(one), 1);
  EXPECT_EQ(number_of(two), 2);
  EXPECT_TRUE(cached(1).hit);

  // Exchanged with their digests, after they were found.
  for (const char* const name : {"verifier.so", "verifier.sha256"}) {
    fs::rename(one.parent_path() / name, folder.path() / "kept");
    fs::rename(two.parent_path() / name, one.parent_path() / name);
    fs::rename(folder.path() / "kept", two.parent_path() / name);
  }
  EXPECT_EQ(refusal_of(one), "BF3305");
  EXPECT_EQ(refusal_of(two), "BF3305");

  const CachedVerifier again = cached(1);
  EXPECT_FALSE(again.hit);
  EXPECT_EQ(number_of(again.library), 1);
}

}  // namespace
}  // namespace bf_aot::build
