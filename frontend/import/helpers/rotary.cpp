#include "frontend/import/helpers/rotary.h"

#include <numeric>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"

namespace bf_aot {

ValueId add_rotated(NodeImport& node, ValueId x, const Rotation& rotation, ValueId cosines,
                    ValueId sines) {
  const Shape shape = node.shape_of(x);
  const std::int64_t count = element_count(shape);
  const std::int64_t table = element_count(node.shape_of(cosines));
  const std::int64_t half = rotation.turning / 2;
  node.check_size(shape);
  node.reader().charge({3, count}, "");
  // y = x factor + partner sine, by elements of (cos, 1) and of (sin, -sin, 0).
  std::vector<std::int64_t> partner(static_cast<std::size_t>(count));
  std::iota(partner.begin(), partner.end(), 0);
  std::vector<std::int64_t> factor(partner.size(), table), sine(partner.size(), 2 * table);
  for (std::int64_t b = 0; b < rotation.batch; ++b)
    for (std::int64_t h = 0; h < rotation.heads; ++h)
      for (std::int64_t s = 0; s < rotation.length; ++s)
        for (std::int64_t f = 0; f < rotation.turning; ++f) {
          const auto i = static_cast<std::size_t>(rotation.at(b, h, s, f));
          const bool first = rotation.interleaved ? f % 2 == 0 : f < half;
          const std::int64_t step = rotation.interleaved ? 1 : half;
          partner[i] = rotation.at(b, h, s, first ? f + step : f - step);
          factor[i] = rotation.angle(b, s, rotation.interleaved ? f / 2 : f % half);
          sine[i] = factor[i] + (first ? table : 0);
        }
  const ValueId of_cos =
      add_selection(node, {cosines, add_constant(node, filled({1}, 1))}, factor, shape);
  const ValueId of_sin = add_selection(
      node, {sines, add_scale(node, sines, -1, 0), add_constant(node, filled({1}, 0))}, sine,
      shape);
  const ValueId turned = add_index_map(node, x, shape, [&] { return partner; });
  return add_binary(node, Binary::Kind::kAdd, add_binary(node, Binary::Kind::kMul, x, of_cos),
                    add_binary(node, Binary::Kind::kMul, turned, of_sin));
}

}  // namespace bf_aot
