#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aot/emit/kernels/kernels.h"
#include "planner/plan/plan.h"

namespace bf_aot::apps {

// Single kernels of a plan, to be measured apart from the verifier.

// A kernel's parameter as it stands in its signature: "const float* BF_RESTRICT weight".
struct Parameter {
  std::string type;  // "const float*", "float"
  std::string name;
};

struct LoadedKernel {
  Kernel kernel;
  std::vector<Parameter> parameters;
  void (*run)(void* const* arguments) = nullptr;  // one pointer each; a scalar's points to a float
};

// A translation unit with printed kernels, whose functions have different names, and functions that
// call them. `run` of its kernels is null.
struct KernelSource {
  std::string text;
  std::vector<LoadedKernel> kernels;
};
using PrintKernel = std::function<std::string(const Kernel&, loop::Needs&)>;
inline std::string print_in_cpp(const Kernel& kernel, loop::Needs& needs) {
  return emit::print_kernel(kernel, needs);
}
KernelSource kernel_source(const std::vector<Kernel>& kernels, const Target& target,
                           const PrintKernel& print = print_in_cpp);

// A unit that is compiled to a shared object and loaded into this process.
class KernelLibrary {
 public:
  // Throws: BF3305 when it cannot be loaded.
  KernelLibrary(const std::filesystem::path& library, const KernelSource& source);
  const std::vector<LoadedKernel>& kernels() const { return kernels_; }

 private:
  struct Close {
    void operator()(void* library) const;
  };

  std::unique_ptr<void, Close> library_;
  std::vector<LoadedKernel> kernels_;
};

}  // namespace bf_aot::apps
