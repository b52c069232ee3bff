#include "aot/decide/boxes/nearest_inside.h"

#include <algorithm>
#include <cstddef>

namespace bf_aot::decide {

std::vector<mpq_class> nearest_inside(const Box& inner, const LinearForm& between,
                                      const std::vector<double>& point) {
  std::vector<mpq_class> x(point.size());
  auto next = between.begin();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (next != between.end() && static_cast<std::size_t>(next->first) == i)
      x[i] = (next++)->second;
    else
      x[i] = std::clamp(point[i], inner.lower[i], inner.upper[i]);
  }
  return x;
}

}  // namespace bf_aot::decide
