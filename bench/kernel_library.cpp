#include "bench/kernel_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "aot/build/cache.h"
#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "frontend/graph/graph.h"
#include "frontend/sha256.h"
#include "planner/planner.h"

namespace bf_aot::bench {
namespace {

constexpr char kStem[] = "kernels";

// Weights are floats, so that no residual table is needed.
Affine random_affine(int in, int out, std::mt19937& random) {
  std::normal_distribution<float> normal(0, 0.1f);
  Affine made;
  made.weight.shape = {out, in};
  made.bias.shape = {out};
  for (int i = 0; i < in * out; ++i) made.weight.data.push_back(normal(random));
  for (int i = 0; i < out; ++i) made.bias.data.push_back(normal(random));
  return made;
}

std::filesystem::path compile(const std::string& source, const Target& target) {
  namespace fs = std::filesystem;
  const build::Toolchain toolchain = build::find_toolchain({}, target);
  const std::string key =
      sha256(fmt::format("{}\n{}\n{}\n{}", toolchain.compiler[0], toolchain.version,
                         fmt::join(toolchain.flags, " "), source));
  const fs::path folder = build::cache_folder() / ("bench-" + key);
  const fs::path library = folder / (std::string(kStem) + ".so");
  if (fs::exists(library)) return library;
  fs::create_directories(folder);
  std::ofstream(folder / (std::string(kStem) + ".cpp")) << source;
  build::build_shared(toolchain, folder, kStem, {{".cpp", source}});
  return library;
}

}  // namespace

Plan plan_around_layer(const Target& target, Method method, int in, int out, int row_tile,
                       int batch) {
  constexpr int kHidden = 64, kOutputs = 5;
  std::mt19937 random(1);
  Graph graph;
  ValueId value = graph.add_value("x", {1, in});
  graph.inputs = {value};
  const auto append = [&](const std::string& name, Op op, int count) {
    const ValueId made = graph.add_value(name, {1, count});
    graph.nodes.push_back({std::move(op), {value}, made, name});
    value = made;
  };
  append("layer", random_affine(in, out, random), out);
  append("layer_relu", Relu{}, out);
  append("hidden", random_affine(out, kHidden, random), kHidden);
  append("hidden_relu", Relu{}, kHidden);
  append("deep", random_affine(kHidden, kHidden, random), kHidden);
  append("deep_relu", Relu{}, kHidden);
  append("outputs", random_affine(kHidden, kOutputs, random), kOutputs);
  graph.outputs = {value};
  PlannerConfig config;
  config.method = method;
  config.target = target;
  config.row_tile = row_tile;
  config.batch = batch;
  const ModelInfo model{"bench.onnx", std::string(64, '0'), "bench", 8, 13};
  return plan(graph, model, "bench", false, config);
}

apps::KernelLibrary load_kernels(const Target& target, const std::vector<Kernel>& kernels,
                                 const apps::PrintKernel& print) {
  const apps::KernelSource source = apps::kernel_source(kernels, target, print);
  return apps::KernelLibrary(compile(source.text, target), source);
}

}  // namespace bf_aot::bench
