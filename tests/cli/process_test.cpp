#include "aot/host/process.h"

#include <gtest/gtest.h>

#include <string>

#include "aot/host/library.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

std::string shell() {
  return *find_program("sh");
}

TEST(ProcessTest, KeepsOutputsApart) {
  const ProcessResult result = run_process({shell(), "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
}

// More than a pipe holds, on both streams at once: neither side may wait for the other.
TEST(ProcessTest, TakesLargeOutputs) {
  const ProcessResult result =
      run_process({shell(), "-c",
                   "i=0; while [ $i -lt 20000 ]; do echo aaaaaaaaaaaaaaaa; "
                   "echo bbbbbbbbbbbbbbbb >&2; i=$((i+1)); done"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output.size(), 20000U * 17);
  EXPECT_EQ(result.errors.size(), 20000U * 17);
}

TEST(ProcessTest, PassesArgumentsWithoutAShell) {
  const ProcessResult result = run_process({shell(), "-c", "echo \"$1\"", "sh", "$HOME; ls | cat"});
  EXPECT_EQ(result.output, "$HOME; ls | cat\n");
}

TEST(ProcessTest, RunsInTheFolder) {
  EXPECT_EQ(run_process({shell(), "-c", "pwd"}, "/").output, "/\n");
}

TEST(ProcessTest, ReportsSignalsAndFailures) {
  EXPECT_EQ(run_process({shell(), "-c", "kill -9 $$"}).exit_code, 128 + 9);
  EXPECT_THROW(run_process({"/nonexistent/program"}), CompileError);
  EXPECT_THROW(run_process({shell(), "-c", "true"}, "/nonexistent"), CompileError);
}

TEST(ProcessTest, FindsPrograms) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_FALSE(find_program("no-such-program-at-all"));
  EXPECT_FALSE(find_program(""));
  EXPECT_FALSE(find_program("/"));
}

TEST(LibraryTest, SplitsWords) {
  EXPECT_EQ(split_words("  -a  -b\t-c "), (std::vector<std::string>{"-a", "-b", "-c"}));
  EXPECT_TRUE(split_words("").empty());
}

TEST(LibraryTest, KnowsWhatRunsHere) {
  EXPECT_TRUE(runs_here(find_target("host")));
  EXPECT_TRUE(runs_here(find_target("generic")));
  EXPECT_FALSE(runs_here(find_target("cortex-m7")));
}

}  // namespace
}  // namespace bf_aot::cli
