#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "aot/decide/boxes/box_device.h"
#include "aot/decide/boxes/exact_boxes.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/property/methods.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/violation.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/stop.h"
#include "frontend/property/property.h"

namespace bf_aot::decide {

// Called now and then with the number of cases that are done, and of all.
using CaseProgress = std::function<void(std::size_t done, std::size_t count)>;

// Bounds every open case by the verifier, and by `exact` (of the same plan, or null) where a limit
// is near, until a stop is asked for. Returns the ranges on the last case that is left open, if the
// verifier says any. device: bounds those that are left once it is ready, and says no ranges.
std::optional<CaseRanges> verify_cases(const engine::HostVerifier& verifier,
                                       const ExactBoxes* exact, Cases& cases,
                                       const system::Stop& stop, const CaseProgress& progress,
                                       AwaitedDevice* device = nullptr);

// Decides open cases of one point there, in exact arithmetic: bounds of floats enclose a limit that
// the point meets, and plain evaluation may be beyond a jump. `whole`: the property that `check` is
// about. Returns the first violation that is proven.
std::optional<Witness> decide_points(const Property& whole, const WitnessCheck& check, Cases& cases,
                                     const system::Stop& stop);

// A violation that is proven at a corner of an open case's exact box, where the corner is no
// double.
std::optional<Witness> violation_at_corners(const Property& whole, const WitnessCheck& check,
                                            const Cases& cases, const system::Stop& stop);

// Searches the open cases for a violation, for at most `seconds` in all or until a stop is asked
// for. Returns the first that is proven.
std::optional<Witness> falsify(const Evaluation& evaluate, const Property& property,
                               const Cases& cases, const PointCheck& prove, double seconds,
                               const system::Stop& stop, const CaseProgress& progress,
                               const SearchStart& start);

}  // namespace bf_aot::decide
