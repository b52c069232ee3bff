#include "frontend/check_scope.h"

#include <gtest/gtest.h>

#include <optional>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

TEST(CheckScope, IsNamedByChecksThatFailInsideAlone) {
  const CheckScope outer("pass 'one'");
  { const CheckScope ended("step 0"); }
  std::optional<CheckScope> inner;
  EXPECT_DEATH(BF_CHECK(1 + 1 == 3), "internal error: pass 'one': check failed: 1 \\+ 1 == 3 ");
  inner.emplace("step 1");
  EXPECT_DEATH(BF_CHECK(1 + 1 == 3), "internal error: pass 'one', step 1: check failed: ");
  inner.reset();
  EXPECT_DEATH(BF_CHECK(1 + 1 == 3), "internal error: pass 'one': check failed: ");
}

TEST(CheckScope, FailedChecksNameFilesFromTheRootAndSayWhatToReport) {
  EXPECT_DEATH(BF_CHECK(1 + 1 == 3),
               "check failed: 1 \\+ 1 == 3 \\(tests/unit/frontend/check_scope_test.cpp:[0-9]+\\)\n"
               ".*please report it with this message, the version, the command line, the model");
}

}  // namespace
}  // namespace bf_aot
