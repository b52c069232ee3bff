#include "aot/decide/search/bounds_and_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "aot/decide/boxes/nearest_inside.h"
#include "frontend/diagnostic.h"
#include "planner/plan/plan.h"

namespace bf_aot::decide {
namespace {

// Judges a case by its rows' bounds on its box, and where they are near a limit in rationals.
void judge(std::size_t index, const input::FloatBox& box, const RowBounds& rows,
           const ExactBoxes* exact, Cases& cases) {
  cases.judge(index, rows);
  if (exact != nullptr && !cases.is_verified(index) && is_near_limit(cases.tables(), index, rows) &&
      exact->exclude(index, box.lower, box.upper))
    cases.mark_verified(index);
}

// Bounds cases together, by a device.
void judge_on(const BoxDevice& device, std::span<const std::size_t> together,
              const ExactBoxes* exact, Cases& cases) {
  const auto rows = static_cast<std::size_t>(device.plan->spec_rows);
  std::vector<input::FloatBox> boxes;
  std::vector<float> lower, upper;
  for (const std::size_t index : together) {
    const input::FloatBox& box = boxes.emplace_back(cases.box(index));
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
  }
  std::vector<float> row_lower(boxes.size() * rows), row_upper(boxes.size() * rows);
  std::vector<bf_status> statuses(boxes.size());
  const bf_status status =
      device.host->spec_bounds_batch(boxes.size(), lower.data(), upper.data(), row_lower.data(),
                                     row_upper.data(), statuses.data());
  if (status != BF_OK)
    fail("BF3306", device.plan->name,
         fmt::format("the device refused a case's box: {}", bf_status_text(status)));
  for (std::size_t k = 0; k < boxes.size(); ++k)
    judge(together[k], boxes[k],
          {std::span(row_lower).subspan(k * rows, rows),
           std::span(row_upper).subspan(k * rows, rows)},
          exact, cases);
}

// Bounds a case by the verifier. Returns the ranges on a case that it leaves open.
std::optional<CaseRanges> judge_by(const engine::HostVerifier& verifier, std::size_t index,
                                   const ExactBoxes* exact, Cases& cases) {
  const input::FloatBox box = cases.box(index);
  engine::RangedBounds made = verifier.spec_ranges(box);
  const std::vector<float> lower(made.rows.lower.begin(), made.rows.lower.end());
  const std::vector<float> upper(made.rows.upper.begin(), made.rows.upper.end());
  judge(index, box, {lower, upper}, exact, cases);
  if (cases.is_verified(index) || made.ranges.empty()) return std::nullopt;
  return CaseRanges{index, std::move(made.ranges)};
}

}  // namespace

std::optional<CaseRanges> verify_cases(const engine::HostVerifier& verifier,
                                       const ExactBoxes* exact, Cases& cases,
                                       const system::Stop& stop, const CaseProgress& progress,
                                       AwaitedDevice* device) {
  std::optional<CaseRanges> left;
  const std::vector<std::size_t> open = cases.open();
  for (std::size_t k = 0; k < open.size();) {
    if (stop()) return left;
    progress(k, open.size());
    if (const BoxDevice* const there = device != nullptr ? device->get() : nullptr) {
      const std::size_t count = std::min(there->boxes, open.size() - k);
      judge_on(*there, std::span(open).subspan(k, count), exact, cases);
      device->add_bounded(count);
      k += count;
    } else {
      if (auto ranges = judge_by(verifier, open[k++], exact, cases)) left = std::move(ranges);
    }
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
