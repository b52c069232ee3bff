#include "aot/decide/disturbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/disturb/lines.h"
#include "aot/input/directed.h"
#include "aot/system/interrupt.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/disturbance/lines_front.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "frontend/sha256.h"
#include "runtime/bf.h"

namespace bf_aot::decide {
namespace {

// Cells that are bounded together.
constexpr std::size_t kCells = 16;
// Middles of cells this many splits apart are proposed: a proof takes longer than bounds.
constexpr std::uint32_t kTriedCells = 4;
constexpr double kCellSeconds = 20, kCellSecondsMost = 1e6;

// Throws: BF2117.
void refuse_disturbed(const std::string& what, const std::string& hint) {
  fail("BF2117", "--disturbance", what, hint);
}

void check_pictures(const Sampler& network, const Request& request) {
  const PlannerConfig& planner = request.compile.planner;
  if (planner.semantics != Semantics::kReal)
    refuse_disturbed("disturbed pictures are bounded in real arithmetic", "--semantics real");
  if (planner.norm != Norm::kLargest)
    refuse_disturbed("ranges of disturbances are no balls", "leave --norm out");
  if (network.graph().one_hot.size > 0)
    refuse_disturbed("the network reads token ids", "disturbances are of pictures");
}

void check_disturbed(const Property& property) {
  if (property.networks.size() > 1)
    refuse_disturbed("a query about several networks decides boxes alone", "ask about one network");
  if (is_float32(property))
    refuse_disturbed("disturbed pictures are bounded in real arithmetic",
                     "declare tensors as Real");
  if (speaks_of_inputs(property) || !property.derived.empty())
    refuse_disturbed("the property has conditions on inputs, or that are not linear",
                     "conditions are linear in outputs; inputs have a box");
}

// The verifier of the network behind lines in the ranges, with rows of `spec` or none.
std::unique_ptr<const engine::HostVerifier> make_cell_host(const Sampler& network,
                                                           const ModelInfo& info,
                                                           const DisturbedInput& disturbed,
                                                           const Request& request, Method method,
                                                           std::optional<LinearSpec> spec) {
  Request own = request;
  own.jobs = 1;  // each thread has cells of its own
  own.compile.planner.batch = static_cast<int>(kCells);
  const auto ranges = static_cast<std::int64_t>(disturbed.subject.maker.ranges());
  return make_host(ranges > 0 ? behind_lines(network.graph(), ranges) : network.graph(), info, own,
                   method, std::move(spec));
}

// Returns whether no picture of the cell lies in a box of the network's inputs.
bool misses_box(const disturb::PictureMaker& maker, const disturb::CellBox& cell, const Box& box) {
  const std::size_t inputs = maker.picture().size(), sides = maker.ranges();
  const std::size_t offsets = cell.lower.size() - inputs;
  for (std::size_t i = 0; i < inputs; ++i) {
    double reach = 0;
    for (std::size_t j = 0; j < sides; ++j)
      reach = input::sum(reach, std::fabs(static_cast<double>(cell.lower[sides + j * inputs + i])),
                         true);
    if (input::sum(static_cast<double>(cell.upper[offsets + i]), reach, true) < box.lower[i] ||
        input::sum(static_cast<double>(cell.lower[offsets + i]), -reach, false) > box.upper[i])
      return true;
  }
  return false;
}

// Proves that disturbed pictures violate a property, on the network as it was imported.
class PictureCheck {
 public:
  PictureCheck(const Sampler& network, const Property& property, const DisturbedInput& disturbed)
      : property_(property),
        subject_(disturbed.subject),
        ordered_(ordered_network(network, property, true)),
        network_(ordered_ ? *ordered_ : network) {}

  std::optional<Witness> prove(std::size_t index, const disturb::Position& point) const {
    const std::vector<disturb::Parameter>& parameters = subject_.maker.parameters();
    // Which numbers a patch has is not among the parameters.
    if (parameters[0].kind == disturb::Kind::kPatch) return std::nullopt;
    const PropertyCase& one = property_.cases[index];
    const std::vector<disturb::Range> x = disturb::picture_at(
        subject_.maker, subject_.picture, disturb::parameters_at(parameters, point));
    std::vector<Bounded> input;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!(one.inner.lower[i] <= x[i].low && x[i].high <= one.inner.upper[i])) return std::nullopt;
      const double middle = x[i].middle();
      input.push_back({middle, std::max(input::sum(x[i].high, -middle, true),
                                        input::sum(middle, -x[i].low, true))});
    }
    const std::vector<Bounded> y = network_.outputs(input);
    for (std::size_t clause = 0; clause < one.clauses.size(); ++clause) {
      if (!std::ranges::all_of(one.clauses[clause],
                               [&](const Condition& each) { return holds(each, y); }))
        continue;
      Witness made;
      made.property_case = index;
      made.clause = clause;
      for (const Bounded& each : input) made.x.emplace_back(each.value);
      made.point = point;
      for (const Bounded& each : y) made.y.push_back(each.value);
      const std::vector<mpq_class> at = disturb::parameters_at(parameters, point);
      for (std::size_t j = 0; j < parameters.size(); ++j)
        made.parameters.emplace_back(parameters[j].name, vnnlib::nearest_double(at[j]));
      return made;
    }
    return std::nullopt;
  }

 private:
  // Returns whether a condition holds for all numbers that y may be.
  bool holds(const Condition& condition, const std::vector<Bounded>& y) const {
    mpq_class most = 0;
    for (const auto& [index, factor] : property_.row_of(condition).outputs) {
      const Bounded& each = y[static_cast<std::size_t>(index)];
      if (!std::isfinite(each.value) || !std::isfinite(each.error)) return false;
      const mpq_class own = condition.negated ? mpq_class(-factor) : factor;
      most += own * mpq_class(each.value) + abs(own) * mpq_class(each.error);
    }
    return condition.strict ? most < condition.limit : most <= condition.limit;
  }

  const Property& property_;
  const disturb::Subject subject_;
  const std::optional<Sampler> ordered_;
  const Sampler& network_;
};

// Halves cells of the ranges. Root k is case k.
class CellSearch final : public SplitSearch {
 public:
  // All arguments must outlive this.
  CellSearch(const engine::HostVerifier& verifier, const DisturbedInput& disturbed,
             const Cases& cases, std::size_t threads)
      : SplitSearch(cases, roots_of(disturbed, cases.count()), threads),
        verifier_(verifier),
        disturbed_(disturbed) {}

  DecisionPhase phase() const override { return DecisionPhase::kBoxes; }
  std::string identity() override { return sha256("disturbed " + disturbed_.identity); }

  const char* fault_of(const tree::Node& node) override {
    if (node.root >= cases().count()) return "a case that the property does not have";
    if (!disturb::cell_from(disturbed_.subject.maker.parameters(), node.state))
      return "no part of the disturbances' ranges";
    return nullptr;
  }

  bool may_propose(const std::vector<double>& x) const override {
    return disturb::is_position(disturbed_.subject.maker.parameters(), x);
  }

 private:
  static std::vector<std::vector<std::byte>> roots_of(const DisturbedInput& disturbed,
                                                      std::size_t cases) {
    const disturb::Cell whole = disturb::whole(disturbed.subject.maker.parameters());
    return std::vector<std::vector<std::byte>>(cases, disturb::bytes_of(whole));
  }

  class Worker final : public tree::TreeWorker {
   public:
    explicit Worker(const CellSearch& search)
        : search_(search),
          subject_(search.disturbed_.subject),
          verifier_(search.verifier_.twin()),
          rows_(std::max<std::size_t>(search.cases().property().rows.size(), 1)) {}

    std::size_t lanes() const override { return kCells; }

    void expand(std::span<const tree::Node> nodes, std::vector<tree::Expansion>& out) override {
      std::vector<disturb::Cell> cells;
      std::vector<disturb::CellBox> boxes;
      std::vector<float> lower, upper;
      for (const tree::Node& node : nodes) {
        if (!goes_on()) throw tree::Abandoned();
        const disturb::Cell& cell =
            cells.emplace_back(*disturb::cell_from(subject_.maker.parameters(), node.state));
        const disturb::CellBox& box =
            boxes.emplace_back(disturb::box_of(subject_, cell, "the picture"));
        lower.insert(lower.end(), box.lower.begin(), box.lower.end());
        upper.insert(upper.end(), box.upper.begin(), box.upper.end());
      }
      std::vector<float> row_lower(nodes.size() * rows_), row_upper(nodes.size() * rows_);
      std::vector<bf_status> statuses(nodes.size());
      const bf_status status =
          verifier_->spec_bounds_batch(nodes.size(), lower.data(), upper.data(), row_lower.data(),
                                       row_upper.data(), statuses.data());
      if (status != BF_OK)
        fail("BF3306", "spec_bounds_batch",
             std::string("the verifier refused: ") + bf_status_text(status));
      for (std::size_t k = 0; k < nodes.size(); ++k) {
        const RowBounds rows = {std::span(row_lower).subspan(k * rows_, rows_),
                                std::span(row_upper).subspan(k * rows_, rows_)};
        out.push_back(judged(nodes[k], cells[k], boxes[k],
                             statuses[k] == BF_OK && is_closed(nodes[k].root, rows)));
      }
    }

   private:
    bool is_closed(std::uint32_t index, const RowBounds& rows) const {
      const VerdictTables& tables = search_.cases().tables();
      for (std::uint32_t j = tables.case_clauses[index]; j < tables.case_clauses[index + 1]; ++j)
        if (!is_excluded(tables, j, rows)) return false;
      return true;
    }

    tree::Expansion judged(const tree::Node& node, const disturb::Cell& cell,
                           const disturb::CellBox& box, bool closed) const {
      const std::vector<disturb::Parameter>& parameters = subject_.maker.parameters();
      tree::Expansion made;
      const Box& inputs = search_.cases().property().cases[node.root].box;
      if (closed || misses_box(subject_.maker, box, inputs)) {
        made.fate = tree::Fate::kClosed;
        return made;
      }
      const auto side = disturb::side_to_split(subject_.maker, cell, box);
      if (!side || node.depth % kTriedCells == 0)
        made.proposal = tree::Proposal{node.root, disturb::middle_of(parameters, cell)};
      if (!side || node.depth >= tree::kMostDepth) return made;
      made.fate = tree::Fate::kSplit;
      const auto [low, high] = disturb::halves_of(parameters, cell, *side);
      made.first = disturb::bytes_of(low);
      made.second = disturb::bytes_of(high);
      return made;
    }

    const CellSearch& search_;
    const disturb::Subject subject_;
    const std::unique_ptr<const engine::HostVerifier> verifier_;
    const std::size_t rows_;
  };

  std::unique_ptr<tree::TreeWorker> make_worker(std::size_t) override {
    return std::make_unique<Worker>(*this);
  }
  std::size_t case_of(std::uint32_t root) const override { return root; }
  bool prepare(std::uint32_t) override { return true; }

  const engine::HostVerifier& verifier_;
  const DisturbedInput& disturbed_;
};

// Tries points of a grid.
std::optional<Witness> scan_pictures(const PictureCheck& check, const Cases& cases,
                                     const DisturbedInput& disturbed, const system::Stop& stop) {
  for (const disturb::Position& point : disturb::grid_of(disturbed.subject.maker.parameters()))
    for (std::size_t index = 0; index < cases.count(); ++index) {
      if (stop()) return std::nullopt;
      if (auto found = check.prove(index, point)) return found;
    }
  return std::nullopt;
}

double width_of_outputs(const engine::Bounds& bounds) {
  double width = 0;
  for (std::size_t i = 0; i < bounds.lower.size(); ++i) width += bounds.upper[i] - bounds.lower[i];
  return std::isnan(width) ? std::numeric_limits<double>::infinity() : width;
}

void join_bounds(engine::Bounds& all, const engine::Bounds& part) {
  if (all.lower.empty()) all = part;
  for (std::size_t i = 0; i < all.lower.size(); ++i) {
    all.lower[i] = std::min(all.lower[i], part.lower[i]);
    all.upper[i] = std::max(all.upper[i], part.upper[i]);
  }
}

}  // namespace

Outcome decide_disturbed(const Sampler& network, const ModelInfo& info, const Property& property,
                         const DisturbedInput& disturbed, const Request& request,
                         const RequestCalls& calls) {
  const system::Stopwatch stopwatch;
  check_disturbed(property);
  check_pictures(network, request);
  check_interface(property, network.graph());
  Cases cases(property, disturbed.subject.maker.parameters().size());
  const PictureCheck check(network, property, disturbed);
  Outcome outcome;
  outcome.cases = cases.count();
  const bool begins =
      calls.company == nullptr && (calls.keeper == nullptr || !calls.keeper->goes_on());
  if (begins) outcome.witness = scan_pictures(check, cases, disturbed, calls.stop);

  const DecisionMethod method = {request.method.value_or(Method::kCrown)};
  bool goes_on = !outcome.witness && !calls.stop();
  if (calls.company != nullptr) goes_on = calls.company->is_so_for_all(goes_on);
  if (goes_on) {
    calls.before_plan(method);
    const system::Stopwatch planning;
    const auto host =
        make_cell_host(network, info, disturbed, request, method.method, to_spec(property));
    outcome.make_seconds = planning.seconds();
    calls.after_plan(method, outcome.make_seconds);
    outcome.methods.push_back(method);
    const std::size_t jobs = request.jobs > 0 ? request.jobs : system::core_count();
    CellSearch search(*host, disturbed, cases, jobs);
    SearchCalls own;
    own.prove = [&](std::size_t index, const std::vector<double>& point) {
      return check.prove(index, point);
    };
    own.stop = calls.stop;
    own.progress = calls.progress;
    own.company = calls.company;
    if (TreeKeeper* const keeper = calls.keeper) {
      own.save = [keeper](const tree::TreeState& state) { keeper->save(state); };
      keeper->begin(search);
    }
    const bool lasts = request.timeout_seconds > 0 || request.keeps_tree();
    const system::Stopwatch deciding;
    try {
      outcome.witness = search.run(
          cases, {request.branch_seconds.value_or(lasts ? kCellSecondsMost : kCellSeconds)}, own);
    } catch (const system::Interrupted&) {
      if (calls.keeper != nullptr) calls.keeper->finish(std::nullopt);
      throw;
    }
    if (calls.keeper != nullptr) calls.keeper->finish(outcome.witness);
    outcome.decide_seconds = deciding.seconds();
    outcome.searches[static_cast<std::size_t>(search.phase())] = search.totals();
  }
  outcome.verified_cases = cases.verified_count();
  if (outcome.witness)
    outcome.answer = Answer::kFalsified;
  else if (outcome.verified_cases == outcome.cases)
    outcome.answer = Answer::kVerified;
  else
    outcome.stopped = calls.stop();
  outcome.seconds = stopwatch.seconds();
  return outcome;
}

DisturbedBounds bound_disturbed(const Sampler& network, const ModelInfo& info,
                                const DisturbedInput& disturbed, const Request& request,
                                std::size_t parts) {
  check_pictures(network, request);
  const std::optional<LinearSpec>& spec = request.compile.spec;
  const auto host = make_cell_host(network, info, disturbed, request,
                                   request.method.value_or(Method::kCrown), spec);
  const disturb::PictureMaker& maker = disturbed.subject.maker;
  struct Part {
    disturb::Cell cell;
    engine::Bounds outputs, rows;
    std::optional<std::size_t> side;
    double width = 0;
  };
  const auto bounded = [&](disturb::Cell cell) {
    const disturb::CellBox box = disturb::box_of(disturbed.subject, cell, "the picture");
    Part part;
    part.outputs = host->bounds({box.lower, box.upper});
    if (spec) part.rows = host->spec_bounds({box.lower, box.upper});
    part.side = disturb::side_to_split(maker, cell, box);
    part.width = part.side ? width_of_outputs(part.outputs) : -1;
    part.cell = std::move(cell);
    return part;
  };
  std::vector<Part> all;
  all.push_back(bounded(disturb::whole(maker.parameters())));
  while (all.size() < parts) {
    system::throw_if_interrupted();
    const auto widest = std::ranges::max_element(all, {}, &Part::width);
    if (!widest->side) break;
    const auto [low, high] = disturb::halves_of(maker.parameters(), widest->cell, *widest->side);
    *widest = bounded(low);
    all.push_back(bounded(high));
  }
  DisturbedBounds made;
  made.parts = all.size();
  for (const Part& part : all) {
    join_bounds(made.outputs, part.outputs);
    if (!spec) continue;
    if (!made.rows) made.rows.emplace();
    join_bounds(*made.rows, part.rows);
  }
  return made;
}

}  // namespace bf_aot::decide
