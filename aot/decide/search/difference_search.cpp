#include "aot/decide/search/difference_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/decide/differences.h"
#include "aot/engine/run/pool.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/passes/difference/difference_network.h"
#include "frontend/property/clause_boxes.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot::decide {
namespace {

// The neurons of a box's slopes are bounded by two rows each, which pass the whole network.
constexpr std::size_t kMostNeurons = 8192;
// Slopes that the parts of all cases keep: 1 GB with their ends.
constexpr std::size_t kMostKept = std::size_t{1} << 27;

// The parts of a case's box that are not excluded. The last one is split next, so that few are
// kept.
struct CaseParts {
  std::vector<DifferenceBounds::Part> open;
  double closed = 0;  // of the box
  bool started = false, over = false;
};

class DifferenceSearch final : public CaseSearch {
 public:
  DifferenceSearch(DifferenceBounds bounds, const Property& property, bool splits, std::size_t jobs)
      : own_(property), splits_(splits), parts_(property.cases.size()) {
    for (const PropertyCase& one : property.cases) roots_.push_back(box_of_case(property, one));
    bounds_.push_back(std::move(bounds));
    while (splits && bounds_.size() < jobs) bounds_.push_back(bounds_.front().twin());
  }

  void run(Cases& cases, double seconds, bool splits, const CaseCalls& calls) override {
    const system::Stopwatch stopwatch;
    std::size_t open = 0;
    const auto can_go_on = [&](std::size_t index) {
      return !cases.is_verified(index) && !parts_[index].over;
    };
    for (std::size_t index = 0; index < parts_.size(); ++index) open += can_go_on(index) ? 1 : 0;
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      if (!can_go_on(index)) continue;
      // The cases that are open share the time that is left.
      const double left = seconds - stopwatch.seconds();
      if (calls.stop()) break;
      run_case(index, splits, calls.stop.within(left / static_cast<double>(open--)));
      if (is_closed(index)) cases.mark_verified(index);
      calls.progress(totals_.boxes, closed());
    }
    totals_.seconds += stopwatch.seconds();
  }

  bool is_over() const override {
    return std::ranges::all_of(parts_, [](const CaseParts& each) {
      return each.started && (each.over || each.open.empty());
    });
  }

  PairTotals totals() const override { return totals_; }

 private:
  using Part = DifferenceBounds::Part;

  bool is_closed(std::size_t index) const {
    return parts_[index].started && parts_[index].open.empty() && !parts_[index].over;
  }

  double closed() const {
    double sum = 0;
    for (const CaseParts& each : parts_) sum += each.closed;
    return sum / static_cast<double>(parts_.size());
  }

  // Calls the body, which a stop ends early. Throws what the stop throws.
  template <class Body>
  void bound(const StopAsked& stop, const Body& body) {
    engine::StoppedCalls stopped(stop);
    for (const DifferenceBounds& each : bounds_) each.stop_by(stopped);
    stopped.run(body);
  }

  void run_case(std::size_t index, bool splits, const StopAsked& stop) {
    CaseParts& parts = parts_[index];
    if (!parts.started) start(index, stop);
    while (splits && parts.started && !parts.open.empty() && !parts.over && !stop())
      split(index, stop);
  }

  void start(std::size_t index, const StopAsked& stop) {
    CaseParts& parts = parts_[index];
    Part root;
    root.box = roots_[index];
    bool whole = false;
    bound(stop, [&] {
      bounds_.front().bound_root(root);
      whole = true;
    });
    if (!whole) return;
    parts.started = true;
    take(index, std::move(root), 1);
    parts.over = !parts.open.empty() && !splits_;
  }

  // Halves the last parts, one for each thread.
  void split(std::size_t index, const StopAsked& stop) {
    CaseParts& parts = parts_[index];
    const Box& root = roots_[index];
    const std::size_t count = std::min(parts.open.size(), bounds_.size());
    if (parts.open.size() * (parts.open.front().least.size() + 1) > kMostKept) {
      parts.over = true;
      return;
    }
    std::vector<Part> made;
    for (std::size_t i = 0; i < count; ++i) {
      const Part& part = parts.open[parts.open.size() - count + i];
      made.insert(made.end(), 2, part);
      std::tie(made[2 * i].box, made[2 * i + 1].box) = halves(part.box, root);
      parts.over = parts.over || made[2 * i].box == made[2 * i + 1].box;
    }
    if (parts.over) return;
    bool whole = false;
    bound(stop, [&] {
      engine::share(bounds_.size(), made.size(),
                    [&](std::size_t i, std::size_t worker) { bounds_[worker].bound(made[i]); });
      whole = true;
    });
    if (!whole || stop()) return;
    parts.open.resize(parts.open.size() - count);
    for (Part& part : made) {
      const double share = volume(part.box, root);
      take(index, std::move(part), share);
    }
  }

  static double volume(const Box& box, const Box& root) {
    double share = 1;
    for (std::size_t i = 0; i < box.lower.size(); ++i)
      if (root.lower[i] < root.upper[i])
        share *= (box.upper[i] - box.lower[i]) / (root.upper[i] - root.lower[i]);
    return share;
  }

  // A part stays open where its rows do not exclude each clause.
  void take(std::size_t index, Part part, double share) {
    ++totals_.boxes;
    std::vector<float> lower, upper;
    for (const OutputDifference& row : part.outputs) {
      lower.push_back(bf::float_down(row.lower));
      upper.push_back(bf::float_up(row.upper));
    }
    const VerdictTables& tables = own_.tables();
    for (std::uint32_t j = tables.case_clauses[index]; j < tables.case_clauses[index + 1]; ++j)
      if (!is_excluded(tables, j, {lower, upper})) {
        parts_[index].open.push_back(std::move(part));
        return;
      }
    parts_[index].closed += share;
  }

  const Cases own_;  // of the whole property: others may be without inputs that do not vary
  const bool splits_;
  std::vector<DifferenceBounds> bounds_;  // by thread
  std::vector<Box> roots_;                // by case
  std::vector<CaseParts> parts_;          // by case
  PairTotals totals_;
};

}  // namespace

std::unique_ptr<CaseSearch> make_difference_search(const Graph& merged, const ModelInfo& info,
                                                   const Property& property,
                                                   const Request& request) {
  if (property.rows.empty()) return nullptr;
  const auto pair = merged_pair(merged);
  if (!pair || !are_isomorphic(pair->first, pair->second)) return nullptr;
  DifferenceNetwork network = difference_network(pair->first, pair->second);
  if (network.neurons.size() > kMostNeurons) return nullptr;
  const bool splits = std::ranges::all_of(
      property.cases, [](const PropertyCase& each) { return varying(each.box) <= kFewInputs; });
  const std::size_t jobs = request.jobs > 0 ? request.jobs : system::core_count();
  Request own = request;
  if (splits) own.jobs = 1;  // each thread has parts of its own
  try {
    DifferenceBounds bounds(with_rows(std::move(network), property), info, own);
    return std::make_unique<DifferenceSearch>(std::move(bounds), property, splits, jobs);
  } catch (const CompileError&) {  // bounds of both networks may exist where these do not
    return nullptr;
  }
}

}  // namespace bf_aot::decide
