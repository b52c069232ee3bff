#include "aot/decide/difference_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/decide/differences.h"
#include "aot/decide/search/split_search.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/passes/difference/difference_network.h"
#include "frontend/property/clause_boxes.h"
#include "frontend/sha256.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot::decide {
namespace {

// The neurons of a box's slopes are bounded by two rows each, which pass the whole network.
constexpr std::size_t kMostNeurons = 8192;
// Centres of boxes this many splits apart are proposed: a proof takes about as long as bounds.
constexpr std::uint32_t kTried = 4;
using DifferencePart = DifferenceBounds::Part;

// Writes and reads a part as the state of a node: the ends of its box, then those of the slopes,
// then those of the outputs, each number's bytes from the lowest.
class PartBytes {
 public:
  PartBytes(std::size_t inputs, std::size_t slopes, std::size_t outputs)
      : inputs_(inputs), slopes_(slopes), outputs_(outputs) {}

  std::vector<std::byte> write(const DifferencePart& part) const {
    std::vector<std::byte> state;
    state.reserve(size());
    for (const auto* ends : {&part.box.lower, &part.box.upper})
      for (const double x : *ends) append(std::bit_cast<std::uint64_t>(x), 8, state);
    for (const auto* ends : {&part.least, &part.most})
      for (const float x : *ends) append(std::bit_cast<std::uint32_t>(x), 4, state);
    for (const OutputDifference& output : part.outputs)
      for (const double x : {output.lower, output.upper})
        append(std::bit_cast<std::uint64_t>(x), 8, state);
    return state;
  }

  // None where the state is of another size.
  std::optional<DifferencePart> read(const std::vector<std::byte>& state) const {
    if (state.size() != size()) return std::nullopt;
    const std::byte* next = state.data();
    const auto number = [&](std::size_t bytes) {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < bytes; ++i)
        bits |= std::to_integer<std::uint64_t>(*next++) << (8 * i);
      return bits;
    };
    const auto real = [&] { return std::bit_cast<double>(number(8)); };
    DifferencePart part;
    for (auto* const ends : {&part.box.lower, &part.box.upper})
      for (std::size_t i = 0; i < inputs_; ++i) ends->push_back(real());
    for (auto* const ends : {&part.least, &part.most})
      for (std::size_t i = 0; i < slopes_; ++i)
        ends->push_back(std::bit_cast<float>(static_cast<std::uint32_t>(number(4))));
    for (std::size_t i = 0; i < outputs_; ++i) {
      const double lower = real();
      part.outputs.push_back({lower, real()});
    }
    return part;
  }

 private:
  std::size_t size() const { return 16 * inputs_ + 8 * slopes_ + 16 * outputs_; }
  static void append(std::uint64_t bits, std::size_t bytes, std::vector<std::byte>& state) {
    for (std::size_t i = 0; i < bytes; ++i)
      state.push_back(static_cast<std::byte>(bits >> (8 * i)));
  }

  std::size_t inputs_, slopes_, outputs_;
};

// Halves the boxes of cases. Root k is case k; a node is a box with the slopes and intervals that
// hold in the box that it is a half of. Where no other search has turns, a verifier of both
// networks bounds what differences leave open: alone, they never prove a limit that a difference of
// slopes passes in each box around a point.
class DifferenceSearch final : public SplitSearch {
 public:
  // merged: bounds the property's rows by both networks; may be null.
  DifferenceSearch(DifferenceBounds bounds, std::unique_ptr<const engine::HostVerifier> merged,
                   const Property& property, const Cases& cases, bool splits, std::size_t threads)
      : SplitSearch(cases, std::vector<std::vector<std::byte>>(property.cases.size()), threads),
        own_(property),
        splits_(splits),
        bounds_(std::move(bounds)),
        merged_(std::move(merged)),
        bytes_(static_cast<std::size_t>(property.input_count), bounds_.slopes(),
               bounds_.outputs()) {
    for (const PropertyCase& one : property.cases) roots_.push_back(box_of_case(property, one));
  }

  DecisionPhase phase() const override { return DecisionPhase::kDifferences; }
  std::optional<SplitRule> rule() const override { return SplitRule::kSlopes; }

  // Bounds of a box may take longer than all of the time: they end with it, and are made anew.
  std::optional<Witness> run(Cases& cases, const SearchBudget& budget,
                             const SearchCalls& calls) override {
    SearchCalls timed = calls;
    if (calls.company == nullptr) timed.stop = calls.stop.within(budget.seconds);
    return SplitSearch::run(cases, budget, timed);
  }

  std::string identity() override { return sha256("differences"); }

  const char* fault_of(const tree::Node& node) override {
    if (node.root >= roots_.size()) return "a case that the property does not have";
    if (node.state.empty()) return nullptr;
    const auto part = bytes_.read(node.state);
    if (!part) return "a box of another network";
    const Box& root = roots_[node.root];
    for (std::size_t i = 0; i < root.lower.size(); ++i)
      if (!(root.lower[i] <= part->box.lower[i] && part->box.lower[i] <= part->box.upper[i] &&
            part->box.upper[i] <= root.upper[i]))
        return "a box beyond its case";
    for (std::size_t i = 0; i < part->least.size(); ++i)
      if (!(std::isfinite(part->least[i]) && std::isfinite(part->most[i]) &&
            part->least[i] <= part->most[i]))
        return "slopes that are no range";
    return nullptr;
  }

 private:
  class Worker final : public tree::TreeWorker {
   public:
    explicit Worker(const DifferenceSearch& search)
        : search_(search),
          bounds_(search.bounds_.twin()),
          merged_(search.merged_ != nullptr ? search.merged_->twin() : nullptr) {}

    std::size_t lanes() const override { return 1; }

    void expand(std::span<const tree::Node> nodes, std::vector<tree::Expansion>& out) override {
      bool whole = false;
      engine::StoppedCalls stopped([this] { return !goes_on(); });
      bounds_.stop_by(stopped);
      if (merged_ != nullptr) stopped.include(*merged_);
      stopped.run([&] {
        for (const tree::Node& node : nodes) out.push_back(expand(node));
        whole = true;
      });
      if (!whole) throw tree::Abandoned();
    }

   private:
    // Whether bounds of both boxes are the same: no float32 number lies between their ends.
    static bool bounds_alike(const Box& one, const Box& other) {
      const input::FloatBox a = float_box(one), b = float_box(other);
      return a.lower == b.lower && a.upper == b.upper;
    }

    static std::vector<double> centre_of(const Box& box) {
      std::vector<double> centre;
      for (std::size_t i = 0; i < box.lower.size(); ++i)
        centre.push_back(
            std::clamp(0.5 * box.lower[i] + 0.5 * box.upper[i], box.lower[i], box.upper[i]));
      return centre;
    }

    tree::Expansion expand(const tree::Node& node) const {
      const Box& root = search_.roots_[node.root];
      DifferencePart part;
      if (node.state.empty()) {
        part.box = root;
        bounds_.bound_root(part);
      } else {
        part = *search_.bytes_.read(node.state);
        bounds_.bound(part);
      }
      if (merged_ != nullptr && !search_.is_excluded(node.root, part)) meet_merged(part);
      tree::Expansion made;
      made.fate = search_.is_excluded(node.root, part) ? tree::Fate::kClosed : tree::Fate::kStuck;
      if (made.fate == tree::Fate::kClosed || !search_.splits_) return made;
      if (node.depth % kTried == 0) made.proposal = tree::Proposal{node.root, centre_of(part.box)};
      auto [first, second] = DifferenceBounds::halves(part, root);
      if (bounds_alike(first, part.box) || bounds_alike(second, part.box)) return made;
      made.fate = tree::Fate::kSplit;
      part.box = std::move(first);
      made.first = search_.bytes_.write(part);
      part.box = std::move(second);
      made.second = search_.bytes_.write(part);
      return made;
    }

    void meet_merged(DifferencePart& part) const {
      const engine::Bounds made = merged_->spec_bounds(float_box(part.box));
      for (std::size_t i = 0; i < part.outputs.size(); ++i) {
        OutputDifference& row = part.outputs[i];
        row = {std::max<double>(row.lower, made.lower[i]),
               std::min<double>(row.upper, made.upper[i])};
      }
    }

    const DifferenceSearch& search_;
    const DifferenceBounds bounds_;
    const std::unique_ptr<const engine::HostVerifier> merged_;
  };

  std::unique_ptr<tree::TreeWorker> make_worker(std::size_t) override {
    return std::make_unique<Worker>(*this);
  }
  std::size_t case_of(std::uint32_t root) const override { return root; }
  bool prepare(std::uint32_t) override { return true; }

  // Whether the rows exclude each clause.
  bool is_excluded(std::size_t index, const DifferencePart& part) const {
    std::vector<float> lower, upper;
    for (const OutputDifference& row : part.outputs) {
      lower.push_back(bf::float_down(row.lower));
      upper.push_back(bf::float_up(row.upper));
    }
    const VerdictTables& tables = own_.tables();
    for (std::uint32_t j = tables.case_clauses[index]; j < tables.case_clauses[index + 1]; ++j)
      if (!decide::is_excluded(tables, j, {lower, upper})) return false;
    return true;
  }

  const Cases own_;  // of the whole property
  const bool splits_;
  const DifferenceBounds bounds_;
  const std::unique_ptr<const engine::HostVerifier> merged_;
  const PartBytes bytes_;
  std::vector<Box> roots_;  // by case
};

}  // namespace

std::unique_ptr<Search> make_difference_search(const Graph& merged, const ModelInfo& info,
                                               const Property& property, const Request& request,
                                               const Cases& cases, bool alone) {
  if (property.rows.empty()) return nullptr;
  const bool splits = std::ranges::all_of(
      property.cases, [](const PropertyCase& each) { return varying(each.box) <= kFewInputs; });
  if (alone && !splits) return nullptr;
  const auto pair = merged_pair(merged);
  if (!pair || !are_isomorphic(pair->first, pair->second)) return nullptr;
  DifferenceNetwork network = difference_network(pair->first, pair->second);
  if (network.neurons.size() > kMostNeurons) return nullptr;
  const std::size_t jobs = request.jobs > 0 ? request.jobs : system::core_count();
  Request own = request;
  if (splits) own.jobs = 1;  // each thread has parts of its own
  try {
    DifferenceBounds bounds(with_rows(std::move(network), property), info, own);
    std::unique_ptr<const engine::HostVerifier> both;
    if (alone)
      both = make_host(merged, info, own, own.method.value_or(Method::kCrown), to_spec(property));
    return std::make_unique<DifferenceSearch>(std::move(bounds), std::move(both), property, cases,
                                              splits, splits ? jobs : 1);
  } catch (const CompileError&) {  // bounds of both networks may exist where these do not
    return nullptr;
  }
}

}  // namespace bf_aot::decide
