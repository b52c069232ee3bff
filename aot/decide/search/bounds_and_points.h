#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "aot/decide/boxes/exact_boxes.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/property/stop.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/violation.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/property/property.h"

namespace bf_aot::decide {

// Called now and then with the number of cases that are done, and of all.
using CaseProgress = std::function<void(std::size_t done, std::size_t count)>;

// Bounds every open case by the verifier, and by `exact` (of the same plan, or null) where a limit
// is near, until a stop is asked for.
void verify_cases(const engine::HostVerifier& verifier, const ExactBoxes* exact, Cases& cases,
                  const StopAsked& stop, const CaseProgress& progress);

// Searches the open cases for a violation, for at most `seconds` in all or until a stop is asked
// for. Returns the first that is proven.
std::optional<Witness> falsify(const Evaluation& evaluate, const Property& property,
                               const Cases& cases, const PointCheck& prove, double seconds,
                               const StopAsked& stop, const CaseProgress& progress,
                               const SearchStart& start);

}  // namespace bf_aot::decide
