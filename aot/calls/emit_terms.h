#pragma once

#include <compare>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// The geometry of a convolution as a constant of the verifier; equal ones share it.
struct ConvShapeName {
  int layer = 0;
  int term = 0;
  std::string name;  // "conv1_shape"
  const ConvGeometry* geometry = nullptr;
  bool repeated = false;  // of an earlier term
};

std::vector<ConvShapeName> conv_shapes(const Plan& plan);

// Whether coefficients over a convolution's inputs and outputs lie pixel by pixel in rows of a
// step. start: of the first coefficients, whose outputs are neurons.
struct RowsOrder {
  bool in = false, out = false;
  auto operator<=>(const RowsOrder&) const = default;
};

RowsOrder rows_order(const Plan& plan, const BackwardRows& step, int layer, int term, bool start);

// "conv1_shape", "conv1_shape_pixels", ...
std::string rows_shape_name(const std::string& shape, RowsOrder order);

// Their definitions, and of what rows make of them.
std::string emit_conv_shapes(const Plan& plan);

// And those of maxima whose groups have one form.
std::string emit_max_groups(const Plan& plan);

// "{8, 8, 1}" and "{offset, batch, channel, {..}}".
std::string extent_literal(const Extent& sizes);
std::string strides_literal(const ImageLayout& image);

// The constant that shows a function of the plan to the runtime, "f_sigmoid", and the definitions
// of all.
std::string function_table_name(const Plan& plan, const Function& function);
std::string emit_function_tables(const Plan& plan);

// The runtime's headers that the plan's steps need besides bounds.h, one #include a line.
std::string runtime_includes(const Plan& plan);

}  // namespace bf_aot
