#include "runtime/bf.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

TEST(Runtime, EveryStatusHasItsOwnText) {
  std::set<std::string> texts;
  for (int status = BF_OK; status <= BF_DEVICE_FAILED; ++status) {
    texts.insert(bf_status_text(static_cast<bf_status>(status)));
  }
  EXPECT_EQ(texts.size(), 21u);
  EXPECT_EQ(texts.count("unrecognised status"), 0u);
  EXPECT_STREQ(bf_status_text(BF_OK), "ok");
}

TEST(Runtime, EveryVerdictHasItsOwnText) {
  EXPECT_STREQ(bf_verdict_text(BF_UNKNOWN), "unknown");
  EXPECT_STREQ(bf_verdict_text(BF_VERIFIED), "verified");
  EXPECT_STREQ(bf_verdict_text(BF_FALSIFIED), "falsified");
  EXPECT_STREQ(bf_verdict_text(BF_BUDGET), "budget");
  EXPECT_STREQ(bf_verdict_text(BF_OUTSIDE), "outside of the property's region");
  EXPECT_STREQ(bf_verdict_text(BF_PARTLY_OUTSIDE), "partly outside of the property's region");
}

// Status codes are stored in logs and crossed between languages: they never change.
TEST(Runtime, CodesAreStable) {
  EXPECT_EQ(BF_OK, 0);
  EXPECT_EQ(BF_NULL_ARGUMENT, 1);
  EXPECT_EQ(BF_NAN_INPUT, 2);
  EXPECT_EQ(BF_EMPTY_BOX, 3);
  EXPECT_EQ(BF_INFINITE_BOX, 4);
  EXPECT_EQ(BF_WORKSPACE_TOO_SMALL, 5);
  EXPECT_EQ(BF_WORKSPACE_MISALIGNED, 6);
  EXPECT_EQ(BF_FLOAT_ENVIRONMENT, 7);
  EXPECT_EQ(BF_NO_SUCH_CASE, 8);
  EXPECT_EQ(BF_CONTEXT_TOO_SMALL, 9);
  EXPECT_EQ(BF_CONTEXT_MISALIGNED, 10);
  EXPECT_EQ(BF_CONTEXT_FOREIGN, 11);
  EXPECT_EQ(BF_BLOB_TOO_SMALL, 12);
  EXPECT_EQ(BF_BLOB_FOREIGN, 13);
  EXPECT_EQ(BF_BLOB_STALE, 14);
  EXPECT_EQ(BF_BLOB_CORRUPT, 15);
  EXPECT_EQ(BF_BAD_COUNT, 16);
  EXPECT_EQ(BF_BAD_EXECUTOR, 17);
  EXPECT_EQ(BF_FLOAT32_RANGE, 18);
  EXPECT_EQ(BF_OVERLAP, 19);
  EXPECT_EQ(BF_DEVICE_FAILED, 20);
  EXPECT_EQ(BF_UNKNOWN, 0);
  EXPECT_EQ(BF_BUDGET, 3);
  EXPECT_EQ(BF_OUTSIDE, 4);
  EXPECT_EQ(BF_PARTLY_OUTSIDE, 5);
}

TEST(Runtime, VersionsAgree) {
  EXPECT_STREQ(bf_version(), BF_VERSION_STRING);
  EXPECT_STREQ(BF_VERSION_STRING, BF_PROJECT_VERSION);
  const std::string parts = std::to_string(BF_VERSION_MAJOR) + "." +
                            std::to_string(BF_VERSION_MINOR) + "." +
                            std::to_string(BF_VERSION_PATCH);
  EXPECT_EQ(parts, BF_VERSION_STRING);
}

}  // namespace
