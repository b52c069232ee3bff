#include "aot/build/single_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "aot/build/runtime_files.h"
#include "frontend/diagnostic.h"

namespace bf_aot::build {
namespace {

Verifier verifier_of(std::vector<emit::EmittedFile> files) {
  Verifier made;
  made.files = std::move(files);
  made.weights_bytes = 200 << 10;
  return made;
}

const emit::EmittedFile kSource = {".cpp",
                                   "// banner\n#include \"net.h\"\n#include <cstddef>\n"
                                   "#include \"bf/core/bounds.h\"\n#include \"bf/core/relax.h\"\n"
                                   "#include \"net_weights.inc\"\nint last;\n"};
const emit::EmittedFile kHeader = {".h", "#include <stddef.h>\n#include \"bf.h\"\nint declared;\n"};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Each header once, before those that include it; tables where they were included.
TEST(SingleFile, HoldsWhatIsIncluded) {
  const std::vector<emit::EmittedFile> files = single_file(
      verifier_of({kSource, kHeader, {"_weights.inc", "float table;\n"}, {".json", "{}"}}), "net");
  ASSERT_EQ(files.size(), 3U);
  const std::string& source = files[0].bytes;
  EXPECT_EQ(count_of(source, "// ---- bf/core/rounding.h\n"), 1U);
  EXPECT_LT(source.find("// ---- bf/core/rounding.h\n"), source.find("// ---- bf/core/bounds.h\n"));
  EXPECT_LT(source.find("// ---- bf/core/bounds.h\n"), source.find("// ---- bf/core/relax.h\n"));
  EXPECT_EQ(count_of(source, "#include \""), 1U);
  EXPECT_EQ(count_of(source, "#include <cstddef>"), 1U);
  EXPECT_EQ(count_of(source, "#pragma once"), 0U);
  EXPECT_LT(source.find("float table;"), source.find("int last;"));
  EXPECT_EQ(count_of(files[1].bytes, "#ifndef BF_H\n"), 1U);
  EXPECT_EQ(count_of(files[1].bytes, "#include \""), 0U);
  EXPECT_EQ(files[2].bytes, "{}");
}

// The host's part of a verifier for OpenCL has the runtime of hosts in it, and .cl stays beside it.
TEST(SingleFile, HoldsTheRuntimeOfHosts) {
  const std::vector<emit::EmittedFile> files =
      single_file(verifier_of({{".cl", "kernel"},
                               kHeader,
                               {".c",
                                "#include \"net.h\"\n#include \"bf/c/checks.h\"\n"
                                "#include \"host/opencl_device.h\"\n#include \"net_cl.inc\"\n"},
                               {"_cl.inc", "\"kernel\",\n"}}),
                  "net");
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].suffix, ".c");
  EXPECT_EQ(count_of(files[0].bytes, "#include \""), 1U);
  EXPECT_EQ(count_of(files[0].bytes, "#ifndef BF_HOST_DEVICE_H\n"), 1U);
  EXPECT_EQ(count_of(files[0].bytes, "\"kernel\",\n"), 1U);
  EXPECT_EQ(files[2].suffix, ".cl");
}

TEST(SingleFile, IsWhatCudaHasAnyway) {
  const std::vector<emit::EmittedFile> files =
      single_file(verifier_of({{".cu", "all"}, kHeader, {".json", "{}"}}), "net");
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].bytes, "all");
  EXPECT_EQ(files[1].bytes, kHeader.bytes);
}

TEST(SingleFile, RefusesConstantsInAnAssemblerFile) {
  try {
    single_file(verifier_of({kSource, kHeader, {"_weights.S", ""}}), "net");
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "BF3105");
  }
}

TEST(RuntimeFiles, FollowWhatTheyInclude) {
  const std::vector<RuntimeFile> files = runtime_files_of({kSource});
  EXPECT_EQ(std::ranges::count(files, "bf/core/rounding.h", &RuntimeFile::path), 1);
  EXPECT_EQ(std::ranges::count(files, "bf/conv/conv_backward.h", &RuntimeFile::path), 0);
  EXPECT_EQ(files.back().path, "bf/core/relax.h");
  EXPECT_TRUE(runtime_files_of({{".json", kSource.bytes}}).empty());
}

}  // namespace
}  // namespace bf_aot::build
