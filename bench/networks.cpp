#include "bench/networks.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "aot/system/process.h"
#include "frontend/diagnostic.h"

namespace bf_aot::bench {
namespace {

namespace fs = std::filesystem;

struct SharedModel {
  const char* name;   // of its golden file
  const char* model;  // in the corpus, perhaps with .gz
  bool dense = true;
};

constexpr SharedModel kShared[] = {
    {"acasxu_1_1", "acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx"},
    {"mnistfc_256x2", "mnist_fc/onnx/mnist-net_256x2.onnx"},
    {"mnistfc_256x4", "mnist_fc/onnx/mnist-net_256x4.onnx"},
    {"rl_cartpole", "rl_benchmarks/onnx/cartpole.onnx"},
    {"rl_dubinsrejoin", "rl_benchmarks/onnx/dubinsrejoin.onnx"},
    {"reach_vdp", "reach_prob_density/onnx/vdp.onnx"},
    {"tll_N8", "tllverifybench/onnx/tllBench_n=2_N=M=8_m=1_instance_0_0.onnx", false},
    {"oval21_base", "oval21_2021/onnx/cifar_base_kw.onnx", false},
    {"verivital_avgpool", "verivital/onnx/Convnet_avgpool.onnx", false},
    {"verivital_maxpool", "verivital/onnx/Convnet_maxpool.onnx", false},
    {"cifar10_resnet_2b", "cifar10_resnet/onnx/resnet_2b.onnx", false}};

fs::path shared_folder() {
  const char* named = std::getenv("BF_SHARED");
  return named != nullptr ? fs::path(named) : fs::path(BF_SOURCE_DIR).parent_path() / "shared";
}

fs::path temporary_folder() {
  std::string pattern = (fs::temp_directory_path() / "bf-bench-XXXXXX").string();
  BF_CHECK(mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

}  // namespace

Networks::Networks() : unpacked_(temporary_folder()) {
  add_own();
  add_shared();
}

Networks::~Networks() {
  std::error_code ignored;
  fs::remove_all(unpacked_, ignored);
}

void Networks::add_own() {
  const fs::path folder = fs::path(BF_SOURCE_DIR) / "models";
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    const fs::path golden = folder / "golden" / (name + ".json");
    if (entry.path().extension() == ".onnx" && fs::exists(golden))
      all_.push_back({name, entry.path(), golden});
  }
  std::ranges::sort(all_, {}, &Network::name);
}

void Networks::add_shared() {
  const fs::path folder = shared_folder();
  for (const SharedModel& shared : kShared) {
    const fs::path golden = folder / "golden" / (std::string(shared.name) + ".json");
    fs::path model = folder / "corpus" / shared.model;
    const fs::path packed = model.string() + ".gz";
    if (!fs::exists(golden)) continue;
    if (!fs::exists(model) && fs::exists(packed)) {
      const auto gzip = system::find_program("gzip");
      if (!gzip) continue;
      const system::ProcessResult result = system::run_process({*gzip, "-dc", packed.string()});
      if (result.exit_code != 0) continue;
      model = unpacked_ / model.filename();
      std::ofstream(model, std::ios::binary) << result.output;
    }
    if (fs::exists(model)) all_.push_back({shared.name, model, golden, shared.dense});
  }
}

namespace {

double peer(const char* section, const std::string& network, const std::string& method) {
  static const nlohmann::json file = [] {
    std::ifstream in(fs::path(BF_SOURCE_DIR) / "bench" / "peer_times.json");
    return nlohmann::json::parse(in);
  }();
  const nlohmann::json& table = file.at(section);
  return table.contains(network) ? table.at(network).value(method, 0.0) * 1e6 : 0.0;
}

}  // namespace

double peer_nanoseconds(const std::string& network, const std::string& method) {
  return peer("milliseconds", network, method);
}

double peer_batch_nanoseconds(const std::string& network, const std::string& method) {
  return peer("milliseconds_of_64_boxes", network, method);
}

}  // namespace bf_aot::bench
