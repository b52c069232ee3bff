#include "aot/decide/search/bounds_and_points.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "aot/decide/boxes/nearest_inside.h"

namespace bf_aot::decide {

std::optional<CaseRanges> verify_cases(const engine::HostVerifier& verifier,
                                       const ExactBoxes* exact, Cases& cases,
                                       const system::Stop& stop, const CaseProgress& progress) {
  std::optional<CaseRanges> left;
  const std::vector<std::size_t> open = cases.open();
  for (std::size_t k = 0; k < open.size(); ++k) {
    if (stop()) return left;
    progress(k, open.size());
    const std::size_t index = open[k];
    const input::FloatBox box = cases.box(index);
    engine::RangedBounds made = verifier.spec_ranges(box);
    const std::vector<float> lower(made.rows.lower.begin(), made.rows.lower.end());
    const std::vector<float> upper(made.rows.upper.begin(), made.rows.upper.end());
    const RowBounds rows = {lower, upper};
    cases.judge(index, rows);
    if (exact != nullptr && !cases.is_verified(index) &&
        is_near_limit(cases.tables(), index, rows) && exact->exclude(index, box.lower, box.upper))
      cases.mark_verified(index);
    if (!cases.is_verified(index) && !made.ranges.empty())
      left = CaseRanges{index, std::move(made.ranges)};
  }
  progress(open.size(), open.size());
  return left;
}

std::optional<Witness> decide_points(const Property& whole, const WitnessCheck& check, Cases& cases,
                                     const system::Stop& stop) {
  for (std::size_t i = 0; i < whole.cases.size() && !stop(); ++i) {
    const PropertyCase& one = whole.cases[i];
    if (!is_point(one) || cases.is_verified(i)) continue;
    if (auto witness = check.prove(i, one.box.lower)) return witness;
    if (check.refutes(i, one.box.lower)) cases.mark_verified(i);
  }
  return std::nullopt;
}

std::optional<Witness> violation_at_corners(const Property& whole, const WitnessCheck& check,
                                            const Cases& cases, const system::Stop& stop) {
  for (std::size_t i = 0; i < whole.cases.size() && !stop(); ++i) {
    if (cases.is_verified(i)) continue;
    for (const std::vector<double>& corner : corners_that_no_double_is(whole.cases[i]))
      if (auto witness = check.prove(i, corner)) return witness;
  }
  return std::nullopt;
}

std::optional<Witness> falsify(const Evaluation& evaluate, const Property& property,
                               const Cases& cases, const PointCheck& prove, double seconds,
                               const system::Stop& stop, const CaseProgress& progress,
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
