#include "aot/decide/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/decide/boxes/row_bounds.h"
#include "aot/decide/search/box_search.h"
#include "aot/engine/run/pool.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/passes.h"
#include "frontend/property/verdict_tables.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

// Cells that are bounded between two looks at the limits: the same for any number of threads.
constexpr std::size_t kRound = 8 * kBranchBatch;
// Moments are thinned out beyond so many.
constexpr std::size_t kMostMoments = 512;

mpq_class exact(float x) {
  return mpq_class(static_cast<double>(x));
}

// The closure of a case's box, exactly.
struct ExactBox {
  std::vector<mpq_class> lower, upper;
  std::vector<std::size_t> varying;

  ExactBox(const PropertyCase& one, const std::string& where) {
    const std::size_t inputs = one.box.lower.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      lower.emplace_back(one.box.lower[i]);
      upper.emplace_back(one.box.upper[i]);
    }
    for (const ExactEnd& end : one.lower_ends) lower[at(end)] = end.value;
    for (const ExactEnd& end : one.upper_ends) upper[at(end)] = end.value;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (lower[i] >= upper[i]) continue;
      varying.push_back(i);
      if (inputs > kMostExactEnds &&
          !(one.box.lower[i] == one.inner.lower[i] && one.box.upper[i] == one.inner.upper[i]))
        fail("BF3020", where,
             fmt::format("the ends of input {} are no doubles, which is not measured of more than "
                         "{} inputs",
                         i, kMostExactEnds));
    }
    if (varying.size() > kMostBranchedInputs)
      fail("BF3020", where,
           fmt::format("{} inputs vary in a box, and at most {} are measured", varying.size(),
                       kMostBranchedInputs));
  }

  static std::size_t at(const ExactEnd& end) { return static_cast<std::size_t>(end.input); }

  // The share of the box's volume that lies in a cell.
  mpq_class share(const input::FloatBox& cell) const {
    mpq_class product = 1;
    for (const std::size_t i : varying) {
      const mpq_class low = std::max(lower[i], exact(cell.lower[i]));
      const mpq_class high = std::min(upper[i], exact(cell.upper[i]));
      if (low >= high) return 0;
      product *= (high - low) / (upper[i] - lower[i]);
    }
    return product;
  }

  input::FloatBox enclosing() const {
    input::FloatBox box;
    for (std::size_t i = 0; i < lower.size(); ++i) {
      box.lower.push_back(float_at_most(lower[i]));
      box.upper.push_back(float_at_least(upper[i]));
    }
    return box;
  }
};

// Returns whether the condition holds at every point at which bounds of its row hold.
bool always_holds(const Condition& condition, const RowBounds& rows) {
  const auto row = static_cast<std::size_t>(condition.row);
  const float most = condition.negated ? -rows.lower[row] : rows.upper[row];
  if (!std::isfinite(most)) return false;
  return condition.strict ? exact(most) < condition.limit : exact(most) <= condition.limit;
}

// Bounds cells by twins of a verifier, on several threads.
class CellBounds {
 public:
  CellBounds(const Property& property, std::unique_ptr<const engine::HostVerifier> host,
             std::size_t threads)
      : rows_(std::max<std::size_t>(property.rows.size(), 1)),
        hosts_(std::max(threads, std::size_t{1})) {
    hosts_[0] = std::move(host);
  }

  // Calls judge(k, bounds of the rows) for each cell, on any thread.
  template <class Judge>
  void for_each(const std::vector<input::FloatBox>& cells, const Judge& judge) {
    const std::size_t calls = (cells.size() + kBranchBatch - 1) / kBranchBatch;
    for (std::size_t i = 1; i < std::min(hosts_.size(), calls); ++i)
      if (hosts_[i] == nullptr) hosts_[i] = hosts_[0]->twin();
    engine::share(hosts_.size(), calls, [&](std::size_t call, std::size_t worker) {
      const std::size_t first = call * kBranchBatch;
      const std::size_t count = std::min<std::size_t>(kBranchBatch, cells.size() - first);
      const std::vector<float> bounds = bound(*hosts_[worker], &cells[first], count);
      for (std::size_t k = 0; k < count; ++k)
        judge(first + k, RowBounds{{bounds.data() + k * rows_, rows_},
                                   {bounds.data() + (count + k) * rows_, rows_}});
    });
  }

 private:
  // The rows' lower bounds of all cells, and then the upper ones.
  std::vector<float> bound(const engine::HostVerifier& host, const input::FloatBox* cells,
                           std::size_t count) const {
    std::vector<float> lower, upper, rows(2 * count * rows_);
    for (std::size_t k = 0; k < count; ++k) {
      lower.insert(lower.end(), cells[k].lower.begin(), cells[k].lower.end());
      upper.insert(upper.end(), cells[k].upper.begin(), cells[k].upper.end());
    }
    std::vector<bf_status> statuses(count);
    const bf_status status = host.spec_bounds_batch(count, lower.data(), upper.data(), rows.data(),
                                                    rows.data() + count * rows_, statuses.data());
    for (const bf_status each : statuses)
      if (each != BF_OK || status != BF_OK)
        fail("BF3306", "verifier", "a cell of the box is refused");
    return rows;
  }

  const std::size_t rows_;
  std::vector<std::unique_ptr<const engine::HostVerifier>> hosts_;  // by worker; null: not made
};

// One case's box.
class CaseMeasure {
 public:
  CaseMeasure(const Property& property, const VerdictTables& tables, std::size_t index)
      : case_(property.cases[index]),
        tables_(tables),
        index_(static_cast<std::uint32_t>(index)),
        box_(case_, property.file_name) {}

  MeasuredCase run(CellBounds& bounds, const MeasureLimits& limits, const RequestCalls& calls) {
    open_.emplace(Key{1, 0}, box_.enclosing());
    note();
    while (!open_.empty() && made_.open > limits.width && !calls.stop() &&
           open_.size() + made_.cells.size() + kRound < limits.most_cells) {
      round(bounds);
      note();
      DecisionProgress progress;
      progress.phase = DecisionPhase::kBoxes;
      progress.nodes = made_.bounded;
      progress.proven = 1 - made_.open.get_d();
      calls.progress(progress);
    }
    for (auto& [key, box] : open_) keep(std::move(box), CellFate::kOpen);
    made_.is_reached = made_.open <= limits.width;
    std::ranges::sort(made_.cells, [](const Cell& a, const Cell& b) {
      return std::pair(a.box.lower, a.box.upper) < std::pair(b.box.lower, b.box.upper);
    });
    return std::move(made_);
  }

 private:
  // The largest cell comes first, the oldest of several. The share is rounded: it gives an order.
  struct Key {
    double share = 0;
    std::uint64_t number = 0;
    bool operator<(const Key& other) const {
      return share != other.share ? share > other.share : number < other.number;
    }
  };

  void keep(input::FloatBox box, CellFate fate) { made_.cells.push_back({std::move(box), fate}); }

  void round(CellBounds& bounds) {
    std::vector<input::FloatBox> cells;
    std::vector<double> shares;
    while (!open_.empty() && cells.size() < kRound) {
      shares.push_back(open_.begin()->first.share);
      cells.push_back(std::move(open_.begin()->second));
      open_.erase(open_.begin());
    }
    std::vector<CellFate> fates(cells.size());
    bounds.for_each(cells, [&](std::size_t k, const RowBounds& rows) { fates[k] = fate_of(rows); });
    made_.bounded += cells.size();
    for (std::size_t k = 0; k < cells.size(); ++k) settle(std::move(cells[k]), fates[k], shares[k]);
  }

  CellFate fate_of(const RowBounds& rows) const {
    bool excluded = true;
    for (std::uint32_t j = tables_.case_clauses[index_]; j < tables_.case_clauses[index_ + 1]; ++j)
      excluded = excluded && is_excluded(tables_, j, rows);
    if (excluded) return CellFate::kProven;
    const bool refuted = std::ranges::any_of(case_.clauses, [&](const Clause& clause) {
      return std::ranges::all_of(
          clause, [&](const Condition& condition) { return always_holds(condition, rows); });
    });
    return refuted ? CellFate::kRefuted : CellFate::kOpen;
  }

  void settle(input::FloatBox cell, CellFate fate, double share) {
    if (fate == CellFate::kOpen) {
      split(std::move(cell), share);
      return;
    }
    const mpq_class closed = box_.share(cell);
    (fate == CellFate::kProven ? made_.proven : made_.refuted) += closed;
    made_.open -= closed;
    keep(std::move(cell), fate);
  }

  // Halves the input that is widest beside the box, and can be halved.
  void split(input::FloatBox cell, double share) {
    std::optional<std::size_t> widest;
    double most = 0;
    for (const std::size_t i : box_.varying) {
      const double width =
          (static_cast<double>(cell.upper[i]) - static_cast<double>(cell.lower[i])) /
          mpq_class(box_.upper[i] - box_.lower[i]).get_d();
      const float middle = middle_of(cell, i);
      if (!(width > most) || middle <= cell.lower[i] || middle >= cell.upper[i]) continue;
      most = width;
      widest = i;
    }
    if (!widest) {
      keep(std::move(cell), CellFate::kOpen);
      return;
    }
    input::FloatBox other = cell;
    cell.upper[*widest] = other.lower[*widest] = middle_of(cell, *widest);
    for (input::FloatBox* const half : {&cell, &other})
      open_.emplace(Key{share / 2, ++numbers_}, std::move(*half));
  }

  static float middle_of(const input::FloatBox& cell, std::size_t i) {
    return 0.5F * cell.lower[i] + 0.5F * cell.upper[i];
  }

  void note() {
    std::vector<MeasuredMoment>& moments = made_.moments;
    moments.push_back(
        {stopwatch_.seconds(), made_.bounded, made_.proven.get_d(), made_.refuted.get_d()});
    if (moments.size() < kMostMoments) return;
    for (std::size_t k = 0; 2 * k < moments.size(); ++k) moments[k] = moments[2 * k];
    moments.resize((moments.size() + 1) / 2);
  }

  const PropertyCase& case_;
  const VerdictTables& tables_;
  const std::uint32_t index_;
  const ExactBox box_;
  const system::Stopwatch stopwatch_;
  std::map<Key, input::FloatBox> open_;
  std::uint64_t numbers_ = 0;
  MeasuredCase made_;
};

}  // namespace

std::vector<MeasuredCase> measure(const Sampler& network, const ModelInfo& info,
                                  const Property& property, const Request& request,
                                  const MeasureLimits& limits, const RequestCalls& calls) {
  if (network.graph().one_hot.size > 0)
    fail("BF2117", "sets of token ids", "shares of boxes are measured, not of sets of ids");
  check_interface(property, network.graph());
  const VerdictTables tables = verdict_tables(property);
  std::vector<CaseMeasure> cases;
  cases.reserve(property.cases.size());
  for (std::size_t i = 0; i < property.cases.size(); ++i) cases.emplace_back(property, tables, i);
  Request own = request;
  own.jobs = 1;  // each thread bounds cells of its own
  own.compile.planner.semantics = semantics_of(request.compile, property);
  own.compile.planner.batch = kBranchBatch;
  if (own.compile.planner.semantics == Semantics::kFloat32) check_float32(info);
  LinearSpec spec = to_spec(property);
  build::check_derived(spec, network.graph(), own.compile.planner.semantics);
  CellBounds bounds(property,
                    make_host(network.graph(), info, own, request.method.value_or(Method::kCrown),
                              std::move(spec)),
                    request.jobs > 0 ? request.jobs : system::core_count());
  std::vector<MeasuredCase> measured;
  for (CaseMeasure& each : cases) measured.push_back(each.run(bounds, limits, calls));
  return measured;
}

}  // namespace bf_aot::decide
