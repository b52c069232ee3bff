#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/graph.h"

// Rewrites of convolutions that stay convolutions. Errors and BF2005 as in affine_algebra.h.

namespace bf_aot {

// The layout in which element e of the tensor has become element moved[e], when it is one.
std::optional<ImageLayout> moved_layout(const ImageLayout& layout, std::int64_t batch,
                                        std::int64_t channels, const Extent& size,
                                        const std::vector<std::int64_t>& moved);

// The convolution that makes (out) or reads (else) the moved tensor. Elements that are dropped have
// moved to -1: those that are left must be a box of positions, from the first on, of all channels,
// and no tap may read what is dropped.
std::optional<ConvGeometry> moved_geometry(const ConvGeometry& geometry, bool out,
                                           const std::vector<std::int64_t>& moved);

// A convolution and what of its offset differs between the positions of a channel: y = conv x +
// rest.
struct OffsetConv {
  Conv conv;
  std::optional<Constant> rest;  // of the output, flat; conv's own bias is 0 then
};

// outer(conv(x)), when the factor is one number for each channel.
std::optional<OffsetConv> compose(const Scale& outer, const Conv& inner, std::string_view where);

// conv(inner(x)), when the factor is one number for each channel.
std::optional<OffsetConv> compose(const Conv& outer, const Scale& inner, std::string_view where);

// conv(inner(x)), when inner puts x into a box of channels and positions of an image that is 0
// elsewhere: padding, and each of the parts of a concatenation of channels.
std::optional<Conv> absorb_placement(const Conv& outer, const SparseAffine& inner,
                                     std::int64_t in_count);

// outer(conv(x)), when outer mixes the channels of each pixel, alike at all pixels, as differences
// of two classes do. Its rows may be in any order that strides enumerate.
std::optional<Conv> compose(const SparseAffine& outer, const Conv& inner, std::string_view where);

}  // namespace bf_aot
