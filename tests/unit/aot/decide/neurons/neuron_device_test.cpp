// This processor searches nodes of neurons until a device is ready, and goes on with its proposals
// then; nodes that parts of a tree begin with depend on no device.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/decide/neurons/device/node_device.h"
#include "aot/decide/search/neuron_search.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/paths.h"
#include "tests/unit/aot/decide/property/engine_request.h"

namespace bf_aot::decide {
namespace {

// Proposes nothing.
class Idle final : public NodeDevice {
 public:
  bool fits(const FlatShape& /*network*/) const override { return true; }
  std::size_t together(const FlatShape& /*network*/) const override { return 128; }
  void call(Entry /*entry*/, const std::shared_ptr<const FlatNetwork>& /*network*/,
            std::span<const std::byte> /*clause*/, std::size_t /*groups*/, NodeArrays& /*nodes*/,
            const std::function<void()>& /*pause*/) override {}
};

// Has no room for the network, and takes no call.
class Narrow final : public NodeDevice {
 public:
  bool fits(const FlatShape& network) const override {
    ++asked;
    EXPECT_GT(network.byte_count, 0u);
    return false;
  }
  std::size_t together(const FlatShape& /*network*/) const override { return 0; }
  void call(Entry /*entry*/, const std::shared_ptr<const FlatNetwork>& /*network*/,
            std::span<const std::byte> /*clause*/, std::size_t /*groups*/, NodeArrays& /*nodes*/,
            const std::function<void()>& /*pause*/) override {
    ADD_FAILURE();
  }

  mutable int asked = 0;
};

// It has thousands of nodes.
Property hard_property(const std::string& threshold = "1.6") {
  const char* const ends[][2] = {
      {"-0.3", "0.2"}, {"-0.4", "0"}, {"0.2", "0.6"}, {"-0.2", "0.2"}, {"-0.2", "0.2"}};
  std::string text, box;
  for (int i = 0; i < 5; ++i) {
    const std::string x = "X_" + std::to_string(i);
    text += "(declare-const " + x + " Real)(declare-const Y_" + std::to_string(i) + " Real)";
    box += "(assert (<= " + std::string(ends[i][0]) + " " + x + " " + ends[i][1] + "))";
  }
  return parse_property(text + box + "(assert (>= Y_0 " + threshold + "))", "p.vnnlib");
}

class NeuronDevice : public ::testing::Test {
 protected:
  NeuronDevice() {
    build::CompileOptions options = engine_request().compile;
    options.planner.method = Method::kCrown;
    options.spec = to_spec(property_);
    ImportedModel model = import_model(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
    const std::shared_ptr<const Lowered> lowered = build::run_planner(
        build::run_frontend({std::move(model.graph), model.info}, options), "network", options);
    verifier_ = {lowered->shared_plan(), engine::make_verifier(lowered, options, {}).host};
  }

  // Searches by turns until `is_enough`, for a minute at most.
  template <class Enough>
  void run_until(NeuronSearch& search, const Enough& is_enough) {
    SearchCalls calls;
    calls.prove = [](std::size_t, const std::vector<double>&) { return std::optional<Witness>(); };
    const system::Stopwatch stopwatch;
    while (stopwatch.seconds() < 60 && !is_enough() && !search.is_over())
      search.run(cases_, {0.2}, calls);
  }

  const Property property_ = hard_property();
  Cases cases_{property_};
  DecisionVerifier verifier_;
};

TEST_F(NeuronDevice, ThisProcessorGoesOnUntilItIsReady) {
  constexpr int kLater = 20;
  for (const std::size_t threads : {1, 3}) {
    std::atomic<int> asked = 0;
    NeuronSearch search(verifier_, cases_, threads, [&]() -> std::shared_ptr<NodeDevice> {
      if (asked++ < kLater) return nullptr;
      return std::make_shared<Idle>();
    });
    run_until(search, [&] { return search.totals().on_device > 0; });
    const SearchTotals totals = search.totals();
    EXPECT_GT(asked, kLater);
    EXPECT_GT(totals.on_device, 0u);
    EXPECT_GT(totals.nodes - totals.on_device, 512u) << "before it is asked for";
  }
}

TEST_F(NeuronDevice, WhatKeepsItFromBeingReadyEndsTheSearch) {
  int asked = 0;
  NeuronSearch search(verifier_, cases_, 1, [&]() -> std::shared_ptr<NodeDevice> {
    if (++asked > 2) fail("BF3342", "opencl:0", "refused");
    return nullptr;
  });
  EXPECT_THROW(run_until(search, [] { return false; }), CompileError);
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(search.state.open.empty()) << "the tree stays whole";
}

TEST_F(NeuronDevice, ThisProcessorGoesOnWhereTheNetworkDoesNotFit) {
  const auto device = std::make_shared<Narrow>();
  NeuronSearch search(verifier_, cases_, 1, [&] { return device; });
  run_until(search, [&] { return device->asked > 0; });
  const std::uint64_t before = search.totals().nodes;
  run_until(search, [&] { return search.totals().nodes > before + 100; });
  EXPECT_GT(device->asked, 0);
  EXPECT_GT(search.totals().nodes, before + 100);
  EXPECT_EQ(search.totals().on_device, 0u);
}

// The other thread's device is refused while this one's point is proven.
TEST_F(NeuronDevice, AProvenPointStandsWhateverKeepsItFromBeingReady) {
  const Property violated = hard_property("0");
  Cases cases(violated);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> asked = false, proven = false;
  NeuronSearch search(verifier_, cases, 2, [&]() -> std::shared_ptr<NodeDevice> {
    if (std::this_thread::get_id() == caller) return nullptr;
    asked = true;
    for (int i = 0; i < 30'000 && !proven; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    fail("BF3342", "opencl:0", "refused");
  });
  SearchCalls calls;
  calls.prove = [&](std::size_t, const std::vector<double>&) -> std::optional<Witness> {
    if (!asked) return std::nullopt;
    proven = true;
    return Witness();
  };
  std::optional<Witness> witness;
  for (int turn = 0; turn < 300 && !witness; ++turn) witness = search.run(cases, {0.2}, calls);
  EXPECT_TRUE(witness);
  EXPECT_TRUE(asked);
}

TEST_F(NeuronDevice, PartsBeginWithNodesOfNoDevice) {
  int asked = 0;
  NeuronSearch search(verifier_, cases_, 1, [&]() -> std::shared_ptr<NodeDevice> {
    ++asked;
    return std::make_shared<Idle>();
  });
  search.expand_in_breadth(800);
  EXPECT_GE(search.state.open.size(), 800u);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(search.totals().on_device, 0u);
}

}  // namespace
}  // namespace bf_aot::decide
