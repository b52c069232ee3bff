#include "aot/decide/search/neuron_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aot/decide/neurons/node_state.h"
#include "aot/decide/neurons/splitter.h"
#include "aot/decide/search/held_out.h"
#include "frontend/sha256.h"
#include "planner/network/split_network.h"
#include "planner/verify/verify.h"

namespace bf_aot::decide {
namespace {

// Nodes after which a device is asked for, whose compiler takes a second or more.
constexpr std::uint64_t kBeforeDevice = 512;
constexpr std::size_t kMostBytes = std::size_t{2} << 30;  // for the products of a network

NodeShape shape_of(const BoxNetwork& network, std::size_t terms) {
  return {network.is_function(), network.functions(), terms, network.products()};
}

std::size_t clauses_of(const VerdictTables& tables) {
  return tables.clause_terms.size() - 1;
}

}  // namespace

// Conditions compare real rows with float32 thresholds; see VerdictTerm: a real row above the
// threshold t of a condition from above violates it only below the next float.
std::vector<ClauseTerm> terms_of(const VerdictTables& tables, std::uint32_t clause) {
  constexpr float kAll = std::numeric_limits<float>::infinity();
  std::vector<ClauseTerm> terms;
  for (std::uint32_t i = tables.clause_terms[clause]; i < tables.clause_terms[clause + 1]; ++i) {
    const VerdictCondition& term = tables.terms[i];
    const float threshold = std::nextafter(term.threshold, term.at_least ? -kAll : kAll);
    // A condition that always holds excludes nothing.
    if (!std::isfinite(threshold)) continue;
    terms.push_back(
        {term.row, term.at_least ? -1.0F : 1.0F, static_cast<double>(threshold), tables.limits[i]});
  }
  return terms;
}

// Expands nodes of the clause whose turn it is.
class NeuronSearch::Worker final : public tree::TreeWorker {
 public:
  // workers: that may share what one node takes. ask_device: null where no device may propose.
  Worker(const NeuronSearch& search, std::size_t workers, const AskNodeDevice* ask_device)
      : search_(search), workers_(workers), ask_device_(ask_device) {}

  std::size_t lanes() const override {
    return splitter_ != nullptr ? splitter_->together() : kLanes;
  }
  std::size_t least_lanes() const override { return kLanes; }

  void expand(std::span<const tree::Node> nodes, std::vector<tree::Expansion>& out) override {
    const std::uint32_t root = nodes.front().root;
    const bool opens = ask_device();
    if (network_ != search_.network_ || root_ != root || opens) make_splitter(root);
    nodes_.clear();
    for (const tree::Node& node : nodes)
      nodes_.push_back(node.state.empty()
                           ? splitter_->root()
                           : read_node(node, shape_of(*network_, splitter_->terms().size())));
    splitter_->expand(nodes_, results_);
    (splitter_->propagates() ? search_.of_clauses_ : search_.of_gains_) += nodes.size();
    search_.on_device_ += splitter_->device_nodes() - on_device_;
    on_device_ = splitter_->device_nodes();
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
  // Whether there is a device from now on.
  bool ask_device() {
    if (ask_device_ == nullptr || !*ask_device_ || device_ != nullptr) return false;
    if (search_.of_gains_ < kBeforeDevice || search_.flat_shape_ == nullptr) return false;
    device_ = (*ask_device_)();
    return device_ != nullptr;
  }

  void make_splitter(std::uint32_t root) {
    splitter_.reset();
    network_ = search_.network_;
    planes_ = search_.planes_;
    root_ = root;
    on_device_ = 0;
    const bool fits =
        device_ != nullptr && search_.flat_shape_ != nullptr && device_->fits(*search_.flat_shape_);
    splitter_ = std::make_unique<NodeSplitter>(
        *network_, terms_of(search_.cases().tables(), root), SplitSettings(), workers_,
        planes_.get(), fits ? std::make_unique<DeviceNodes>(*device_, search_.flat()) : nullptr);
    splitter_->pause = [this] {
      if (!goes_on()) throw tree::Abandoned();
    };
  }

  const NeuronSearch& search_;
  const std::size_t workers_;
  const AskNodeDevice* const ask_device_;
  std::shared_ptr<const BoxNetwork> network_;
  std::shared_ptr<NeuronPlanes> planes_;
  std::uint32_t root_ = 0;
  std::shared_ptr<NodeDevice> device_;  // null while it is not ready
  std::unique_ptr<NodeSplitter> splitter_;
  std::uint64_t on_device_ = 0;  // nodes of `splitter_`
  std::vector<SplitNode> nodes_;
  std::vector<SplitResult> results_;
  std::uint64_t points_ = 0;
};

NeuronSearch::NeuronSearch(const DecisionVerifier& verifier, const Cases& cases,
                           std::size_t threads, AskNodeDevice ask_device)
    : SplitSearch(cases, std::vector<std::vector<std::byte>>(clauses_of(cases.tables())), threads),
      verifier_(verifier),
      plan_(*verifier.plan),
      planned_(std::make_unique<SplitNetworkPlan>(split_network_of(plan_))),
      network_case_(cases.count()),
      ask_device_(std::move(ask_device)) {
  verify_split_network(plan_, *planned_);
}

NeuronSearch::~NeuronSearch() = default;

// The first thread alone expands roots, before the others begin.
std::unique_ptr<tree::TreeWorker> NeuronSearch::make_worker(std::size_t thread) {
  return std::make_unique<Worker>(*this, thread == 0 ? threads() : 1, &ask_device_);
}

// Each part makes the same nodes, so they depend on no device.
std::unique_ptr<tree::TreeWorker> NeuronSearch::make_breadth_worker() {
  return std::make_unique<Worker>(*this, threads(), nullptr);
}

std::size_t NeuronSearch::case_of(std::uint32_t root) const {
  const auto after = std::ranges::upper_bound(cases().tables().case_clauses, root);
  return static_cast<std::size_t>(after - cases().tables().case_clauses.begin()) - 1;
}

std::vector<engine::Ranges> NeuronSearch::ranges_on(std::size_t index,
                                                    const input::FloatBox& box) const {
  if (verifier_.left && verifier_.left->index == index) return verifier_.left->ranges;
  return verifier_.host->spec_ranges(box).ranges;
}

// Requires flat_shape_.
std::shared_ptr<const FlatNetwork> NeuronSearch::flat() const {
  const std::scoped_lock lock(flattening_);
  if (flat_ == nullptr) flat_ = std::make_shared<const FlatNetwork>(flat_network(*network_));
  return flat_;
}

// The network of the clause's case.
bool NeuronSearch::prepare(std::uint32_t root) {
  const std::size_t index = case_of(root);
  if (network_case_ == index && network_ != nullptr) return true;
  const input::FloatBox box = cases().box(index);
  const std::vector<engine::Ranges> ranges = ranges_on(index, box);
  network_ = nullptr;
  if (!ranges.empty())
    network_ = BoxNetwork::make(plan_, *planned_, box.lower, box.upper, ranges, kMostBytes);
  planes_ = network_ != nullptr && NeuronPlanes::covers(*network_)
                ? std::make_shared<NeuronPlanes>(*network_)
                : nullptr;
  flat_ = nullptr;
  const auto shape = network_ != nullptr && ask_device_ ? flat_shape(*network_) : std::nullopt;
  flat_shape_ = shape ? std::make_unique<const FlatShape>(*shape) : nullptr;
  network_case_ = index;
  return network_ != nullptr;
}

SearchTotals NeuronSearch::totals() const {
  SearchTotals made = SplitSearch::totals();
  made.on_device = on_device_;
  return made;
}

std::optional<SplitRule> NeuronSearch::rule() const {
  return of_clauses_ > of_gains_ ? SplitRule::kClauses : SplitRule::kGain;
}

// The open node with the least bound, which is that of its parent, of the case that was searched
// last: other cases' networks are gone.
std::optional<HeldOut> NeuronSearch::held_out(double seconds) {
  constexpr double kNodesOfASplitter = kLanes;  // about, that making it takes
  const auto is_open = [&](const tree::Node& node) {
    return network_ != nullptr && case_of(node.root) == network_case_;
  };
  const tree::Node* worst = nullptr;
  for (const tree::Node& node : state.open)
    if (is_open(node) && (worst == nullptr || bound_of(node) < bound_of(*worst))) worst = &node;
  if (worst == nullptr) return std::nullopt;
  const VerdictTables& tables = cases().tables();
  HeldOut made;
  made.by = phase();
  made.property_case = network_case_;
  made.clause = worst->root - tables.case_clauses[network_case_];
  made.splits = worst->depth;
  if (std::isfinite(bound_of(*worst))) made.lacks = std::max(0.0F, -bound_of(*worst));
  const std::vector<ClauseTerm> terms = terms_of(tables, worst->root);
  std::optional<SplitNode> node;
  if (!worst->state.empty()) {
    node = read_node(*worst, shape_of(*network_, terms.size()));
    for (const NeuronSplit& split : node->splits)
      made.sides.push_back({name_of(plan_, *network_, split.open), split.positive, split.point});
  }
  const SearchTotals done = totals();
  const double once = done.seconds * static_cast<double>(threads()) /
                      static_cast<double>(std::max<std::uint64_t>(done.nodes, 1));
  if (once * kNodesOfASplitter > seconds) return made;
  NodeSplitter splitter(*network_, terms);
  made.neuron = most_influential(plan_, *network_, splitter, node ? *node : splitter.root());
  return made;
}

std::string NeuronSearch::identity() {
  std::string text = "neurons and ranges";
  for (std::size_t index = 0; index < cases().count(); ++index) {
    const std::uint32_t first = cases().tables().case_clauses[index];
    if (first == cases().tables().case_clauses[index + 1]) continue;
    text += fmt::format(" case {}", index);
    if (!prepare(first)) continue;
    for (std::size_t open = 0; open < network_->open(); ++open) {
      const auto [layer, place] = network_->place_of(open);
      const auto& neurons = network_->layers()[static_cast<std::size_t>(layer)].neurons;
      text += fmt::format(" {}:{}", layer, neurons[static_cast<std::size_t>(place)]);
    }
    for (const BoxNetwork::BoxLayer& layer : network_->layers())
      for (const double bias : layer.bias) text += fmt::format(" {:a}", bias);
  }
  return sha256(text);
}

const char* NeuronSearch::fault_of(const tree::Node& node) {
  if (node.root >= clauses_of(cases().tables())) return "a clause that the property does not have";
  if (!prepare(node.root)) return "a node of a network that is too large";
  return node_fault(node, shape_of(*network_, terms_of(cases().tables(), node.root).size()));
}

}  // namespace bf_aot::decide
