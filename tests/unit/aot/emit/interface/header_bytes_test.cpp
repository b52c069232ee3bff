#include "aot/emit/interface/header_bytes.h"

#include <gtest/gtest.h>

#include "aot/emit/interface/emit.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {
namespace {

// Each member another number, so that none is printed or taken for another.
HeaderBytes numbered(std::int64_t first) {
  HeaderBytes bytes;
  for (const auto member :
       {&HeaderBytes::workspace, &HeaderBytes::align, &HeaderBytes::weights, &HeaderBytes::context,
        &HeaderBytes::persistent, &HeaderBytes::batch, &HeaderBytes::batch_parallel,
        &HeaderBytes::worker, &HeaderBytes::parallel, &HeaderBytes::verify,
        &HeaderBytes::verify_batch, &HeaderBytes::decide, &HeaderBytes::open_box})
    bytes.*member = first++;
  return bytes;
}

TEST(HeaderBytes, SuitTheCodeOfBoth) {
  const HeaderBytes small = numbered(100), large = numbered(200);
  HeaderBytes expected = large;
  expected.weights = 102 + 202;
  EXPECT_TRUE(of_both(small, large) == expected);
  EXPECT_TRUE(of_both(large, small) == expected);
  expected.weights = 404;
  EXPECT_TRUE(of_both(large, large) == expected);
}

Plan plan_of_bounds() {
  Plan plan;
  plan.name = "net";
  Entry entry;
  entry.storage.planned_bytes = 192;
  plan.entries.push_back(entry);
  plan.config.workers = 3;
  return plan;
}

TEST(HeaderBytes, AreThoseOfThePlan) {
  HeaderBytes expected;
  expected.workspace = expected.batch = expected.parallel = 192;
  expected.batch_parallel = 3 * 192;
  const Plan plan = plan_of_bounds();
  expected.align = plan.config.target.align;
  EXPECT_TRUE(header_bytes(plan) == expected);
}

TEST(HeaderBytes, AreWhatTheHeaderSays) {
  const Plan plan = plan_of_bounds();
  const std::string text = emit_header(plan, numbered(700));
  for (const char* line :
       {"_WORKSPACE_BYTES 700\n", "_WORKSPACE_ALIGN 701\n", "_WEIGHTS_BYTES 702\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace bf_aot::emit
