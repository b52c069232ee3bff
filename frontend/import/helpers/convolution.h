#pragma once

#include "frontend/graph/graph.h"
#include "frontend/import/file/node_import.h"

namespace bf_aot {

struct ConvShape {
  ConvGeometry geometry;
  Shape output;
};

// Reads the shape of the convolution that a Conv, ConvInteger or QLinearConv node computes on an
// input and weights of these shapes. Throws: BF1005, BF1012, BF1014.
ConvShape read_convolution(const NodeImport& node, const Shape& input, const Shape& weight);

}  // namespace bf_aot
