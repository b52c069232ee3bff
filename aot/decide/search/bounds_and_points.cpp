#include "aot/decide/search/bounds_and_points.h"

#include <algorithm>
#include <vector>

namespace bf_aot::decide {

void verify_cases(const engine::HostVerifier& verifier, const ExactBoxes* exact, Cases& cases,
                  const StopAsked& stop, const CaseProgress& progress) {
  const std::vector<std::size_t> open = cases.open();
  for (std::size_t k = 0; k < open.size(); ++k) {
    if (stop()) return;
    progress(k, open.size());
    const std::size_t index = open[k];
    const input::FloatBox box = cases.box(index);
    const engine::Bounds made = verifier.spec_bounds(box);
    const std::vector<float> lower(made.lower.begin(), made.lower.end());
    const std::vector<float> upper(made.upper.begin(), made.upper.end());
    const RowBounds rows = {lower, upper};
    cases.judge(index, rows);
    if (exact != nullptr && !cases.is_verified(index) &&
        is_near_limit(cases.tables(), index, rows) && exact->exclude(index, box.lower, box.upper))
      cases.mark_verified(index);
  }
  progress(open.size(), open.size());
}

std::optional<Witness> falsify(const Evaluation& evaluate, const Property& property,
                               const Cases& cases, const PointCheck& prove, double seconds,
                               const StopAsked& stop, const CaseProgress& progress,
                               const SearchStart& start) {
  const std::vector<std::size_t> open = cases.open();
  const system::Stopwatch stopwatch;
  for (std::size_t k = 0; k < open.size() && !stop(); ++k) {
    progress(k, open.size());
    // The time that is left is shared by the cases that are left.
    const double share =
        std::max(0.0, seconds - stopwatch.seconds()) / static_cast<double>(open.size() - k);
    if (auto witness = search_violation(property, open[k], evaluate, prove, share, stop, start))
      return witness;
  }
  return std::nullopt;
}

}  // namespace bf_aot::decide
