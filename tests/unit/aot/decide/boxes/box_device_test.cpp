// A search over boxes whose nodes a device bounds has the verdicts of one without, whatever the
// device leaves open.

#include "aot/decide/boxes/box_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/bounds_and_points.h"
#include "aot/decide/search/box_search.h"
#include "aot/engine/run/watch.h"
#include "aot/engine/verifier/make_verifier.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/plan/plan.h"
#include "tests/paths.h"
#include "tests/unit/aot/decide/property/engine_request.h"

namespace bf_aot::decide {
namespace {

constexpr char kModel[] = BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx";

struct Calls {
  std::size_t boxes = 0, most = 0;  // of all calls, and of the largest
};

// The engine in place of a device. It bounds nothing of boxes narrower than `blind`, and is stopped
// in the call that follows so many boxes.
class FalseDevice final : public engine::HostVerifier {
 public:
  FalseDevice(const Plan& plan, std::unique_ptr<const engine::HostVerifier> host, float blind,
              std::shared_ptr<Calls> calls)
      : plan_(plan), host_(std::move(host)), blind_(blind), calls_(std::move(calls)) {}

  std::unique_ptr<const engine::HostVerifier> twin() const override {
    return std::make_unique<FalseDevice>(plan_, host_->twin(), blind_, calls_);
  }
  bool ask(engine::Watch* watch) const override {
    watch_ = watch;
    return true;
  }
  engine::Bounds bounds(const input::FloatBox& box) const override { return host_->bounds(box); }
  engine::Bounds spec_bounds(const input::FloatBox& box) const override {
    return host_->spec_bounds(box);
  }
  std::vector<float> evaluate(const std::vector<float>& x) const override {
    return host_->evaluate(x);
  }
  bf_status spec_bounds_batch(std::size_t count, const float* lower, const float* upper,
                              float* row_lower, float* row_upper,
                              bf_status* statuses) const override {
    return blinded(count, lower, upper, row_lower, row_upper,
                   host_->spec_bounds_batch(count, lower, upper, row_lower, row_upper, statuses));
  }
  bf_status spec_coefficients_batch(std::size_t count, const float* lower, const float* upper,
                                    float* row_lower, float* row_upper, float* coefficients,
                                    bf_status* statuses) const override {
    return blinded(count, lower, upper, row_lower, row_upper,
                   host_->spec_coefficients_batch(count, lower, upper, row_lower, row_upper,
                                                  coefficients, statuses));
  }
  std::vector<double> sample_times(const input::FloatBox&,
                                   const system::SampleLimits&) const override {
    return {};
  }
  std::vector<engine::TimedPart> time_parts(const input::FloatBox&, int) const override {
    return {};
  }

 private:
  bf_status blinded(std::size_t count, const float* lower, const float* upper, float* row_lower,
                    float* row_upper, bf_status status) const {
    if (watch_ != nullptr && watch_->stopped()) throw engine::Stopped();
    calls_->boxes += count;
    calls_->most = std::max(calls_->most, count);
    const auto inputs = static_cast<std::size_t>(plan_.input_count);
    const auto rows = static_cast<std::size_t>(plan_.spec_rows);
    for (std::size_t i = 0; i < count; ++i) {
      float widest = 0;
      for (std::size_t k = i * inputs; k < (i + 1) * inputs; ++k)
        widest = std::max(widest, upper[k] - lower[k]);
      if (widest >= blind_) continue;
      std::fill_n(row_lower + i * rows, rows, -std::numeric_limits<float>::infinity());
      std::fill_n(row_upper + i * rows, rows, std::numeric_limits<float>::infinity());
    }
    return status;
  }

  const Plan& plan_;
  const std::unique_ptr<const engine::HostVerifier> host_;
  const float blind_;
  const std::shared_ptr<Calls> calls_;
  mutable engine::Watch* watch_ = nullptr;
};

// A verifier of the property's rows, whose calls take so many boxes.
DecisionVerifier verifier_of(const Property& property, int batch) {
  build::CompileOptions options = engine_request().compile;
  options.planner.method = Method::kCrown;
  options.planner.decide = true;
  options.planner.batch = batch;
  options.spec = to_spec(property);
  ImportedModel model = import_model(kModel);
  const std::shared_ptr<const Lowered> lowered = build::run_planner(
      build::run_frontend({std::move(model.graph), model.info}, options), "network", options);
  return {lowered->shared_plan(), engine::make_verifier(lowered, options, {}).host};
}

struct Found {
  bool verified = false, falsified = false;
  std::uint64_t nodes = 0, stuck = 0;
};

Found search(const Property& property, AwaitedDevice* device, std::size_t threads = 1) {
  const DecisionVerifier host = verifier_of(property, 16);
  const Sampler network(import_model(kModel).graph);
  const WitnessCheck check(property, network);
  Cases cases(property);
  BoxSearch search(*host.host, *host.plan, cases, threads, device);
  SearchCalls calls;
  calls.prove = [&](std::size_t index, const std::vector<double>& x) {
    return check.prove(index, x);
  };
  Found made;
  made.falsified = search.run(cases, {20}, calls).has_value();
  made.verified = cases.verified_count() == cases.count();
  made.nodes = search.totals().nodes;
  made.stuck = search.totals().leaves;
  return made;
}

// On the box where each input has these ends, an output does not reach the limit; without one the
// property of the repository.
Property property_of(const std::string& limit, const std::string& lower = "-0.25",
                     const std::string& upper = "0.25") {
  if (limit.empty())
    return read_property(BF_SOURCE_DIR "/models/properties/collision_avoidance_6x50_wide.vnnlib");
  std::string text;
  for (const char i : {'0', '1', '2', '3', '4'})
    text += std::string("(declare-const X_") + i + " Real)(declare-const Y_" + i + " Real)";
  for (const char i : {'0', '1', '2', '3', '4'})
    text += "(assert (<= " + lower + " X_" + i + " " + upper + "))";
  return parse_property(text + "(assert (>= Y_0 " + limit + "))", "p.vnnlib");
}

// later: so many asks find the device not ready.
AwaitedDevice device_of(const Property& property, float blind, std::shared_ptr<Calls> calls,
                        std::size_t boxes, int later = 0) {
  const auto made = std::make_shared<std::optional<BoxDevice>>(std::in_place);
  DecisionVerifier own = verifier_of(property, static_cast<int>(boxes));
  (*made)->plan = own.plan;
  (*made)->boxes = boxes;
  (*made)->host = std::make_unique<FalseDevice>(*own.plan, std::move(own.host), blind, calls);
  return AwaitedDevice([made, later, asked = 0]() mutable -> std::optional<BoxDevice> {
    if (asked++ < later) return std::nullopt;
    return std::move(*made);
  });
}

TEST(BoxDevice, HasTheVerdictsOfThisProcessor) {
  for (const char* const limit : {"", "0.05", "1000"}) {
    SCOPED_TRACE(limit);
    const Property property = property_of(limit);
    const Found here = search(property, nullptr);
    for (const std::size_t threads : {1, 2}) {
      const auto calls = std::make_shared<Calls>();
      AwaitedDevice device = device_of(property, 0, calls, 256);
      const Found there = search(property, &device, threads);
      EXPECT_EQ(there.verified, here.verified);
      EXPECT_EQ(there.falsified, here.falsified);
      EXPECT_EQ(there.stuck, 0u);
      if (here.verified) {
        EXPECT_EQ(there.nodes, here.nodes) << "the tree depends on nodes alone";
      }
      EXPECT_GE(calls->boxes, there.nodes);
    }
  }
}

TEST(BoxDevice, BoundsManyBoxesTogether) {
  const Property property = property_of("");
  const auto calls = std::make_shared<Calls>();
  AwaitedDevice device = device_of(property, 0, calls, 256);
  EXPECT_TRUE(search(property, &device).verified);
  EXPECT_GT(calls->most, 16u) << "more than a call of the verifier takes";
}

// What it cannot bound is split down to where no float lies inside, which this processor bounds.
TEST(BoxDevice, WhatItLeavesOpenThisProcessorBounds) {
  // The ends are neighbouring floats.
  const Property point = property_of("1000", "0.125", "0.12500001490116119384765625");
  const auto calls = std::make_shared<Calls>();
  AwaitedDevice device = device_of(point, 1, calls, 64);
  const Found there = search(point, &device);
  EXPECT_TRUE(there.verified);
  EXPECT_EQ(there.stuck, 0u);
  EXPECT_GT(calls->boxes, 0u);
}

TEST(BoxDevice, TakesWhatThisProcessorHasRoomFor) {
  Plan plan;
  plan.input_count = 150'528;
  plan.spec_rows = 9;
  EXPECT_EQ(boxes_together(plan, 0, 65'536), 55u);
  plan.input_count = 5;
  EXPECT_EQ(boxes_together(plan, 0, 65'536), 1024u);
  EXPECT_EQ(boxes_together(plan, 0, 7), 7u);
  EXPECT_EQ(boxes_together(plan, 100'000, 65'536), 167u);
  EXPECT_EQ(boxes_together(plan, std::size_t{1} << 30, 65'536), 1u);
  EXPECT_EQ(boxes_together(plan, 0, 0), 1u);
}

TEST(BoxDevice, BoundsCasesTogether) {
  Property property = property_of("1000");
  while (property.cases.size() < 100) property.cases.push_back(property.cases.front());
  const auto calls = std::make_shared<Calls>();
  AwaitedDevice device = device_of(property, 0, calls, 64);
  Cases cases(property);
  std::size_t done = 0;
  const DecisionVerifier host = verifier_of(property, 1);
  const auto progress = [&](std::size_t now, std::size_t) { done = now; };
  EXPECT_FALSE(verify_cases(*host.host, nullptr, cases, {}, progress, &device));
  EXPECT_EQ(cases.verified_count(), 100u);
  EXPECT_EQ(done, 100u);
  EXPECT_EQ(calls->boxes, 100u);
  EXPECT_EQ(calls->most, 64u);
}

TEST(BoxDevice, ThisProcessorBoundsUntilItIsReady) {
  for (const std::size_t threads : {1, 3}) {
    const Property property = property_of("");
    const Found here = search(property, nullptr, threads);
    const auto calls = std::make_shared<Calls>();
    AwaitedDevice device = device_of(property, 0, calls, 256, 4);
    const Found there = search(property, &device, threads);
    EXPECT_TRUE(there.verified);
    EXPECT_EQ(there.nodes, here.nodes) << "the tree depends on nodes alone";
    EXPECT_GT(device.bounded(), 0u);
    EXPECT_LT(device.bounded(), there.nodes);
  }
}

TEST(BoxDevice, CasesGoToItOnceItIsReady) {
  Property property = property_of("1000");
  while (property.cases.size() < 100) property.cases.push_back(property.cases.front());
  const auto calls = std::make_shared<Calls>();
  AwaitedDevice device = device_of(property, 0, calls, 64, 30);
  Cases cases(property);
  const DecisionVerifier host = verifier_of(property, 1);
  verify_cases(
      *host.host, nullptr, cases, {}, [](std::size_t, std::size_t) {}, &device);
  EXPECT_EQ(cases.verified_count(), 100u);
  EXPECT_EQ(calls->boxes, 70u);
  EXPECT_EQ(device.bounded(), 70u);
}

TEST(BoxDevice, WhatKeepsItFromBeingReadyEndsTheSearch) {
  const Property property = property_of("");
  int asked = 0;
  AwaitedDevice device([&]() -> std::optional<BoxDevice> {
    if (++asked > 2) fail("BF3342", "opencl:0", "refused");
    return std::nullopt;
  });
  EXPECT_THROW(search(property, &device), CompileError);
}

}  // namespace
}  // namespace bf_aot::decide
