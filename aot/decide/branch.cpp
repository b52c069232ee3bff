#include "aot/decide/branch.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "aot/host/progress.h"
#include "frontend/diagnostic.h"
#include "planner/entries/keep_coefficients.h"
#include "runtime/bf/search/branch_and_bound.h"

namespace bf_aot::cli {
namespace {

// Open boxes that have room: a stack as deep as this holds any tree that ends in time.
constexpr std::size_t kOpenBoxes = std::size_t{1} << 16;

// A property's tables as the runtime takes them. Shares storage with the cases.
class Tables {
 public:
  Tables(const Property& property, const Cases& cases)
      : relaxed_(cases.tables().relaxed.begin(), cases.tables().relaxed.end()) {
    for (const VerdictCondition& term : cases.tables().terms)
      terms_.push_back({term.row, term.at_least, term.threshold});
    all_ = {static_cast<std::int32_t>(property.input_count),
            static_cast<std::int32_t>(std::max<std::size_t>(property.rows.size(), 1)),
            static_cast<std::int32_t>(property.cases.size()),
            cases.boxes().lower.data(),
            cases.boxes().upper.data(),
            cases.boxes().inside.data(),
            cases.tables().case_clauses.data(),
            cases.tables().clause_terms.data(),
            relaxed_.data(),
            terms_.data()};
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  // The property that has this case alone.
  bf::PropertyTables only(std::size_t index) const {
    bf::PropertyTables one = all_;
    const std::size_t first = index * static_cast<std::size_t>(all_.inputs);
    one.cases = 1;
    one.lower += first;
    one.upper += first;
    one.inside += first;
    one.case_clauses += index;
    return one;
  }

 private:
  std::vector<unsigned char> relaxed_;
  std::vector<bf::VerdictTerm> terms_;
  bf::PropertyTables all_;
};

// What bf_budget::stop is asked with.
struct Watch {
  const BranchProgress& progress;
  const StopAsked& stop;
  double seconds;
  std::uint64_t boxes_before;
  Stopwatch stopwatch = {};
};

int is_over(void* data, const bf_search* search) {
  const Watch& watch = *static_cast<const Watch*>(data);
  watch.progress(watch.boxes_before + search->boxes, search->proven);
  return watch.stop() || watch.stopwatch.seconds() >= watch.seconds ? 1 : 0;
}

}  // namespace

bool is_branchable(const Property& property) {
  return std::ranges::all_of(property.cases, [](const PropertyCase& one) {
    std::size_t varying = 0;
    for (std::size_t i = 0; i < one.box.lower.size(); ++i)
      varying += one.box.lower[i] < one.box.upper[i] ? 1 : 0;
    return varying <= kMostBranchedInputs;
  });
}

std::optional<ViolatingPoint> branch_and_bound(const HostVerifier& verifier, const Plan& plan,
                                               const Property& property, Cases& cases,
                                               double seconds, const StopAsked& stop,
                                               const BranchProgress& progress,
                                               BranchTotals& totals) {
  const Tables tables(property, cases);
  const auto batch = static_cast<std::size_t>(plan.config.batch);
  const auto inputs = static_cast<std::size_t>(property.input_count);
  const auto rows = std::max<std::size_t>(property.rows.size(), 1);
  const bool kept = keeps_coefficients(plan);
  const std::size_t bytes =
      bf::round_bytes(inputs, rows, batch, kept) + kOpenBoxes * bf::open_box_bytes(inputs);
  const auto memory = std::make_unique_for_overwrite<float[]>(bytes / sizeof(float));
  std::vector<float> point(inputs);
  const auto together = [&](std::size_t count, const float* lower, const float* upper,
                            float* row_lower, float* row_upper, float* coefficients,
                            bf_status* statuses) {
    return kept ? verifier.spec_coefficients_batch(count, lower, upper, row_lower, row_upper,
                                                   coefficients, statuses)
                : verifier.spec_bounds_batch(count, lower, upper, row_lower, row_upper, statuses);
  };
  const Stopwatch stopwatch;
  std::optional<ViolatingPoint> found;
  const std::vector<std::size_t> open = cases.open();
  for (std::size_t k = 0; k < open.size() && !found && !stop(); ++k) {
    // What is left, shared by the cases that are left.
    const double share =
        std::max(0.0, seconds - stopwatch.seconds()) / static_cast<double>(open.size() - k);
    Watch watch = {progress, stop, share, totals.boxes};
    const bf_budget budget = {0, is_over, &watch};
    const FloatBox box = cases.box(open[k]);
    bf_result result = {BF_UNKNOWN, 0, 0, point.data()};
    bf_search search = {};
    const bf_status status = decide_property(
        tables.only(open[k]), plan.split_weights.empty() ? nullptr : plan.split_weights.data(),
        kept, box.lower.data(), box.upper.data(), batch, &budget, &result, &search, memory.get(),
        bytes, together);
    if (status != BF_OK)
      fail("BF3306", "spec_bounds_batch",
           std::string("the verifier refused: ") + bf_status_text(status));
    totals.boxes += search.boxes;
    totals.points += search.points;
    if (result.verdict == BF_VERIFIED) cases.mark_verified(open[k]);
    if (result.verdict == BF_FALSIFIED)
      found = ViolatingPoint{open[k], {point.begin(), point.end()}};
  }
  totals.seconds += stopwatch.seconds();
  return found;
}

}  // namespace bf_aot::cli
