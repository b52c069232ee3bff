#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace bf {

// The geometry of a convolution as a constant of the verifier; equal ones share it.
struct ConvShapeName {
  int layer = 0;
  int term = 0;
  std::string name;  // "conv1_shape"
  const ConvGeometry* geometry = nullptr;
  bool repeated = false;  // of an earlier term
};

std::vector<ConvShapeName> conv_shapes(const Plan& plan);

// Their definitions.
std::string emit_conv_shapes(const Plan& plan);

// The constant that shows a function of the plan to the runtime, "f_sigmoid", and the definitions
// of all.
std::string function_table_name(const Plan& plan, const Function& function);
std::string emit_function_tables(const Plan& plan);

// The runtime's headers that the plan's steps need besides bounds.h, one #include a line.
std::string runtime_includes(const Plan& plan);

}  // namespace bf
