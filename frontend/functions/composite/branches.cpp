#include "frontend/functions/composite/branches.h"

#include <cmath>

#include "frontend/functions/function_facts.h"

namespace bf_aot {

std::optional<Branches> branches_of(const Function& f) {
  return facts_of(f.kind).shape.branches(f);
}

namespace branches {
namespace {

using Made = std::optional<Branches>;

constexpr Branch kSmooth = {true, 0, 0};

Branch line(double intercept, double slope) {
  return {false, intercept, slope};
}

}  // namespace

Made none(const Function&) {
  return std::nullopt;
}

Made smooth(const Function&) {
  return Branches{{}, {kSmooth}, {}};
}

Made leaky_relu(const Function& f) {
  return Branches{{0}, {line(0, f.a), line(0, 1)}, {}};
}

Made abs(const Function&) {
  return Branches{{0}, {line(0, -1), line(0, 1)}, {}};
}

Made clip(const Function& f) {
  const double low = f.a, high = f.b;
  if (!(low < high) || (std::isinf(low) && std::isinf(high))) return std::nullopt;
  Branches made;
  if (std::isfinite(low)) {
    made.breaks.push_back(low);
    made.branches.push_back(line(low, 0));
  }
  made.branches.push_back(line(0, 1));
  if (std::isfinite(high)) {
    made.breaks.push_back(high);
    made.branches.push_back(line(high, 0));
  }
  return made;
}

Made thresholded_relu(const Function& f) {
  return Branches{{f.a}, {line(0, 0), line(0, 1)}, {0}};
}

Made shrink(const Function& f) {
  if (!(f.a > 0)) return std::nullopt;
  return Branches{{-f.a, f.a}, {line(f.b, 1), line(0, 0), line(-f.b, 1)}, {0, 0}};
}

Made sign(const Function&) {
  return Branches{{0}, {line(-1, 0), line(1, 0)}, {0}};
}

Made step(const Function&) {
  return Branches{{0}, {line(0, 0), line(1, 0)}, {0}};
}

Made step_at(const Function&) {
  return Branches{{0}, {line(0, 0), line(1, 0)}, {1}};
}

Made is_zero(const Function&) {
  return Branches{{0}, {line(0, 0), line(0, 0)}, {1}};
}

Made elu(const Function&) {
  return Branches{{0}, {kSmooth, line(0, 1)}, {}};
}

Made celu(const Function& f) {
  return f.a > 0 ? elu(f) : std::nullopt;
}

Made selu(const Function& f) {
  return Branches{{0}, {kSmooth, line(0, f.b)}, {}};
}

Made hard_swish(const Function&) {
  return Branches{{-3, 3}, {line(0, 0), kSmooth, line(0, 1)}, {}};
}

}  // namespace branches
}  // namespace bf_aot
