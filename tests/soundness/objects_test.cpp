// What a verifier's object files need and how they compile: warnings, undefined symbols, heap, two
// verifiers in one C or C++ program.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "aot/build/library.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/interface/emit.h"
#include "aot/system/process.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

// Prints the first bounds of both verifiers. Once armed, every allocation ends the program with
// exit code 3; with an argument the program allocates then, to show that the trap works.
constexpr const char* kMain = R"(
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "first.h"
#include "second.h"

#ifdef __cplusplus
#define ALIGN alignas(64)
#else
#define ALIGN _Alignas(64)
#endif

ALIGN static unsigned char workspace[1 << 20];
ALIGN static unsigned char context[SECOND_CONTEXT_BYTES];
static unsigned char blob[SECOND_BLOB_BYTES];
static volatile int armed = 0;
static volatile size_t two = 2;

#ifdef __cplusplus
extern "C" {
#endif
void _exit(int);
void *__libc_malloc(size_t);
void __libc_free(void *);
void *malloc(size_t n) {
  if (armed) _exit(3);
  return __libc_malloc(n);
}
void free(void *p) {
  if (armed) _exit(3);
  __libc_free(p);
}
void *__libc_calloc(size_t, size_t);
void *calloc(size_t n, size_t size) {
  if (armed) _exit(3);
  return __libc_calloc(n, size);
}
void *__libc_realloc(void *, size_t);
void *realloc(void *p, size_t n) {
  if (armed) _exit(3);
  return __libc_realloc(p, n);
}
#ifdef __cplusplus
}
void *operator new(size_t n) { return malloc(n); }
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
#endif

int main(int argc, char **argv) {
  (void)argv;
  static float lower[FIRST_INPUTS + SECOND_INPUTS], upper[FIRST_INPUTS + SECOND_INPUTS];
  static float low[FIRST_OUTPUTS + SECOND_OUTPUTS], high[FIRST_OUTPUTS + SECOND_OUTPUTS];
  for (int i = 0; i < FIRST_INPUTS + SECOND_INPUTS; ++i) {
    lower[i] = -0.5f;
    upper[i] = 0.25f;
  }
  armed = 1;
  if (argc > 1) {
    void *volatile leak = ALLOCATE;
    (void)leak;
  }
  bf_status status = first_bounds(lower, upper, low, high, workspace, sizeof workspace);
  if (status == BF_OK)
    status = second_bounds(lower, upper, low + FIRST_OUTPUTS, high + FIRST_OUTPUTS, workspace,
                           sizeof workspace);
  if (status == BF_OK) status = first_evaluate(lower, low, workspace, sizeof workspace);
  if (status == BF_OK) status = second_context_init(context, sizeof context);
  for (int i = 0; i < 2 && status == BF_OK; ++i)
    status = second_bounds_cached(context, sizeof context, lower, upper, low + FIRST_OUTPUTS,
                                  high + FIRST_OUTPUTS, workspace, sizeof workspace);
  bf_cache_counters counters;
  if (status == BF_OK) status = second_cache_counters(context, sizeof context, &counters);
  if (status == BF_OK && counters.full_hits != 1) return 5;
  if (status == BF_OK) status = second_context_save(context, sizeof context, blob, sizeof blob);
  if (status == BF_OK) status = second_context_load(context, sizeof context, blob, sizeof blob);
  if (first_info()->inputs != FIRST_INPUTS) status = BF_NULL_ARGUMENT;
  armed = 0;
  if (status != BF_OK) return 4;
  printf("%a %a\n", (double)low[FIRST_OUTPUTS], (double)high[FIRST_OUTPUTS]);
  return 0;
}
)";

struct Code {
  const char* name;
  const char* compiler;
  Lowering lowering;
  const char* target;
};

std::ostream& operator<<(std::ostream& out, const Code& code) {
  return out << code.name;
}

class Objects : public ::testing::TestWithParam<Code> {
 protected:
  void SetUp() override {
    if (!has_compiler(GetParam().compiler))
      GTEST_SKIP() << GetParam().compiler << " is not installed";
    toolchain_ = build::find_toolchain({GetParam().compiler, {}}, find_target(GetParam().target));
    emit("first", Method::kCrown, 3);
    emit("second", Method::kIbp, 8);
  }

  const std::filesystem::path& folder() const { return folder_.path(); }

  // A network with inexact weights (residual tables) or doubles, and a head of one row.
  void emit(const std::string& name, Method method, std::uint64_t seed) {
    Random random(seed);
    Net net;
    net.label = name;
    const int widths[] = {5, 33, 18, 1};
    for (int i = 0; i < 3; ++i) {
      NetLayer layer;
      layer.in = widths[i];
      layer.out = widths[i + 1];
      layer.relu = i < 2;
      for (int k = 0; k < layer.in * layer.out; ++k)
        layer.weight.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
      layer.bias.assign(static_cast<std::size_t>(layer.out), 0.1);
      net.layers.push_back(std::move(layer));
    }
    ModelInfo info;
    info.file_name = name + ".onnx";
    info.sha256 = std::string(64, '0');
    PlannerConfig config = planner_config(method, GetParam().lowering, GetParam().target);
    if (name == "second") config.reuse = {true, true, false};
    config.batch = 6;
    const auto lowered =
        lower(std::make_shared<const Plan>(bf_aot::plan(to_graph(net), info, name, false, config)));
    std::ofstream(folder() / (name + ".cpp")) << emit::emit_source(*lowered, name);
    std::ofstream(folder() / (name + ".h"))
        << emit::emit_header(lowered->plan(), emit::header_bytes(lowered->plan()));
    for (const emit::EmittedFile& file : emit::emit_weight_files(*lowered, name))
      std::ofstream(folder() / (name + file.suffix)) << file.bytes;
  }

  void compile(const std::string& name, const std::vector<std::string>& warnings = {}) {
    std::vector<std::string> command = toolchain_.compiler;
    command.insert(command.end(), toolchain_.flags.begin(), toolchain_.flags.end());
    command.insert(command.end(), warnings.begin(), warnings.end());
    command.insert(command.end(), {"-I" + toolchain_.include_folder, "-I.", "-c", name + ".cpp",
                                   "-o", name + ".o"});
    const system::ProcessResult result = system::run_process(command, folder());
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }

  void compile_both() {
    compile("first");
    compile("second");
  }

  // Links main.c or main.cpp with both verifiers; returns the program's path.
  std::string link(const std::string& source, const std::vector<std::string>& driver) {
    std::ofstream(folder() / source) << kMain;
    std::vector<std::string> command = driver;
    command.insert(command.end(), {"-I" + toolchain_.include_folder, "-I.", "-fno-builtin-malloc",
                                   "first.o", "second.o", source, "-o", "program"});
    const system::ProcessResult result = system::run_process(command, folder());
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return (folder() / "program").string();
  }

  TemporaryFolder folder_;
  build::Toolchain toolchain_;
};

TEST_P(Objects, CompileWithoutWarnings) {
  for (const char* name : {"first", "second"})
    compile(name, {"-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"});
}

TEST_P(Objects, NeedOnlyMemcpyAndMemset) {
  compile_both();
  const std::string nm = build::find_utility(toolchain_, "nm");
  for (const char* name : {"first.o", "second.o"}) {
    const system::ProcessResult result =
        system::run_process({nm, "--format=posix", name}, folder());
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    std::istringstream lines(result.output);
    int entry_points = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string symbol, type;
      words >> symbol >> type;
      if (type == "T") ++entry_points;
      EXPECT_NE(type, "W") << symbol << " may be merged with another object's";
      EXPECT_NE(type, "D") << symbol << " is writable data";
      EXPECT_NE(type, "B") << symbol << " is writable data";
      if (type == "U") {
        EXPECT_TRUE(symbol == "memcpy" || symbol == "memset") << symbol << " is needed";
      }
    }
    EXPECT_EQ(entry_points, std::string(name) == "first.o" ? 5 : 10)
        << "bounds, of one box and of several, evaluate, status_text and info; with a context its "
           "five";
  }
}

// The C program is linked without a C++ library.
TEST_P(Objects, TwoVerifiersInACProgramWithoutHeap) {
  compile_both();
  const auto cc = system::find_program("gcc");
  if (!cc) GTEST_SKIP() << "gcc is not installed";
  const std::string program =
      link("main.c", {*cc, "-std=c11", "-Wall", "-Werror", "-DALLOCATE=malloc(two)"});
  const system::ProcessResult result = system::run_process({program});
  EXPECT_EQ(result.exit_code, 0) << "3: the heap was used";
  EXPECT_NE(result.output, "");
  EXPECT_EQ(system::run_process({program, "allocate"}).exit_code, 3) << "the trap does not work";
}

TEST_P(Objects, TwoVerifiersInACppProgramWithoutExceptions) {
  compile_both();
  std::vector<std::string> driver = toolchain_.compiler;
  driver.insert(driver.end(), {"-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Werror",
                               "-DALLOCATE=(new char[two])"});
  const std::string program = link("main.cpp", driver);
  const system::ProcessResult result = system::run_process({program});
  EXPECT_EQ(result.exit_code, 0) << "3: the heap was used";
  EXPECT_NE(result.output, "");
  EXPECT_EQ(system::run_process({program, "allocate"}).exit_code, 3) << "the trap does not work";
}

const Code kCodes[] = {
    {"generic_gcc", "g++", Lowering::kGeneric, "generic"},
    {"generic_clang", "clang++", Lowering::kGeneric, "generic"},
    {"sse_gcc", "g++", Lowering::kVector, "x86-64"},
    {"sse_clang", "clang++", Lowering::kVector, "x86-64"},
};

INSTANTIATE_TEST_SUITE_P(Codes, Objects, ::testing::ValuesIn(kCodes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
