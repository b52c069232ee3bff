// The exit code and the text of each way in which a command can fail.
#include "aot/system/guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>

#include "aot/system/errors.h"
#include "aot/system/interrupt.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"

namespace bf_aot::system {
namespace {

using testing::ExitedWithCode;

[[noreturn]] void run(const std::function<int()>& command) {
  std::exit(guarded(command));
}

constexpr char kBug[] =
    "error BF9000: internal error: .*\n  hint: this is a bug of bf-aot; please report it with this "
    "message, the version, the command line, the model and its property";

TEST(Guard, KnowsWhatIsExpected) {
  EXPECT_EXIT(run([] { return 3; }), ExitedWithCode(3), "^$");
  EXPECT_EXIT(run([]() -> int { fail("BF1003", "here", "wrong"); }), ExitedWithCode(1),
              "^error BF1003: here: wrong\n$");
  EXPECT_EXIT(run([]() -> int { throw Interrupted{SIGINT}; }), ExitedWithCode(128 + SIGINT), "^$");
  EXPECT_EXIT(run([]() -> int { throw std::bad_alloc(); }), ExitedWithCode(1), "^error BF3000: ");
}

TEST(Guard, AnythingElseIsABugOfOurs) {
  EXPECT_EXIT(run([]() -> int { throw std::out_of_range("vector::at"); }),
              ExitedWithCode(kInternalError), kBug);
  EXPECT_EXIT(run([]() -> int { throw std::out_of_range("vector::at"); }),
              ExitedWithCode(kInternalError), "vector::at .*out_of_range");
  EXPECT_EXIT(run([]() -> int { throw 1; }), ExitedWithCode(kInternalError),
              "an exception of unknown type");
}

TEST(Guard, ChecksNameTheirPlace) {
  const auto broken = []() -> int {
    const CheckScope scope("pass 'one'");
    BF_CHECK(1 + 1 == 3);
    return 0;
  };
  EXPECT_EXIT(run(broken), ExitedWithCode(kInternalError), kBug);
  EXPECT_EXIT(
      run(broken), ExitedWithCode(kInternalError),
      "pass 'one': check failed: 1 \\+ 1 == 3 \\(tests/unit/aot/system/guard_test.cpp:[0-9]+\\)");
  EXPECT_EXIT(run([]() -> int { BF_BROKEN("no code for this"); }), ExitedWithCode(kInternalError),
              "check failed: no code for this \\(tests/unit/aot/system/guard_test.cpp:[0-9]+\\)");
}

// A text on standard error, and the object on standard output, which follows it here.
TEST(Guard, PrintsBugsAsJson) {
  const auto broken = []() -> int {
    std::fflush(stdout);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    set_json_output(true);
    BF_CHECK(1 + 1 == 3);
    return 0;
  };
  EXPECT_EXIT(run(broken), ExitedWithCode(kInternalError), kBug);
  EXPECT_EXIT(
      run(broken), ExitedWithCode(kInternalError),
      "\\{\"errors\":\\[\\{\"code\":\"BF9000\",\"place\":\"\",\"message\":\"internal error: ");
}

TEST(Guard, SeesToOtherThreads) {
  const auto in_thread = [](const std::function<void()>& body) {
    return [body] {
      std::jthread(body).join();
      return 0;
    };
  };
  EXPECT_EXIT(run(in_thread([] { BF_CHECK(1 + 1 == 3); })), ExitedWithCode(kInternalError), kBug);
  EXPECT_EXIT(run(in_thread([] { throw std::runtime_error("escaped"); })),
              ExitedWithCode(kInternalError), "internal error: escaped");
}

TEST(Guard, AbortsForDebuggers) {
  EXPECT_EXIT(
      {
        setenv("BF_AOT_ABORT", "1", 1);
        run([]() -> int { BF_BROKEN("here"); });
      },
      testing::KilledBySignal(SIGABRT), kBug);
}

}  // namespace
}  // namespace bf_aot::system
