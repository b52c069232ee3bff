#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "aot/decide/cases.h"
#include "aot/decide/company.h"
#include "aot/decide/stop.h"
#include "aot/decide/witness.h"
#include "aot/tree/tree_search.h"
#include "aot/verifier/verifier.h"
#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::cli {

// Branch and bound over boxes with more inputs that vary than this hardly ever ends.
constexpr std::size_t kMostBranchedInputs = 16;

// The boxes of a round; fills the lanes of every target several times.
constexpr int kBranchBatch = 64;

// Whether boxes of the property have so few inputs that vary that splitting them is worth a try.
bool is_branchable(const Property& property);

struct BranchTotals {
  std::uint64_t boxes = 0, points = 0;
  double seconds = 0;
};

// Proves that an input violates the property, on the thread that decides.
using PointCheck =
    std::function<std::optional<Witness>(std::size_t property_case, const std::vector<double>& x)>;

struct BranchCalls {
  PointCheck prove;
  StopAsked stop = [] { return false; };
  // Called now and then with the boxes that were bounded, and the part of all cases that is
  // verified.
  std::function<void(std::uint64_t boxes, double proven)> progress = [](std::uint64_t, double) {};
  // Called with the whole state about every minute, and at the end, however that comes.
  std::function<void(const tree::TreeState&)> save = [](const tree::TreeState&) {};
  // Those who search the trees of all cases together; null: this process alone.
  TreeCompany* company = nullptr;
};

// Splits the boxes of the property's cases until they are verified or a case is violated; see
// docs/proofs/branch-and-bound.md.
class BranchSearch {
 public:
  // The verifier is the plan's, made with decide, and a batch; used by the thread that calls run(),
  // and by at most threads - 1 others its twins. All must outlive this.
  BranchSearch(const HostVerifier& verifier, const Plan& plan, const Cases& cases,
               std::size_t threads);
  ~BranchSearch();
  BranchSearch(const BranchSearch&) = delete;
  BranchSearch& operator=(const BranchSearch&) = delete;

  // Where the search is: root k is case k. May be replaced by another of the same property.
  tree::TreeState state;
  // An input that is tried before anything else.
  std::optional<tree::Proposal> first_proposal;

  // Goes on for at most `seconds`, which the open cases share; of a company the first's. Marks
  // cases as verified: of a company in the first, whose state then is that of all. Throws: BF3306
  // when the verifier refuses a box, and what `calls` throw; the state stays whole.
  std::optional<Witness> run(Cases& cases, double seconds, const BranchCalls& calls);

  // Whether nothing is left to be split.
  bool is_over() const { return state.open.empty(); }
  BranchTotals totals() const { return {state.nodes, state.points, seconds_}; }

  // A worker of its own on this thread.
  std::unique_ptr<tree::TreeWorker> worker() const;

 private:
  void close_verified(const Cases& cases);
  void run_cases(const std::vector<std::size_t>& open, double seconds, const BranchCalls& calls,
                 const tree::TreeCalls& tree_calls);
  void run_together(double seconds, const BranchCalls& calls, tree::TreeCalls tree_calls,
                    const std::optional<Witness>& witness);
  tree::TreeEnd run_case(std::size_t index, double seconds, const tree::TreeCalls& calls);

  const HostVerifier& verifier_;
  const Plan& plan_;
  const Cases& cases_;
  std::vector<std::unique_ptr<const HostVerifier>> twins_;  // by thread
  tree::TreeSearch search_;
  double seconds_ = 0;
};

}  // namespace bf_aot::cli
