// Nodes of neuron splits whose choices and splits a device proposes. Whatever it gives, no node is
// closed that holds a violation, at exact points of random networks. A device that computes
// proposes about what lanes do: its source is compiled as C++ under sanitizers, the items of a
// group as threads, and by PoCL where it is installed. BF_SEED=n repeats a run, BF_ROUNDS=n takes n
// times as many.

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "aot/build/device/device.h"
#include "aot/decide/neurons/device/kernel_device.h"
#include "aot/decide/neurons/node_state.h"
#include "aot/decide/neurons/splitter.h"
#include "aot/system/process.h"
#include "tests/paths.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/on_device.h"
#include "tests/soundness/split_nets.h"
#include "tests/soundness/split_proofs.h"

namespace bf_aot::soundness {
namespace {

using decide::BoxNetwork;
using decide::ClauseTerm;
using decide::FlatNetwork;
using decide::FlatShape;
using decide::kLanes;
using decide::NeuronRange;
using decide::NeuronSplit;
using decide::NodeArrays;
using decide::NodeDevice;
using decide::SplitNode;
using decide::SplitResult;

// Gives numbers of all kinds, whatever is asked.
class Babbler final : public NodeDevice {
 public:
  Babbler(Random& random, int kind) : random_(random), kind_(kind) {}

  bool fits(const FlatShape& /*network*/) const override { return true; }
  std::size_t together(const FlatShape& /*network*/) const override { return 256; }
  void call(Entry /*entry*/, const std::shared_ptr<const FlatNetwork>& network,
            std::span<const std::byte> /*clause*/, std::size_t /*groups*/, NodeArrays& nodes,
            const std::function<void()>& /*pause*/) override {
    ++calls;
    for (auto* const array : {&nodes.choices, &nodes.made, &nodes.gains})
      for (float& each : *array) each = number(network->open);
  }

  int calls = 0;

 private:
  float number(std::size_t open) {
    constexpr float kAll = std::numeric_limits<float>::infinity();
    switch (kind_ < 4 ? kind_ : pick(random_, 0, 3)) {
      case 0:  // any bits
        return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
      case 1:
        return pick(random_, 0, 1) == 1 ? std::numeric_limits<float>::quiet_NaN() : kAll;
      case 2:  // of the range that choices have
        return std::ldexp(static_cast<float>(pick(random_, 0, 1 << 10)), -10);
      default:  // candidates, and some that are none
        return static_cast<float>(pick(random_, -1, static_cast<int>(open)));
    }
  }

  Random& random_;
  const int kind_;
};

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// The entry points as a program of this machine, with these sanitizers.
class Threads final : public NodeDevice {
 public:
  Threads(int items, const std::string& sanitizers) : items_(items) {
    std::ofstream(folder_.path() / "nodes.cl", std::ios::binary)
        << build::device_kernels_text(Language::kOpenCl, items, "bf/c/nodes/lanes.h");
    run({system::find_program("g++").value(), "-std=c++20", "-O1", "-g0", "-w", "-pthread",
         "-fsanitize=" + sanitizers, "-fno-sanitize-recover=all", "-DWORDS_SOURCE=\"nodes.cl\"",
         fmt::format("-DWORDS_ITEMS={}", items), "-I.", "-I" BF_SOURCE_DIR,
         BF_SOURCE_DIR "/tests/soundness/node_threads.cpp", "-o", "nodes"});
  }

  bool fits(const FlatShape& /*network*/) const override { return true; }
  std::size_t together(const FlatShape& /*network*/) const override { return 256; }
  void call(Entry entry, const std::shared_ptr<const FlatNetwork>& network,
            std::span<const std::byte> clause, std::size_t groups, NodeArrays& nodes,
            const std::function<void()>& /*pause*/) override {
    write_file(folder_.path() / "network", network->bytes);
    write_file(folder_.path() / "clause", clause);
    write_file(folder_.path() / "choices", std::as_bytes(std::span(nodes.choices)));
    write_file(folder_.path() / "ranges", std::as_bytes(std::span(nodes.ranges)));
    run({(folder_.path() / "nodes").string(), entry == Entry::kAscend ? "ascend" : "look",
         fmt::to_string(groups), fmt::to_string(network->arena(static_cast<std::size_t>(items_))),
         fmt::to_string(nodes.made.size() / groups), fmt::to_string(nodes.gains.size() / groups)});
    read("choices", nodes.choices);
    read("made", nodes.made);
    read("gains", nodes.gains);
  }

 private:
  void run(const std::vector<std::string>& command) {
    const system::ProcessResult result = system::run_process(command, folder_.path());
    ASSERT_EQ(result.exit_code, 0) << result.errors.substr(0, 4000);
  }
  void read(const char* name, std::vector<float>& to) {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    file.read(reinterpret_cast<char*>(to.data()),
              static_cast<std::streamsize>(to.size() * sizeof(float)));
    ASSERT_TRUE(file.good());
  }

  const int items_;
  const TemporaryFolder folder_;
};

struct Subject {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const BoxNetwork> network;
  std::shared_ptr<const FlatNetwork> flat;
};

class NodesOnDevices : public SplitTest {
 protected:
  static constexpr std::size_t kNodes = 5 * kLanes + 3;

  std::optional<Subject> subject_of(const SplitCase& one) {
    Graph graph = to_graph(one.net, one.form);
    graph.outputs.push_back(graph.outputs.front());  // the rows that conditions speak of
    Subject made;
    made.plan = plan_for_engine(graph, true,
                                planner_config(Method::kCrown, Lowering::kPrebuilt, one.target));
    made.network = network_on(made.plan, one.box);
    if (made.network == nullptr || made.network->functions() > 0) return std::nullopt;
    const std::optional<FlatShape> shape = decide::flat_shape(*made.network);
    if (!shape) return std::nullopt;
    made.flat = std::make_shared<const FlatNetwork>(decide::flat_network(*made.network));
    EXPECT_EQ(made.flat->bytes.size(), shape->byte_count);
    return made;
  }

  // Nodes that split about a share of the open neurons.
  std::vector<SplitNode> random_nodes(const SplitNode& root, std::size_t count) {
    std::vector<SplitNode> nodes;
    for (std::size_t n = 0; n < count; ++n) {
      SplitNode node = root;
      const int share = pick(random_, 0, 60);
      for (std::size_t i = 0; i < root.slopes.size(); ++i) {
        if (pick(random_, 0, 99) >= share) continue;
        node.splits.push_back({static_cast<std::uint32_t>(i), pick(random_, 0, 1) == 1, 0, 0});
        ++node.depth;
      }
      node.depth = std::max(node.depth, 1U);
      node.tightened = node.depth;
      nodes.push_back(std::move(node));
    }
    return nodes;
  }
};

// Where an open neuron's z lies at a point.
class ExactNeurons {
 public:
  ExactNeurons(const BoxNetwork& network, const Net& net, const Numbers& x)
      : network_(network), values_(values_of(net, x)) {}

  bool is_in(const SplitNode& node) const {
    return std::ranges::all_of(node.splits,
                               [&](const NeuronSplit& split) {
                                 return split.positive ? z(split.open) >= 0 : z(split.open) <= 0;
                               }) &&
           std::ranges::all_of(node.ranges, [&](const NeuronRange& range) {
             return (std::isinf(range.lower) || exact(range.lower) <= z(range.open)) &&
                    (std::isinf(range.upper) || z(range.open) <= exact(range.upper));
           });
  }
  const mpq_class& row(std::size_t index) const { return values_.back()[index]; }

 private:
  const mpq_class& z(std::uint32_t open) const {
    const auto [layer, place] = network_.place_of(open);
    const auto at = static_cast<std::size_t>(layer);
    return values_[at][static_cast<std::size_t>(
        network_.layers()[at].neurons[static_cast<std::size_t>(place)])];
  }

  const BoxNetwork& network_;
  const std::vector<std::vector<mpq_class>> values_;
};

TEST_F(NodesOnDevices, NoProposalClosesAViolation) {
  int closed = 0, inside = 0;
  std::ptrdiff_t most_points = 0;
  for_each_case(30, [&](const SplitCase& one) {
    const auto subject = subject_of(one);
    // Hidden layers of the plan are the net's, in order.
    if (!subject || subject->plan->layers.size() < one.net.layers.size()) return false;
    const BoxNetwork& network = *subject->network;
    const ExactNeurons point(network, one.net, point_of(one.box, random_));
    // A term that the point violates, by little.
    const int row = pick(random_, 0, static_cast<int>(network.rows().size()) - 1);
    const float sign = pick(random_, 0, 1) == 1 ? 1 : -1;
    const double at = point.row(static_cast<std::size_t>(row)).get_d();
    const std::vector<ClauseTerm> terms = {
        {row, sign, at + static_cast<double>(sign) * (std::fabs(at) + 1) * 0x1p-12}};
    if (!(exact(sign) * (point.row(static_cast<std::size_t>(row)) - exact(terms[0].threshold)) < 0))
      return false;
    Babbler babbler(random_, one.number % 5);
    decide::NeuronPlanes planes(network);
    decide::NodeSplitter splitter(network, terms, {}, 1, &planes,
                                  std::make_unique<decide::DeviceNodes>(babbler, subject->flat));
    if (splitter.propagates()) return false;
    std::vector<SplitNode> nodes = random_nodes(splitter.root(), kNodes);
    const std::vector<SplitNode> before = nodes;
    std::vector<SplitResult> results;
    splitter.expand(nodes, results);
    EXPECT_GT(babbler.calls, 0);
    EXPECT_EQ(splitter.device_nodes(), kNodes);
    const auto points = std::ranges::count_if(
        results, [](const SplitResult& each) { return each.point && each.halves; });
    EXPECT_LE(points, 16) << "each takes exact evaluations";
    most_points = std::max<std::ptrdiff_t>(most_points, points);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      closed += results[n].closed ? 1 : 0;
      if (const auto& halves = results[n].halves)
        for (const SplitNode* half : {&halves->first, &halves->second}) {
          EXPECT_GT(half->splits.size(), before[n].splits.size());
          const decide::NodeShape shape{network.is_function(), 0, terms.size(), 0};
          EXPECT_STREQ(decide::node_fault({0, half->depth, decide::state_of(*half)}, shape),
                       nullptr);
        }
      if (!point.is_in(before[n])) continue;
      ++inside;
      EXPECT_FALSE(results[n].closed) << "a node with a violation";
      if (const auto& halves = results[n].halves) {
        EXPECT_TRUE(point.is_in(halves->first) || point.is_in(halves->second));
      }
    }
    return true;
  });
  EXPECT_GT(closed, 10) << "proofs had nothing to do";
  EXPECT_GT(inside, 50);
  EXPECT_EQ(most_points, 16) << "the limit had nothing to do";
}

// A device and lanes bound and split the same nodes.
struct Agreement {
  int nodes = 0, bounds = 0, splits = 0;
};

void compare(const Subject& subject, NodeDevice& device, const std::vector<ClauseTerm>& terms,
             const std::vector<SplitNode>& nodes, Agreement& made) {
  decide::SplitSettings settings;
  settings.most_steps = 10;
  settings.more_steps = 4;
  decide::NodeSplitter here(*subject.network, terms, settings);
  decide::NodeSplitter there(*subject.network, terms, settings, 1, nullptr,
                             std::make_unique<decide::DeviceNodes>(device, subject.flat));
  std::vector<SplitNode> of_lanes = nodes, of_device = nodes;
  std::vector<SplitResult> by_lanes, by_device;
  here.expand(of_lanes, by_lanes);
  there.expand(of_device, by_device);
  ASSERT_EQ(there.device_nodes(), nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const float a = of_lanes[n].bound, b = of_device[n].bound;
    if (!(std::fabs(a) < 1e30F)) continue;  // an overflow
    ++made.nodes;
    made.bounds += std::fabs(a - b) <= 1e-3F * (std::fabs(a) + std::fabs(b)) + 1e-6F ? 1 : 0;
    const auto split_of = [](const SplitResult& result) {
      return result.halves ? static_cast<int>(result.halves->first.splits.back().open)
                           : (result.closed ? -1 : -2);
    };
    made.splits += split_of(by_lanes[n]) == split_of(by_device[n]) ? 1 : 0;
  }
}

class NodeKernels : public NodesOnDevices {
 protected:
  void expect_agreement(int count, NodeDevice& device) {
    Agreement made;
    for_each_case(count, [&](const SplitCase& one) {
      const auto subject = subject_of(one);
      if (!subject) return false;
      const auto rows = static_cast<int>(subject->network->rows().size());
      std::vector<ClauseTerm> terms;
      for (int t = pick(random_, 1, 3); t > 0; --t)
        terms.push_back({pick(random_, 0, rows - 1), pick(random_, 0, 1) == 1 ? 1.0F : -1.0F,
                         static_cast<double>(pick(random_, -8, 8)) / 16});
      const decide::NodeSplitter splitter(*subject->network, terms);
      if (splitter.propagates()) return false;
      // The nodes go in one call. A device takes few at first, and more after short calls.
      const std::size_t asked = std::min<std::size_t>(kNodes, device.together(*subject->flat));
      compare(*subject, device, terms, random_nodes(splitter.root(), asked), made);
      return true;
    });
    EXPECT_GT(made.bounds, made.nodes * 19 / 20) << "of " << made.nodes;
    EXPECT_GT(made.splits, made.nodes * 9 / 10) << "of " << made.nodes;
  }
};

TEST_F(NodeKernels, OneItemDoesAsLanesDo) {
  if (!has_compiler("g++")) GTEST_SKIP() << "g++ is not installed";
  Threads device(1, "address,undefined");
  expect_agreement(6, device);
}

TEST_F(NodeKernels, ItemsShareNodes) {
  if (!has_compiler("g++")) GTEST_SKIP() << "g++ is not installed";
  Threads device(32, "thread");
  expect_agreement(2, device);
}

TEST(NodeSource, IsCudaWithoutWarnings) {
  auto nvcc = system::find_program("nvcc");
  if (!nvcc && std::filesystem::exists("/usr/local/cuda/bin/nvcc"))
    nvcc = "/usr/local/cuda/bin/nvcc";
  if (!nvcc) GTEST_SKIP() << "no nvcc";
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "nodes.cu", std::ios::binary)
      << build::device_kernels_text(Language::kCuda, 128, "bf/c/nodes/lanes.h");
  const system::ProcessResult made =
      system::run_process({*nvcc, "-arch=sm_90", "-std=c++17", "-Werror", "all-warnings", "-cubin",
                           "-o", "nodes.cubin", "nodes.cu"},
                          folder.path());
  EXPECT_EQ(made.exit_code, 0) << made.errors.substr(0, 4000);
}

TEST_F(NodeKernels, AnOpenClDeviceDoesAsLanesDo) {
  if (const auto missing = missing_device())
    GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd makes one): " << *missing;
  decide::KernelDevice device({"opencl", 0});
  expect_agreement(20, device);
}

}  // namespace
}  // namespace bf_aot::soundness
