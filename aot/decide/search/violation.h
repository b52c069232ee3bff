#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "aot/decide/property/witness.h"
#include "aot/decide/search/gradient.h"
#include "aot/system/progress.h"
#include "aot/system/stop.h"

namespace bf_aot::decide {

// A fast evaluation of the outputs, and behind them of the property's derived values, without
// guarantee: it only proposes points.
using Evaluation = std::function<std::vector<float>(const std::vector<float>&)>;

// The start of a search: another seed takes other points.
struct SearchStart {
  unsigned seed = 1;
  // Gradients of the property's rows; null: slopes are estimated by differences.
  RowGradients* gradients = nullptr;
  Norm norm = Norm::kLargest;  // points lie in this ball of the box
};

// Looks for a violation in one case for at most `seconds` or until a stop is asked for. The centre
// and a few corners are always tried, then random points, then projected gradient descent from many
// points side by side (Madry et al. 2018), some of which begin by a random direction of the rows
// (output-diversified starts, Tashiro et al. 2020), or descent along estimated slopes. Every point
// that looks like a violation is given to `prove`. Equal arguments give equal points, but for the
// time.
std::optional<Witness> search_violation(const Property& property, std::size_t index,
                                        const Evaluation& evaluate, const PointCheck& prove,
                                        double seconds, const system::Stop& stop,
                                        const SearchStart& start = {});

}  // namespace bf_aot::decide
