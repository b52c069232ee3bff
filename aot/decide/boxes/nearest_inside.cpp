#include "aot/decide/boxes/nearest_inside.h"

#include <algorithm>
#include <cstddef>

namespace bf_aot::decide {
namespace {

bool is_beyond(const ExactEnd& end, const mpq_class& x, int sign) {
  const mpq_class over = sign * (x - end.value);
  return end.closed ? over > 0 : over >= 0;
}

// Returns true if x is beyond the end of input i, which is next to `inner` inside; sign: 1 for
// upper ends, -1 for lower ones.
bool is_beyond(const std::vector<ExactEnd>& ends, std::size_t i, const mpq_class& x, double inner,
               int sign) {
  if (sign * (x - mpq_class(inner)) <= 0) return false;
  const auto at =
      std::ranges::lower_bound(ends, static_cast<std::int64_t>(i), {}, &ExactEnd::input);
  const bool exact = at != ends.end() && at->input == static_cast<std::int64_t>(i);
  return !exact || is_beyond(*at, x, sign);
}

}  // namespace

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

std::vector<mpq_class> nearest_inside(const PropertyCase& one, const std::vector<double>& point) {
  std::vector<mpq_class> x = nearest_inside(one.inner, one.between, point);
  // `box` has the doubles next to the ends: a double at or beyond these is beyond the ends.
  const auto move_to = [&](const ExactEnd& end, bool beyond) {
    const auto i = static_cast<std::size_t>(end.input);
    if (end.closed && beyond && one.inner.lower[i] <= one.inner.upper[i]) x[i] = end.value;
  };
  for (const ExactEnd& end : one.lower_ends) {
    const auto i = static_cast<std::size_t>(end.input);
    move_to(end, point[i] <= one.box.lower[i]);
  }
  for (const ExactEnd& end : one.upper_ends) {
    const auto i = static_cast<std::size_t>(end.input);
    move_to(end, point[i] >= one.box.upper[i]);
  }
  return x;
}

bool is_point(const PropertyCase& one) {
  if (one.lower_ends != one.upper_ends) return false;
  auto end = one.lower_ends.begin();
  for (std::size_t i = 0; i < one.box.lower.size(); ++i) {
    if (end != one.lower_ends.end() && static_cast<std::size_t>(end->input) == i)
      ++end;
    else if (one.inner.lower[i] != one.inner.upper[i] || one.box.lower[i] != one.box.upper[i])
      return false;
  }
  return true;
}

std::vector<std::vector<double>> corners_that_no_double_is(const PropertyCase& one) {
  constexpr std::size_t kMostVarying = 4;
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < one.box.lower.size(); ++i)
    if (one.box.lower[i] < one.box.upper[i]) varying.push_back(i);
  if ((one.lower_ends.empty() && one.upper_ends.empty()) || varying.size() > kMostVarying)
    return {};
  std::vector<std::vector<double>> corners;
  for (std::size_t bits = 0; bits < std::size_t{1} << varying.size(); ++bits) {
    corners.push_back(one.box.lower);
    for (std::size_t k = 0; k < varying.size(); ++k)
      if ((bits >> k & 1) != 0) corners.back()[varying[k]] = one.box.upper[varying[k]];
  }
  return corners;
}

bool lies_in_box(const PropertyCase& one, const std::vector<mpq_class>& x) {
  auto between = one.between.begin();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (between != one.between.end() && static_cast<std::size_t>(between->first) == i) {
      if (x[i] != (between++)->second) return false;
    } else if (is_beyond(one.lower_ends, i, x[i], one.inner.lower[i], -1) ||
               is_beyond(one.upper_ends, i, x[i], one.inner.upper[i], 1)) {
      return false;
    }
  }
  return true;
}

}  // namespace bf_aot::decide
