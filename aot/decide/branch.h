#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "aot/decide/cases.h"
#include "aot/decide/stop.h"
#include "aot/verifier/verifier.h"
#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::cli {

// Branch and bound over boxes with more inputs that vary than this hardly ever ends.
constexpr std::size_t kMostBranchedInputs = 16;

// The boxes of a round; fills the lanes of every target several times.
constexpr int kBranchBatch = 64;

// Whether boxes of the property have so few inputs that vary that splitting them is worth a try.
bool is_branchable(const Property& property);

struct BranchTotals {
  std::uint64_t boxes = 0, points = 0;
  double seconds = 0;
};

// A violating input, as the verifier's bounds prove.
struct ViolatingPoint {
  std::size_t property_case = 0;
  std::vector<double> x;
};

// Called now and then with the boxes that were bounded, and the share that is verified.
using BranchProgress = std::function<void(std::uint64_t boxes, double proven)>;

// Splits the boxes of open cases until they are verified, or one has a violation, for at most
// `seconds` in all or until a stop is asked for; see docs/proofs/branch-and-bound.md. The verifier
// is made with decide, and a batch. Adds to `totals`. Throws: BF3306 when the verifier refuses a
// box.
std::optional<ViolatingPoint> branch_and_bound(const HostVerifier& verifier, const Plan& plan,
                                               const Property& property, Cases& cases,
                                               double seconds, const StopAsked& stop,
                                               const BranchProgress& progress,
                                               BranchTotals& totals);

}  // namespace bf_aot::cli
