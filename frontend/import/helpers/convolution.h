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

// Images [batch, ..., channels] of attribute 'channels_last' as [batch, channels, ...], and back.
// Throws: BF1014 where x has no channels.
ValueId add_channels_first(NodeImport& node, ValueId x);
ValueId add_channels_last(NodeImport& node, ValueId x);

}  // namespace bf_aot
