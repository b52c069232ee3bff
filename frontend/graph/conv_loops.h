#pragma once

#include <cstdint>

#include "frontend/graph/graph.h"

namespace bf_aot {

// visit(n, c, position) for all elements of an image.
template <typename Visit>
void for_each_element(std::int64_t batch, std::int64_t channels, const Extent& size,
                      const Visit& visit) {
  Extent p;
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (p[0] = 0; p[0] < size[0]; ++p[0])
        for (p[1] = 0; p[1] < size[1]; ++p[1])
          for (p[2] = 0; p[2] < size[2]; ++p[2]) visit(n, c, p);
}

// visit(out, weight, in) for every product of a convolution: out += weight * in, as flat indices
// of the output tensor, the weights [out_channels][in_group][taps], and the input tensor. For each
// output of a Conv in the order of its weights.
template <typename Visit>
void for_each_product(const ConvGeometry& g, const Visit& visit) {
  // `near` is the side that strides: p stride - pad + t dilation lies in `far`.
  const Extent& near_size = g.transposed ? g.in_size : g.out_size;
  const Extent& far_size = g.transposed ? g.out_size : g.in_size;
  Extent p;
  for (std::int64_t n = 0; n < g.batch; ++n)
    for (std::int64_t o = 0; o < g.out_channels; ++o)
      for (p[0] = 0; p[0] < near_size[0]; ++p[0])
        for (p[1] = 0; p[1] < near_size[1]; ++p[1])
          for (p[2] = 0; p[2] < near_size[2]; ++p[2])
            for (std::int64_t i = 0; i < g.in_group(); ++i) {
              const std::int64_t channel = o / g.out_group() * g.in_group() + i;
              std::int64_t weight = (o * g.in_group() + i) * g.taps();
              Extent t;
              for (t[0] = 0; t[0] < g.kernel[0]; ++t[0])
                for (t[1] = 0; t[1] < g.kernel[1]; ++t[1])
                  for (t[2] = 0; t[2] < g.kernel[2]; ++t[2], ++weight) {
                    Extent q;
                    bool inside = true;
                    for (std::size_t d = 0; d < 3; ++d) {
                      q[d] = p[d] * g.stride[d] - g.pad[d] + t[d] * g.dilation[d];
                      inside = inside && q[d] >= 0 && q[d] < far_size[d];
                    }
                    if (!inside) continue;
                    if (g.transposed)
                      visit(g.out.at(n, o, q), weight, g.in.at(n, channel, p));
                    else
                      visit(g.out.at(n, o, p), weight, g.in.at(n, channel, q));
                  }
            }
}

}  // namespace bf_aot
