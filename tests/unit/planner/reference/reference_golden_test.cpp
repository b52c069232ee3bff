#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/reference/executor.h"
#include "tests/paths.h"

// The competition networks' plans, executed by reference, against bounds that another tool computed
// by the same method in double.
namespace bf_aot::reference {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<double>;

fs::path shared_folder() {
  const char* const shared = std::getenv("BF_SHARED");
  return shared != nullptr ? fs::path(shared) : fs::path(BF_SOURCE_DIR "/../shared");
}

struct Network {
  const char* name;
  const char* model;
  bool smooth;  // sigmoid or tanh: the tools' lines differ
  double most;  // width over the golden one's, largest of all outputs
};

// Among equal candidates of a maximum the other tool takes the first.
const Network kNetworks[] = {
    {"acasxu_1_1", "corpus/acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx", false, 1.0001},
    {"acasxu_5_7", "corpus/acasxu/onnx/ACASXU_run2a_5_7_batch_2000.onnx", false, 1.0001},
    {"cifar10_resnet_2b", "corpus/cifar10_resnet/onnx/resnet_2b.onnx", false, 1.0001},
    {"eran_sigmoid_6x200", "corpus/eran/onnx/ffnnSIGMOID__Point_6x200.onnx", true, 1.01},
    {"mnistfc_256x2", "corpus/mnist_fc_2021/onnx/mnist-net_256x2.onnx", false, 1.0001},
    {"oval21_base", "corpus/oval21_2021/onnx/cifar_base_kw.onnx", false, 1.0001},
    {"reach_vdp", "corpus/reach_prob_density/onnx/vdp.onnx", false, 1.0001},
    {"rl_cartpole", "corpus/rl_benchmarks/onnx/cartpole.onnx", false, 1.0001},
    {"rl_dubinsrejoin", "corpus/rl_benchmarks/onnx/dubinsrejoin.onnx", false, 1.0001},
    {"syn_conv_bn_avgpool", "golden/nets/syn_conv_bn_avgpool.onnx", false, 1.0001},
    {"syn_residual_fc", "golden/nets/syn_residual_fc.onnx", false, 1.0001},
    {"syn_tanh_fc", "golden/nets/syn_tanh_fc.onnx", true, 1.001},
    {"verivital_avgpool", "corpus/verivital/onnx/Convnet_avgpool.onnx", false, 1.0001},
    {"verivital_maxpool", "corpus/verivital/onnx/Convnet_maxpool.onnx", false, 1.01},
};

struct Case {
  Network network;
  Method method;
};

std::string key_of(const Case& c) {
  if (c.method == Method::kIbp) return "ibp";
  const std::string key = c.method == Method::kCrown ? "crown" : "crown_ibp";
  return c.network.smooth ? key + "_v071" : key;
}

Plan plan_of(const Case& c) {
  ImportedModel model = import_model(shared_folder() / c.network.model);
  normalise(model.graph);
  PlannerConfig config;
  config.method = c.method;
  config.target = find_target("x86-64-v3");
  return plan(model.graph, model.info, "model", false, config);
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, NoWider) {
  const Case& c = GetParam();
  std::ifstream file(shared_folder() / "golden" / (std::string(c.network.name) + ".json"));
  if (!file || !fs::exists(shared_folder() / c.network.model))
    GTEST_SKIP() << "no golden bounds: set BF_SHARED to the folder that holds golden/ and corpus/";
  const nlohmann::json golden = nlohmann::json::parse(file);
  const Plan plan = plan_of(c);
  double worst = 0, total = 0;
  int count = 0;
  for (const nlohmann::json& box : golden.at("boxes")) {
    const Bounds bounds = execute(plan, *plan.find_entry(EntryKind::kBounds),
                                  box.at("lower").get<Numbers>(), box.at("upper").get<Numbers>());
    const auto lower = box.at(key_of(c)).at("lower").get<Numbers>();
    const auto upper = box.at(key_of(c)).at("upper").get<Numbers>();
    const auto centre = box.at("forward").get<Numbers>();
    ASSERT_EQ(bounds.lower.size(), lower.size());
    for (std::size_t i = 0; i < lower.size(); ++i) {
      // The weights' last digits differ by folding.
      const double digits = 1e-6 * (1 + std::fabs(centre[i]));
      EXPECT_LE(bounds.lower[i], centre[i] + digits);
      EXPECT_GE(bounds.upper[i], centre[i] - digits);
      const double ratio = (bounds.upper[i] - bounds.lower[i]) / (upper[i] - lower[i] + digits);
      worst = std::max(worst, ratio);
      total += ratio;
      ++count;
    }
  }
  EXPECT_LE(worst, c.network.most);
  if (c.method == Method::kIbp) {
    EXPECT_GE(total / count, 0.9999);  // intervals are what they are
  }
  RecordProperty("mean", std::to_string(total / count));
  RecordProperty("worst", std::to_string(worst));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Network& network : kNetworks)
    for (Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown})
      cases.push_back({network, method});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Networks, Golden, testing::ValuesIn(all_cases()), [](const auto& test) {
  std::string name =
      std::string(test.param.network.name) + "_" + std::string(to_string(test.param.method));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace bf_aot::reference
