#pragma once

#include <optional>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// The tensors whose coefficients go by windows of pixels: sums and the network's input that
// convolutions and identities alone read, all as one and the same image; of a layer without a
// window, its convolutions read the whole image. The rows' own layer comes first, when it has
// neurons in an image, then the others in falling order. Empty for rows that choose slopes: they
// walk forward through tensors in the order of their elements.
std::vector<RowImage> row_images(const Plan& plan, const BackwardRows& step);

bool is_identity(const LinearMap& map);

// The images that a convolution reads and makes.
RowImage image_read(const ConvGeometry& geometry, LayerId tensor);
RowImage image_made(const ConvGeometry& geometry, LayerId tensor);

// The image that all convolutions of a layer make; null where they do not agree, or there are none.
std::optional<RowImage> image_made(const Layer& layer, LayerId tensor);

}  // namespace bf_aot
