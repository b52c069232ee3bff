#include "frontend/functions/composite/branches.h"

#include <cmath>

namespace bf_aot {
namespace {

using enum FunctionKind;

constexpr Branch kSmooth = {true, 0, 0};

Branch line(double intercept, double slope) {
  return {false, intercept, slope};
}

std::optional<Branches> clip(double low, double high) {
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

std::optional<Branches> shrink(double threshold, double bias) {
  if (!(threshold > 0)) return std::nullopt;
  return Branches{{-threshold, threshold}, {line(bias, 1), line(0, 0), line(-bias, 1)}, {0, 0}};
}

std::optional<Branches> with_jumps(const Function& f) {
  if (f.kind == kThresholdedRelu) return Branches{{f.a}, {line(0, 0), line(0, 1)}, {0}};
  if (f.kind == kShrink) return shrink(f.a, f.b);
  if (f.kind == kSign) return Branches{{0}, {line(-1, 0), line(1, 0)}, {0}};
  if (f.kind == kStep) return Branches{{0}, {line(0, 0), line(1, 0)}, {0}};
  if (f.kind == kStepAt) return Branches{{0}, {line(0, 0), line(1, 0)}, {1}};
  if (f.kind == kIsZero) return Branches{{0}, {line(0, 0), line(0, 0)}, {1}};
  return std::nullopt;
}

std::optional<Branches> with_bends(const Function& f) {
  if (f.kind == kLeakyRelu) return Branches{{0}, {line(0, f.a), line(0, 1)}, {}};
  if (f.kind == kAbs) return Branches{{0}, {line(0, -1), line(0, 1)}, {}};
  if (f.kind == kClip) return clip(f.a, f.b);
  if (f.kind == kElu || (f.kind == kCelu && f.a > 0))
    return Branches{{0}, {kSmooth, line(0, 1)}, {}};
  if (f.kind == kSelu) return Branches{{0}, {kSmooth, line(0, f.b)}, {}};
  if (f.kind == kHardSwish) return Branches{{-3, 3}, {line(0, 0), kSmooth, line(0, 1)}, {}};
  return std::nullopt;
}

}  // namespace

std::optional<Branches> branches_of(const Function& f) {
  for (const FunctionKind smooth :
       {kSigmoid, kTanh, kSoftplus, kGelu, kGeluTanh, kMish, kErf, kExp})
    if (f.kind == smooth) return Branches{{}, {kSmooth}, {}};
  if (auto made = with_jumps(f)) return made;
  return with_bends(f);
}

}  // namespace bf_aot
