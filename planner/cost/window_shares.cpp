#include "planner/cost/window_shares.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/entries/row_images.h"

namespace bf_aot {
namespace {

using Window = std::array<double, 3>;  // positions in each dimension, borders not regarded

Window whole(const Extent& size) {
  return {static_cast<double>(size[0]), static_cast<double>(size[1]), static_cast<double>(size[2])};
}

Window own_window(const RowImage& image, int pairs) {
  const double pixels = std::max(
      1.0, static_cast<double>(pairs) / std::max(1.0, 0.5 * static_cast<double>(image.channels)));
  Window window = {};
  for (std::size_t d = 0; d < 3; ++d)
    window[d] = std::min(static_cast<double>(image.size[d]), std::sqrt(pixels));
  return window;
}

Window read_window(const ConvGeometry& g, const Window& out) {
  Window in = {};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto reach = static_cast<double>((g.kernel[d] - 1) * g.dilation[d]);
    const auto stride = static_cast<double>(g.stride[d]);
    in[d] = g.transposed ? (out[d] + reach) / stride : (out[d] - 1) * stride + reach + 1;
  }
  return in;
}

// A window anywhere in the image loses a quarter of what it covers of it to the borders.
double share_of(const RowImage& image, const Window& window) {
  double share = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const double size = static_cast<double>(image.size[d]);
    const double part = std::min(1.0, window[d] / size);
    share *= size == 1 ? 1 : part * (1 - (window[d] < 2 * size ? 0.25 * part : 0));
  }
  return share;
}

}  // namespace

std::map<LayerId, double> window_shares(const Plan& plan, const BackwardRows& step) {
  std::map<LayerId, Window> windows;
  std::map<LayerId, double> shares;
  std::vector<LayerId> readers = {step.layer};
  for (const BackwardLink& link : step.links) readers.push_back(link.layer);
  for (const RowImage& image : step.images) {
    Window window = {};
    if (image.tensor == step.layer) window = own_window(image, step.tile / 2);
    for (const LayerId reader : readers)
      for (const Term& term : plan.layer(reader).terms) {
        if (term.input != image.tensor || image.tensor == step.layer) continue;
        const auto known = windows.find(reader);
        const auto* const conv = std::get_if<ConvMap>(&term.map);
        Window read = whole(image.size);
        if (known != windows.end())
          read = conv != nullptr ? read_window(conv->geometry, known->second) : known->second;
        for (std::size_t d = 0; d < 3; ++d) window[d] = std::max(window[d], read[d]);
      }
    windows[image.tensor] = window;
    const bool all = window == whole(image.size);
    shares[image.tensor] = all ? 1 : share_of(image, window);
  }
  return shares;
}

}  // namespace bf_aot
