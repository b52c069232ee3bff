// Peaks of devices, and the least times of batches that follow from them.
#include "planner/cost/device_figures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "frontend/diagnostic.h"
#include "tests/unit/planner/toy.h"
#include "tests/unit/planner/verify/verify_graph.h"

namespace bf_aot {
namespace {

using nlohmann::json;

// Four groups reach its peaks.
DevicePeaks four_groups() {
  DevicePeaks peaks;
  peaks.name = "four";
  peaks.float32 = {100, 400};
  peaks.float64 = {10, 40};
  peaks.memories = {{1000, 4, {50, 200}}, {8000, 1, {20, 40}}, {HUGE_VAL, 1, {5, 8}}};
  return peaks;
}

TEST(DevicePeaks, ABoxHasItsShareOfWhatAllReach) {
  const DevicePeaks peaks = four_groups();
  const auto rates = [&](double boxes) {
    const MachineProfile share = share_of_box(peaks, boxes, 0);
    return std::vector<double>{share.float32_vector, share.float64_scalar,
                               share.levels[1].bytes_per_second};
  };
  EXPECT_EQ(rates(1), (std::vector<double>{100, 10, 20}));
  EXPECT_EQ(rates(2), (std::vector<double>{100, 10, 20}));
  EXPECT_EQ(rates(8), (std::vector<double>{50, 5, 5}));
}

// One group has a nearest memory of its own, and the shared one alone; four share it.
TEST(DevicePeaks, GroupsThatRunAtOnceShareMemories) {
  const auto sizes = [](double boxes, double weights) {
    const MachineProfile share = share_of_box(four_groups(), boxes, weights);
    return std::vector<double>{share.levels[0].bytes, share.levels[1].bytes};
  };
  EXPECT_EQ(sizes(1, 0), (std::vector<double>{1000, 8000}));
  EXPECT_EQ(sizes(4, 0), (std::vector<double>{1000, 2000}));
  EXPECT_EQ(sizes(64, 0), (std::vector<double>{1000, 2000}));
  EXPECT_EQ(sizes(64, 4000), (std::vector<double>{1000, 5000}));  // all read the same weights
  EXPECT_EQ(sizes(64, 9000), (std::vector<double>{1000, 8000}));
}

TEST(DevicePeaks, ReadsWhatItWritesAndNamesWhatIsNone) {
  for (const std::string& name : peaks_names())
    EXPECT_EQ(parse_peaks(to_json_text(find_peaks(name)), name), find_peaks(name));
  EXPECT_EQ(find_peaks("h200").items, 64);
  EXPECT_THROW(find_peaks("abacus"), CompileError);
  const json good = json::parse(to_json_text(find_peaks("h200")));
  const auto code_with = [&](const std::string& pointer, const json& value) -> std::string {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    try {
      parse_peaks(changed.dump(), "peaks.json");
    } catch (const CompileError& error) {
      return error.diagnostics().front().code;
    }
    return "none";
  };
  EXPECT_EQ(code_with("/name", "another"), "none");
  for (const auto& [pointer, value] : {std::pair<const char*, json>{"/colour", 1},
                                       {"/items", 0},
                                       {"/items", 1.5},
                                       {"/items", 5000},
                                       {"/float32/all", 1},
                                       {"/float64", 3},
                                       {"/float64/group", 5e-324},
                                       {"/float64/group", 999},
                                       {"/float64/all", 1e300},
                                       {"/memories/0/bytes", 5e-324},
                                       {"/memories/0/bytes", 1e300},
                                       {"/memories/2/bytes_per_second/group", 1e-3},
                                       {"/memories", json::array()},
                                       {"/memories/0/bytes", nullptr},
                                       {"/memories/2/bytes", 1e9},
                                       {"/memories/1/count", 0}})
    EXPECT_EQ(code_with(pointer, value), "BF2132") << pointer;
}

DevicePeaks twice_as_fast(DevicePeaks peaks) {
  const auto twice = [](DeviceRate& rate) { rate = {2 * rate.group, 2 * rate.all}; };
  twice(peaks.float32);
  twice(peaks.float64);
  for (DeviceMemory& memory : peaks.memories) twice(memory.bytes_per_second);
  return peaks;
}

TEST(DeviceFigures, TimesAreThoseOfAllTasksAtThePeaks) {
  const DevicePeaks& peaks = find_peaks("h200");
  for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown})
    for (const Plan& plan : {testing::toy_plan(method), testing::graph_plan(method)}) {
      const Entry& entry = plan.entries.front();
      const Activity activity = assumed_activity(plan, entry);
      double before = 0;
      for (const std::int64_t boxes : {1, 100, 1000, 100000}) {
        const DeviceLimit limit = device_limit(plan, entry, activity, peaks, boxes);
        const DeviceLimit twice = device_limit(plan, entry, activity, twice_as_fast(peaks), boxes);
        EXPECT_EQ(2 * twice.total.seconds, limit.total.seconds);
        EXPECT_GT(limit.total.seconds, 0);
        EXPECT_LE(limit.total.wide, limit.total.flops);
        EXPECT_GE(limit.total.seconds, before);  // more boxes take no less time
        before = limit.total.seconds;
        Cost sum;
        for (const Cost& task : limit.tasks) sum += task;
        EXPECT_NEAR(sum.seconds, limit.total.seconds, 1e-9 * limit.total.seconds);
        EXPECT_EQ(limit.bounds.size(), entry.tasks.size());
      }
    }
}

TEST(DeviceFigures, SayWhatBounds) {
  const Plan plan = testing::toy_plan(Method::kIbp);
  const Entry& entry = plan.entries.front();
  const auto bound_with = [&](double narrow, double wide, double bytes) {
    DevicePeaks peaks;
    peaks.float32 = {narrow, narrow};
    peaks.float64 = {wide, wide};
    peaks.memories = {{HUGE_VAL, 1, {bytes, bytes}}};
    return device_limit(plan, entry, assumed_activity(plan, entry), peaks, 1).bound;
  };
  EXPECT_EQ(bound_with(1, 1e9, 1e9), DeviceBound::kFloat32);
  EXPECT_EQ(bound_with(1e9, 1e-3, 1e9), DeviceBound::kFloat64);
  EXPECT_EQ(bound_with(1e9, 1e9, 1), DeviceBound::kMemory);
  const DeviceFigures none = device_figures(plan, 0, assumed_activity(plan, entry), std::nullopt);
  ASSERT_EQ(none.batches.size(), 4U);
  EXPECT_EQ(none.batches[kDeviceBatchShown].boxes, 1024);
  EXPECT_FALSE(none.batches.front().limit.has_value());
}

}  // namespace
}  // namespace bf_aot
