#include "aot/decide/mixes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/engine/verifier/stopped_calls.h"

namespace bf_aot::decide {
namespace {

bool speaks_of_one_output(const Property& property, const PropertyRow& row) {
  return row.inputs.empty() && row.outputs.size() == 1 && row.outputs[0].second == 1 &&
         row.outputs[0].first < property.output_count;
}

class MixSearch final : public Search {
 public:
  MixSearch(MixedBounds bounds, const Property& property)
      : bounds_(std::move(bounds)), property_(property), own_(property) {}

  DecisionPhase phase() const override { return DecisionPhase::kMixes; }

  std::optional<Witness> run(Cases& cases, const SearchBudget& budget,
                             const SearchCalls& calls) override {
    const system::Stopwatch stopwatch;
    engine::StoppedCalls stopped(calls.stop.within(budget.seconds));
    stopped.include(bounds_.host());
    stopped.run([&] {
      for (; next_ < cases.count(); ++next_)
        if (!cases.is_verified(next_) && excludes(next_)) cases.mark_verified(next_);
    });
    next_ = cases.count();
    totals_.seconds += stopwatch.seconds();
    return std::nullopt;
  }

  bool is_over() const override { return next_ == own_.count(); }

  SearchTotals totals() const override { return totals_; }

 private:
  bool excludes(std::size_t index) {
    ++totals_.nodes;
    const engine::Bounds made = bounds_.bounds(own_.box(index));
    constexpr float kUnknown = std::numeric_limits<float>::infinity();
    std::vector<float> lower(property_.rows.size(), -kUnknown),
        upper(property_.rows.size(), kUnknown);
    for (std::size_t i = 0; i < property_.rows.size(); ++i) {
      if (!speaks_of_one_output(property_, property_.rows[i])) continue;
      const auto output = static_cast<std::size_t>(property_.rows[i].outputs[0].first);
      lower[i] = static_cast<float>(made.lower[output]);  // float32 numbers
      upper[i] = static_cast<float>(made.upper[output]);
    }
    const VerdictTables& tables = own_.tables();
    for (std::uint32_t j = tables.case_clauses[index]; j < tables.case_clauses[index + 1]; ++j)
      if (!is_excluded(tables, j, {lower, upper})) return false;
    return true;
  }

  const MixedBounds bounds_;
  const Property& property_;
  const Cases own_;  // of the whole property: others may be without inputs that do not vary
  std::size_t next_ = 0;
  SearchTotals totals_;
};

}  // namespace

MixedBounds::MixedBounds(const Graph& network, const ModelInfo& info, const Request& request,
                         Method method) {
  MixedOutputs mixed = with_mixes(network);
  mixes_ = std::move(mixed.mixes);
  copies_ = std::move(mixed.copies);
  // A line over a function may leave its range, and a box of intervals does not.
  if (method != Method::kIbp) intervals_ = make_host(mixed.graph, info, request, Method::kIbp);
  host_ = make_host(std::move(mixed.graph), info, request, method);
}

engine::Bounds MixedBounds::bounds(const input::FloatBox& box) const {
  engine::Bounds made = host_->bounds(box);
  if (intervals_ != nullptr) {
    const engine::Bounds intervals = intervals_->bounds(box);
    for (std::size_t i = 0; i < made.lower.size(); ++i) {
      made.lower[i] = std::max(made.lower[i], intervals.lower[i]);
      made.upper[i] = std::min(made.upper[i], intervals.upper[i]);
    }
  }
  for (const MixedOutputs::Copy& copy : copies_) {  // which bounds round
    made.lower[copy.output] = static_cast<double>(box.lower[copy.input]);
    made.upper[copy.output] = static_cast<double>(box.upper[copy.input]);
  }
  // An end may be a mix itself. It is behind in the list, and its bounds are met first.
  for (auto mix = mixes_.rbegin(); mix != mixes_.rend(); ++mix)
    for (std::size_t i = 0; i < mix->count; ++i) {
      double &lower = made.lower[mix->output + i], &upper = made.upper[mix->output + i];
      lower = std::max(lower, std::min(made.lower[mix->first + i], made.lower[mix->second + i]));
      upper = std::min(upper, std::max(made.upper[mix->first + i], made.upper[mix->second + i]));
    }
  return made;
}

std::unique_ptr<Search> make_mix_search(const Graph& network, const ModelInfo& info,
                                        const Property& property, const Request& request) {
  const bool speaks = std::ranges::any_of(
      property.rows, [&](const PropertyRow& row) { return speaks_of_one_output(property, row); });
  if (!speaks || with_mixes(network).mixes.empty()) return nullptr;
  return std::make_unique<MixSearch>(MixedBounds(network, info, request, Method::kCrown), property);
}

}  // namespace bf_aot::decide
