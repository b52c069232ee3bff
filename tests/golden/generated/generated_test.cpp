// Whole files that models/tiny.onnx compiles to, byte for byte.
// BF_UPDATE_GOLDEN=1 rewrites them; read the diff before committing it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/manifest.h"
#include "aot/emit/calls/dump.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/kernels/schedule_dump.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/planner.h"
#include "tests/paths.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* stem;
  Method method;
  Lowering lowering;
  const char* target;
  std::vector<std::string> kept;  // suffixes of the files that are compared
  int batch = 1;
  bool decide = false;  // with a property
  Splits splits = Splits::kInputs;
  Language language = Language::kCpp;
};

void PrintTo(const Case& golden, std::ostream* out) {
  *out << golden.stem;
}

const Case kCases[] = {
    {"tiny_ibp_generic", Method::kIbp, Lowering::kGeneric, "generic", {".cpp", ".h", ".json"}},
    {"tiny_crown_generic", Method::kCrown, Lowering::kGeneric, "generic", {".cpp", ".calls"}},
    {"tiny_ibp_vector", Method::kIbp, Lowering::kVector, "x86-64-v3", {".cpp"}},
    {"tiny_crown_vector", Method::kCrown, Lowering::kVector, "x86-64-v3", {".schedule"}},
    {"tiny_boxes_generic", Method::kIbp, Lowering::kGeneric, "generic", {".h"}, 8},
    {"tiny_boxes_vector", Method::kCrown, Lowering::kVector, "x86-64", {".cpp"}, 8},
    {"tiny_decide_generic", Method::kIbp, Lowering::kGeneric, "generic", {".cpp", ".h"}, 1, true},
    {"tiny_neurons_generic",
     Method::kCrown,
     Lowering::kGeneric,
     "generic",
     {".cpp", ".h"},
     1,
     true,
     Splits::kNeurons},
    {"tiny_ibp_c",
     Method::kIbp,
     Lowering::kGeneric,
     "generic",
     {".c"},
     1,
     false,
     Splits::kInputs,
     Language::kC},
    {"tiny_crown_c",
     Method::kCrown,
     Lowering::kGeneric,
     "generic",
     {".c"},
     1,
     false,
     Splits::kInputs,
     Language::kC},
};

build::CompileOptions options_of(const Case& golden) {
  build::CompileOptions options;
  options.planner.method = golden.method;
  options.planner.lowering = golden.lowering;
  options.planner.target = find_target(golden.target);
  options.planner.batch = golden.batch;
  options.planner.decide = golden.decide;
  options.planner.splits = golden.splits;
  options.planner.language = golden.language;
  if (golden.decide)
    options.property = read_property(BF_SOURCE_DIR "/models/properties/tiny_cases.vnnlib");
  return options;
}

build::Verifier compile_tiny(const std::string& stem, const build::CompileOptions& options) {
  return build::compile(fs::path(BF_SOURCE_DIR) / "models" / "tiny.onnx", stem, options);
}

// Of `inspect --dump-schedule`: all but the operators.
constexpr const char* kSchedule = ".schedule";

// Of `inspect --dump-calls`.
constexpr const char* kCalls = ".calls";

// Of files that no compiler has seen.
constexpr const char* kManifest = ".json";

std::string file(const build::Verifier& verifier, const std::string& suffix) {
  if (suffix == kCalls) return calls::dump_calls(*verifier.lowered);
  if (suffix == kSchedule) return emit::dump_schedules(verifier.plan());
  if (suffix == kManifest) return build::manifest_text(verifier, "verifier", suffix, {});
  for (const emit::EmittedFile& each : verifier.files)
    if (each.suffix == suffix) return each.bytes;
  ADD_FAILURE() << "no file " << suffix;
  return {};
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The lines between the common beginning and the common end, the first few of them.
std::string difference(const std::string& expected, const std::string& actual) {
  constexpr std::size_t kShown = 12;
  const std::vector<std::string> old = lines_of(expected);
  const std::vector<std::string> now = lines_of(actual);
  const auto [first_old, first_now] = std::mismatch(old.begin(), old.end(), now.begin(), now.end());
  const auto begin = static_cast<std::size_t>(first_old - old.begin());
  std::size_t tail = 0;
  while (begin + tail < std::min(old.size(), now.size()) &&
         old[old.size() - 1 - tail] == now[now.size() - 1 - tail])
    ++tail;
  std::ostringstream out;
  out << "from line " << begin + 1 << ":\n";
  const auto show = [&](const std::vector<std::string>& lines, const char* mark) {
    const std::size_t end = lines.size() - tail;
    for (std::size_t i = begin; i < std::min(end, begin + kShown); ++i)
      out << mark << lines[i] << "\n";
    if (end > begin + kShown) out << mark << "... " << end - begin - kShown << " lines more\n";
  };
  show(old, "- ");
  show(now, "+ ");
  return out.str();
}

std::string source_of(const Case& golden) {
  return golden.language == Language::kC ? ".c" : ".cpp";
}

class GeneratedFiles : public ::testing::TestWithParam<Case> {};

TEST_P(GeneratedFiles, Match) {
  const Case& golden = GetParam();
  const build::Verifier verifier = compile_tiny(golden.stem, options_of(golden));
  for (const std::string& suffix : golden.kept) {
    const fs::path path = fs::path(BF_GENERATED_DIR) / (golden.stem + suffix);
    const std::string actual = file(verifier, suffix);
    if (std::getenv("BF_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << actual;
    const std::string expected = read_file(path);
    EXPECT_FALSE(expected.empty()) << path << ": run with BF_UPDATE_GOLDEN=1 to write it";
    EXPECT_TRUE(expected == actual) << path << " " << difference(expected, actual);
  }
}

// Without its hook and calls an instrumented verifier is the plain one.
TEST_P(GeneratedFiles, TracingOnlyAddsItsOwnLines) {
  build::CompileOptions options = options_of(GetParam());
  const std::string plain = file(compile_tiny("verifier", options), source_of(GetParam()));
  EXPECT_EQ(plain.find("_trace"), std::string::npos);
  options.time_parts = true;
  const build::Verifier verifier = compile_tiny("verifier", options);
  std::string timed = file(verifier, source_of(GetParam()));
  const std::string hook = emit::emit_trace_hook(verifier.plan());
  const std::size_t at = timed.find(hook);
  ASSERT_NE(at, std::string::npos);
  timed.erase(at, hook.size());
  std::string rest;
  int calls = 0;
  for (const std::string& line : lines_of(timed)) {
    const bool call = line.find("_trace != ") != std::string::npos;
    calls += call ? 1 : 0;
    if (!call) rest += line + "\n";
  }
  EXPECT_GT(calls, 5);
  EXPECT_TRUE(rest == plain) << difference(plain, rest);
}

TEST_P(GeneratedFiles, AreTheSameEachTime) {
  const build::CompileOptions options = options_of(GetParam());
  const build::Verifier once = compile_tiny("verifier", options);
  const build::Verifier again = compile_tiny("verifier", options);
  ASSERT_EQ(once.files.size(), again.files.size());
  for (const emit::EmittedFile& each : once.files)
    EXPECT_TRUE(file(once, each.suffix) == file(again, each.suffix)) << each.suffix;
  EXPECT_TRUE(once.plan() == again.plan());
}

// The stem names the header that the source includes, and nothing else.
TEST_P(GeneratedFiles, FollowTheStem) {
  const build::CompileOptions options = options_of(GetParam());
  const build::Verifier one = compile_tiny("stem_one", options);
  const build::Verifier two = compile_tiny("stem_two", options);
  const std::string include = "#include \"stem_one.h\"";
  const std::string suffix_of_source = source_of(GetParam());
  std::string source = file(one, suffix_of_source);
  const std::size_t at = source.find(include);
  ASSERT_NE(at, std::string::npos);
  source.replace(at, include.size(), "#include \"stem_two.h\"");
  EXPECT_TRUE(source == file(two, suffix_of_source)) << difference(source, file(two, suffix_of_source));
  for (const char* suffix : {".h", kManifest})
    EXPECT_TRUE(file(one, suffix) == file(two, suffix)) << suffix;
}

// Names of one length, so that lines are wrapped alike.
TEST_P(GeneratedFiles, FollowTheName) {
  build::CompileOptions options = options_of(GetParam());
  options.name = "aaaa";
  const build::Verifier one = compile_tiny("verifier", options);
  options.name = "zzzz";
  const build::Verifier two = compile_tiny("verifier", options);
  for (const emit::EmittedFile& each : one.files) {
    std::string renamed = file(one, each.suffix);
    std::size_t count = 0;
    for (const auto& [from, to] : {std::pair{"aaaa", "zzzz"}, std::pair{"AAAA", "ZZZZ"}})
      for (std::size_t at = renamed.find(from); at != std::string::npos;
           at = renamed.find(from, at), ++count)
        renamed.replace(at, 4, to);
    EXPECT_GT(count, 0U) << each.suffix;
    EXPECT_TRUE(renamed == file(two, each.suffix))
        << each.suffix << " " << difference(renamed, file(two, each.suffix));
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, GeneratedFiles, ::testing::ValuesIn(kCases),
                         [](const auto& parameter) { return parameter.param.stem; });

}  // namespace
}  // namespace bf_aot
