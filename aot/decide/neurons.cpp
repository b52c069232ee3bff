#include "aot/decide/neurons.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aot/host/progress.h"
#include "aot/neurons/node_state.h"
#include "aot/neurons/splitter.h"
#include "aot/tree/one_root.h"
#include "runtime/bf/search/verdict.h"

namespace bf_aot::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;  // of a network's products

// Seconds of a clause's first turn, and how much longer each other turn is.
constexpr double kClauseTurn = 0.25, kLonger = 4;

// What a clause's violation needs; see VerdictTerm: a real row above the threshold t of a condition
// from above violates it only below the next float.
std::vector<SplitTerm> terms_of(const VerdictTables& tables, std::uint32_t clause) {
  constexpr float kAll = std::numeric_limits<float>::infinity();
  std::vector<SplitTerm> terms;
  for (std::uint32_t i = tables.clause_terms[clause]; i < tables.clause_terms[clause + 1]; ++i) {
    const VerdictCondition& term = tables.terms[i];
    const float threshold = std::nextafter(term.threshold, term.at_least ? -kAll : kAll);
    // A condition that always holds excludes nothing.
    if (!std::isfinite(threshold)) continue;
    terms.push_back({term.row, term.at_least ? -1.0F : 1.0F, static_cast<double>(threshold)});
  }
  return terms;
}

std::size_t case_of(const VerdictTables& tables, std::uint32_t clause) {
  const auto after = std::ranges::upper_bound(tables.case_clauses, clause);
  return static_cast<std::size_t>(after - tables.case_clauses.begin()) - 1;
}

std::size_t clauses_of(const VerdictTables& tables) {
  return tables.clause_terms.size() - 1;
}

}  // namespace

// Expands nodes of the clause whose turn it is.
class NeuronSearch::Worker final : public tree::TreeWorker {
 public:
  explicit Worker(const NeuronSearch& search) : search_(search) {}

  std::size_t lanes() const override { return kLanes; }

  void expand(std::span<const tree::Node> nodes, std::vector<tree::Expansion>& out) override {
    const std::uint32_t root = nodes.front().root;
    if (network_ != search_.network_ || root_ != root) {
      splitter_.reset();
      network_ = search_.network_;
      root_ = root;
      splitter_ =
          std::make_unique<NodeSplitter>(*network_, terms_of(search_.cases_.tables(), root));
    }
    nodes_.clear();
    for (const tree::Node& node : nodes)
      nodes_.push_back(node.state.empty()
                           ? splitter_->root()
                           : read_node(node, network_->open(), splitter_->terms().size()));
    splitter_->expand(nodes_, results_);
    out.assign(nodes.size(), {});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      SplitResult& result = results_[i];
      out[i].fate = result.closed   ? tree::Fate::kClosed
                    : result.halves ? tree::Fate::kSplit
                                    : tree::Fate::kStuck;
      if (result.halves) {
        out[i].first = state_of(result.halves->first);
        out[i].second = state_of(result.halves->second);
      }
      if (result.point) {
        ++points_;
        out[i].proposal = tree::Proposal{root, {result.point->begin(), result.point->end()}};
      }
    }
  }

  std::uint64_t points() const override { return points_; }

 private:
  const NeuronSearch& search_;
  std::shared_ptr<const SplitNetwork> network_;
  std::uint32_t root_ = 0;
  std::unique_ptr<NodeSplitter> splitter_;
  std::vector<SplitNode> nodes_;
  std::vector<SplitResult> results_;
  std::uint64_t points_ = 0;
};

bool has_neuron_splits(const Plan& plan) {
  return SplitNetwork::covers(plan);
}

NeuronSearch::NeuronSearch(const HostVerifier& verifier, const Plan& plan, const Cases& cases,
                           std::size_t threads)
    : state(tree::start_of(std::vector<std::vector<std::byte>>(clauses_of(cases.tables())))),
      verifier_(verifier),
      plan_(plan),
      cases_(cases),
      network_case_(cases.count()),
      search_(threads, [this](std::size_t) { return std::make_unique<Worker>(*this); }) {}

NeuronSearch::~NeuronSearch() = default;

// The network of the clause's case. False where it would be too large.
bool NeuronSearch::prepare(std::uint32_t clause) {
  const std::size_t index = case_of(cases_.tables(), clause);
  if (network_case_ == index && network_ != nullptr) return true;
  const FloatBox box = cases_.box(index);
  const auto ranges = verifier_.spec_ranges(box);
  network_ = nullptr;
  if (!ranges.empty())
    network_ = SplitNetwork::make(plan_, box.lower, box.upper, ranges, kMostBytes);
  network_case_ = index;
  return network_ != nullptr;
}

// Cases all of whose clauses are excluded are verified.
void NeuronSearch::mark(Cases& cases) const {
  const auto& first = cases.tables().case_clauses;
  for (const std::size_t index : cases.open()) {
    bool all = true;
    for (std::uint32_t clause = first[index]; clause < first[index + 1]; ++clause)
      all = all && tree::is_verified(state, clause);
    if (all) cases.mark_verified(index);
  }
}

bool NeuronSearch::is_over() const {
  return state.open.empty() || too_large_;
}

std::optional<Witness> NeuronSearch::run(Cases& cases, double seconds, const BranchCalls& calls) {
  const Stopwatch stopwatch;
  const double before = seconds_;
  const VerdictTables& tables = cases.tables();
  std::optional<Witness> witness;
  tree::TreeCalls tree_calls;
  tree_calls.prove = [&](const tree::Proposal& proposal) {
    witness = calls.prove(case_of(tables, proposal.root), proposal.x);
    return witness.has_value();
  };
  tree_calls.stop = calls.stop;
  tree_calls.progress = [&](const tree::TreeProgress& progress) {
    seconds_ = before + stopwatch.seconds();
    calls.progress(progress.nodes, progress.closed);
  };
  for (std::size_t k = 0; k < cases.count(); ++k)
    if (cases.is_verified(k))
      for (std::uint32_t clause = tables.case_clauses[k]; clause < tables.case_clauses[k + 1];
           ++clause)
        tree::close_root(state, clause);
  for (double turn = kClauseTurn; !is_over() && !witness; turn *= kLonger) {
    std::vector<std::uint32_t> open;
    for (const tree::Node& node : state.open) open.push_back(node.root);
    std::ranges::sort(open);
    open.erase(std::ranges::unique(open).begin(), open.end());
    for (std::size_t k = 0; k < open.size() && !witness; ++k) {
      const double left = seconds - stopwatch.seconds();
      if (left <= 0 || calls.stop()) break;
      if (!prepare(open[k])) {
        too_large_ = true;
        break;
      }
      const tree::OneRoot one(state, open[k]);
      search_.run(state, {.seconds = std::min(left, turn)}, tree_calls);
    }
    if (stopwatch.seconds() >= seconds || calls.stop()) break;
  }
  mark(cases);
  seconds_ = before + stopwatch.seconds();
  return witness;
}

NeuronTotals NeuronSearch::totals() const {
  NeuronTotals totals = {state.nodes, 0, seconds_};
  for (const tree::RootLeaves& root : state.roots) totals.leaves += root.stuck.leaves();
  return totals;
}

}  // namespace bf_aot::cli
