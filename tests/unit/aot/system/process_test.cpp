#include "aot/system/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "aot/system/background.h"
#include "frontend/diagnostic.h"

namespace bf_aot::system {
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

// All lines that the work reports until it ends.
std::vector<std::string> lines_of(BackgroundWork& work) {
  std::vector<std::string> made;
  while (!work.ended()) {
    for (std::string& line : work.lines()) made.push_back(std::move(line));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return made;
}

TEST(BackgroundTest, ReportsLines) {
  BackgroundWork work([](const BackgroundWork::Report& report) {
    report("first");
    report(run_process({shell(), "-c", "printf second"}).output);
    report(std::string(100000, 'a'));  // more than a pipe holds
  });
  EXPECT_EQ(lines_of(work),
            (std::vector<std::string>{"first", "second", std::string(100000, 'a')}));
}

TEST(BackgroundTest, ReportsWhatIsThrownAsOneLine) {
  BackgroundWork work(
      [](const BackgroundWork::Report&) { fail("BF3203", "x", "it broke", "mend it"); });
  const std::vector<std::string> lines = lines_of(work);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines.front().starts_with("error: error BF3203: x: it broke")) << lines.front();
}

// Its own processes end as well: nobody is left who holds the pipe.
TEST(BackgroundTest, EndsWithTheObject) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    BackgroundWork work([&](const BackgroundWork::Report& report) {
      report("begun");
      run_process({shell(), "-c", "exec sleep 1000"});
    });
    while (work.lines().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace bf_aot::system
