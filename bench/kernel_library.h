#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planner/plan.h"

namespace bf::bench {

// A kernel's parameter as it stands in its signature: "const float* BF_RESTRICT weight".
struct Parameter {
  std::string type;  // "const float*", "float"
  std::string name;
};

// A printed kernel, compiled for this machine and loaded into this process.
struct LoadedKernel {
  Kernel kernel;
  std::vector<Parameter> parameters;
  void (*run)(void* const* arguments) = nullptr;  // pointers; those of scalars point to a float
};

// Kernels of the layer in x out, as the planner schedules them for this machine: of the method's
// forward pass, and the backward products that pass through the layer, `row_tile` rows at a time
// (0: as the planner chooses). The layer is followed by two small ones and the outputs, so that
// both products occur: of hidden rows, and of outputs behind several layers.
Plan plan_around_layer(Method method, int in, int out, int row_tile);

// Compiles all kernels in one translation unit, with the compiler that a user would get, into the
// cache of compiled verifiers.
class KernelLibrary {
 public:
  explicit KernelLibrary(const std::vector<Kernel>& kernels);
  const std::vector<LoadedKernel>& kernels() const { return kernels_; }

 private:
  struct Close {
    void operator()(void* library) const;
  };

  std::unique_ptr<void, Close> library_;
  std::vector<LoadedKernel> kernels_;
};

}  // namespace bf::bench
