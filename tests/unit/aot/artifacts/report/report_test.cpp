#include "aot/artifacts/report/report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/rails.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

using Edges = std::vector<std::vector<int>>;

TEST(ReportText, EscapesWhatHtmlReads) {
  EXPECT_EQ(escape("<a href='x'>\"&amp;"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;amp;");
  EXPECT_EQ(escape("größe"), "größe");
  EXPECT_EQ(escape("a\x1b[31m\tb\n\x7f"), "a_[31m\tb\n_");
}

TEST(ReportText, ShortensInTheMiddleBetweenCharacters) {
  EXPECT_EQ(shorten("short", 5), "short");
  EXPECT_EQ(shorten("abcdefghij", 7), "ab…ghij");
  // Two-byte characters are left out whole, never cut.
  EXPECT_EQ(shorten("aééééééééé", 6), "a…éé");
}

TEST(ReportText, Units) {
  EXPECT_EQ(bytes_text(9999), "9999 B");
  EXPECT_EQ(bytes_text(21248), "21.2 KB");
  EXPECT_EQ(bytes_text(999'700), "1 MB");
  EXPECT_EQ(bytes_text(9'172'992), "9.17 MB");
  EXPECT_EQ(count_text(12'288), "12\u202f288");
  EXPECT_EQ(count_text(3.11e9), "3.11 G");
  EXPECT_EQ(seconds_text(2.5e-5), "25.0 µs");
  EXPECT_EQ(number_text(1.0 / 0.0), "∞");
}

TEST(ReportRails, AChainTakesOneRail) {
  const Rails rails = draw_rails({{}, {0}, {1}, {2}}, {"a", "b", "c", "d"}, 30);
  const Rails single = draw_rails({{}}, {"a"}, 30);
  EXPECT_EQ(rails.rows.size(), 4U);
  EXPECT_EQ(rails.width, single.width);
  EXPECT_NE(rails.rows[1].find("M10 0V15"), std::string::npos);
  EXPECT_EQ(rails.rows[3].find("V30"), std::string::npos) << "nothing reads the last";
}

TEST(ReportRails, WhatIsReadLaterRunsBeside) {
  // Row 0 is read by rows 1 and 3; it must not share a rail with row 1 or 2.
  const Rails rails = draw_rails({{}, {0}, {1}, {0, 2}}, {"a", "b", "c", "d"}, 30);
  EXPECT_GT(rails.width, draw_rails({{}}, {"a"}, 30).width);
  EXPECT_NE(rails.rows[2].find("M10 0V30"), std::string::npos) << "row 0 passes by";
}

TEST(ReportRails, EdgesThatFollowAreLeftOut) {
  EXPECT_EQ(reduce_edges({{}, {0}, {0, 1}, {0, 1, 2}}), (Edges{{}, {0}, {1}, {2}}));
  EXPECT_EQ(reduce_edges({{}, {}, {0, 1}, {1, 0, 2, 2}}), (Edges{{}, {}, {0, 1}, {2}}));
}

// Two tasks of one step each, and a buffer.
Plan small_plan() {
  Plan plan;
  plan.name = "net";
  plan.model.file_name = "net.onnx";
  Entry entry;
  entry.steps = {WriteBounds{}, WriteBounds{}};
  entry.buffers = {Buffer{"a_centre", Element::kFloat32, 4, 64, 0, 0, 1}};
  entry.storage = {64, 64, 64};
  for (int i = 0; i < 2; ++i) {
    Task task;
    task.name = "task " + std::to_string(i);
    task.steps = {i};
    task.flops = 100;
    if (i > 0) task.after = {0};
    entry.tasks.push_back(task);
  }
  plan.entries.push_back(entry);
  return plan;
}

TEST(ReportTasks, MeasuredTimesStandBesideTheTasks) {
  const Plan plan = small_plan();
  EXPECT_EQ(task_part(plan, {}).find("measured"), std::string::npos);
  Findings findings;
  findings.task_seconds = {{3e-6, 1e-6}};
  const std::string text = task_part(plan, findings);
  EXPECT_NE(text.find("3.0 µs"), std::string::npos);
  EXPECT_NE(text.find("4.0 µs measured"), std::string::npos);
  EXPECT_NE(text.find("75.0 % of all"), std::string::npos);
  findings.task_seconds = {{3e-6}};  // of another plan
  EXPECT_EQ(task_part(plan, findings).find("measured"), std::string::npos);
}

TEST(ReportKernels, MeasuredTimesStandBesideThePredicted) {
  Plan plan = small_plan();
  plan.prediction.profile = "some machine";
  plan.kernels.resize(1);
  plan.kernels[0].key = plan.kernels[0].function = "kernel_a";
  TaskPart part;
  part.name = "kernel_a";
  part.kernel = 0;
  part.calls = 2;
  part.seconds = 5e-6;
  plan.entries[0].tasks[1].parts = {part};
  EXPECT_NE(kernel_part(plan, {}).find("5.0 µs"), std::string::npos);
  EXPECT_EQ(kernel_part(plan, {}).find("measured"), std::string::npos);
  Findings findings;
  findings.parts = {{0, "kernel_a", 1e-6}, {1, "kernel_a", 7e-6}, {1, "other", 2e-6}};
  const std::string text = kernel_part(plan, findings);
  EXPECT_NE(text.find("5.0 µs"), std::string::npos);
  EXPECT_NE(text.find("7.0 µs"), std::string::npos) << "of the task that calls it alone";
  EXPECT_NE(text.find("measured"), std::string::npos);
}

TEST(ReportMemory, TheAxisIsCutForWhatIsFarAbove) {
  Plan plan = small_plan();
  EXPECT_EQ(memory_part(plan).find("class=\"break\""), std::string::npos);
  plan.entries[0].storage.naive_bytes = 640;
  const std::string text = memory_part(plan);
  EXPECT_NE(text.find("class=\"break\""), std::string::npos);
  EXPECT_NE(text.find("90 % under one range for each buffer (640 B)"), std::string::npos);
}

TEST(ReportMemory, ContextsAreNoWorkspace) {
  Plan plan = small_plan();
  plan.entries[0].buffers[0].scope = CacheScope::kEpoch;
  EXPECT_EQ(memory_part(plan).find("class=\"b "), std::string::npos);
  EXPECT_EQ(context_part(plan), "");
}

}  // namespace
}  // namespace bf_aot::artifacts
