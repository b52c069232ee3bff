#include "bench/kernel_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "aot/cli/cache.h"
#include "aot/cli/library.h"
#include "aot/emit.h"
#include "aot/kernels/kernels.h"
#include "frontend/graph.h"
#include "frontend/sha256.h"
#include "planner/planner.h"

namespace bf::bench {
namespace {

constexpr char kStem[] = "kernels";

// Floats, so that no residual table is needed.
Affine random_affine(int in, int out, std::mt19937& random) {
  std::normal_distribution<float> normal(0, 0.1f);
  Affine made;
  made.weight.shape = {out, in};
  made.bias.shape = {out};
  for (int i = 0; i < in * out; ++i) made.weight.data.push_back(normal(random));
  for (int i = 0; i < out; ++i) made.bias.data.push_back(normal(random));
  return made;
}

// "void NAME(type name, ...)" in the kernel's text.
std::vector<Parameter> parameters_of(const Kernel& kernel, const std::string& text) {
  const std::string head = fmt::format("BF_KERNEL {}(", kernel.function);
  const std::size_t begin = text.find(head) + head.size();
  std::string list = text.substr(begin, text.find(')', begin) - begin) + ",";
  std::vector<Parameter> parameters;
  for (std::size_t comma = list.find(','); comma != std::string::npos; comma = list.find(',')) {
    std::string one = list.substr(0, comma);
    one.erase(0, one.find_first_not_of(" \n"));
    list.erase(0, comma + 1);
    const std::size_t space = one.rfind(' ');
    Parameter made{one.substr(0, space), one.substr(space + 1)};
    if (const std::size_t at = made.type.find(" BF_RESTRICT"); at != std::string::npos)
      made.type.erase(at);
    parameters.push_back(std::move(made));
  }
  return parameters;
}

// Kernels have internal linkage; the wrapper takes all arguments as pointers.
std::string wrapper(const LoadedKernel& loaded) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < loaded.parameters.size(); ++i) {
    const std::string& type = loaded.parameters[i].type;
    const bool pointer = type.ends_with('*');
    arguments.push_back(pointer ? fmt::format("static_cast<{}>(arguments[{}])", type, i)
                                : fmt::format("*static_cast<const {}*>(arguments[{}])", type, i));
  }
  return fmt::format("extern \"C\" void run_{0}(void* const* arguments) {{\n  {0}({1});\n}}\n",
                     loaded.kernel.function, fmt::join(arguments, ",\n      "));
}

std::filesystem::path compile(const std::string& source, const Target& target) {
  namespace fs = std::filesystem;
  const cli::Toolchain toolchain = cli::find_toolchain({}, target);
  const std::string key =
      sha256(fmt::format("{}\n{}\n{}\n{}", toolchain.compiler[0], toolchain.version,
                         fmt::join(toolchain.flags, " "), source));
  const fs::path folder = cli::cache_folder() / ("bench-" + key);
  const fs::path library = folder / (std::string(kStem) + ".so");
  if (fs::exists(library)) return library;
  fs::create_directories(folder);
  std::ofstream(folder / (std::string(kStem) + ".cpp")) << source;
  cli::build_shared(toolchain, folder, kStem, {{".cpp", source}});
  return library;
}

}  // namespace

Plan plan_around_layer(Method method, int in, int out, int row_tile) {
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
  config.target = find_target("host");
  config.row_tile = row_tile;
  const ModelInfo model{"bench.onnx", std::string(64, '0'), "bench", 8, 13};
  return plan(graph, model, "bench", false, config);
}

void KernelLibrary::Close::operator()(void* library) const {
  dlclose(library);
}

KernelLibrary::KernelLibrary(const std::vector<Kernel>& kernels) {
  loop::VectorTypes types;
  std::string body, wrappers;
  for (const Kernel& kernel : kernels) {
    const std::string text = print_kernel(kernel, types);
    body += text + "\n";
    kernels_.push_back({kernel, parameters_of(kernel, text), nullptr});
    wrappers += wrapper(kernels_.back());
  }
  const Plan frame = plan_around_layer(Method::kIbp, 4, 4, 0);
  const std::string source = "#include <cstddef>\n#include <cstdint>\n\n" +
                             emit_prelude(frame, types) + body + "}  // namespace\n\n" + wrappers;
  library_.reset(dlopen(compile(source, frame.config.target).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  for (LoadedKernel& loaded : kernels_) {
    void* symbol = dlsym(library_.get(), ("run_" + loaded.kernel.function).c_str());
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    loaded.run = reinterpret_cast<void (*)(void* const*)>(symbol);
  }
}

}  // namespace bf::bench
