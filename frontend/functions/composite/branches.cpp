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
  return Branches{
      {-threshold, threshold}, {line(bias, 1), line(0, 0), line(-bias, 1)}, {0, 0}};
}

}  // namespace

std::optional<Branches> branches_of(const Function& f) {
  switch (f.kind) {
    case kLeakyRelu:
      return Branches{{0}, {line(0, f.a), line(0, 1)}, {}};
    case kAbs:
      return Branches{{0}, {line(0, -1), line(0, 1)}, {}};
    case kClip:
      return clip(f.a, f.b);
    case kThresholdedRelu:
      return Branches{{f.a}, {line(0, 0), line(0, 1)}, {0}};
    case kShrink:
      return shrink(f.a, f.b);
    case kSign:
      return Branches{{0}, {line(-1, 0), line(1, 0)}, {0}};
    case kStep:
      return Branches{{0}, {line(0, 0), line(1, 0)}, {0}};
    case kStepAt:
      return Branches{{0}, {line(0, 0), line(1, 0)}, {1}};
    case kIsZero:
      return Branches{{0}, {line(0, 0), line(0, 0)}, {1}};
    case kElu:
      return Branches{{0}, {kSmooth, line(0, 1)}, {}};
    case kCelu:
      if (!(f.a > 0)) return std::nullopt;
      return Branches{{0}, {kSmooth, line(0, 1)}, {}};
    case kSelu:
      return Branches{{0}, {kSmooth, line(0, f.b)}, {}};
    case kHardSwish:
      return Branches{{-3, 3}, {line(0, 0), kSmooth, line(0, 1)}, {}};
    case kSigmoid:
    case kTanh:
    case kSoftplus:
    case kGelu:
    case kGeluTanh:
    case kMish:
    case kErf:
    case kExp:
      return Branches{{}, {kSmooth}, {}};
    default:
      return std::nullopt;
  }
}

}  // namespace bf_aot
