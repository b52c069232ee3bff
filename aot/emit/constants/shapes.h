#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::emit {

// The geometry of a convolution as a constant of the verifier; equal ones share it.
struct ConvShapeName {
  LayerId layer = 0;
  int term = 0;
  std::string name;  // "conv1_shape"
  const ConvGeometry* geometry = nullptr;
  bool repeated = false;  // an earlier term has the same
};

std::vector<ConvShapeName> conv_shapes(const Plan& plan);

// The name of a shape, with its inputs or outputs pixel by pixel if `shape` says so: "conv1_shape",
// "conv1_shape_pixels", ...
std::string shape_name(const std::string& name, const calls::Shape& shape);

// Initialisers of an extent, "{8, 8, 1}", and of strides, "{offset, batch, channel, {..}}".
std::string extent_literal(const Extent& sizes);
std::string strides_literal(const ImageLayout& image);

// Names of the constants that give the plan's functions and max groups to the runtime: "f_sigmoid",
// "pool1_groups".
std::string function_table_name(const Plan& plan, const calls::FunctionOf& function);
std::string max_groups_name(const Layer& layer);

// The definition of a shape, and of shape_name(name, shape) where that is another name.
std::string emit_conv_shape(const std::string& name, const ConvGeometry& geometry,
                            const calls::Shape& shape);

// Definitions of all constants that the programs of the plan's entries name.
std::string emit_conv_shapes(const Plan& plan, const std::vector<calls::Program>& programs);
std::string emit_max_groups(const Plan& plan, const std::vector<calls::Program>& programs);
std::string emit_function_tables(const Plan& plan, const std::vector<calls::Program>& programs);

}  // namespace bf_aot::emit
