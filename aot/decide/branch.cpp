#include "aot/decide/branch.h"

#include <algorithm>
#include <utility>

#include "aot/boxes/box_node.h"
#include "aot/boxes/box_worker.h"
#include "aot/host/progress.h"
#include "aot/tree/one_root.h"

namespace bf_aot::cli {
namespace {

constexpr double kSaveSeconds = 60;

BoxQuestion question_of(const Plan& plan, const Cases& cases) {
  return {plan, cases.tables(), cases.boxes()};
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

BranchSearch::BranchSearch(const HostVerifier& verifier, const Plan& plan, const Cases& cases,
                           std::size_t threads)
    : state(tree::start_of(case_states(cases.boxes(), static_cast<std::size_t>(plan.input_count)))),
      verifier_(verifier),
      plan_(plan),
      cases_(cases),
      twins_(threads),
      search_(threads, [this](std::size_t thread) {
        const HostVerifier* own = &verifier_;
        if (thread > 0) own = (twins_[thread] = verifier_.twin()).get();
        return make_box_worker(question_of(plan_, cases_), *own, thread);
      }) {}

BranchSearch::~BranchSearch() = default;

std::unique_ptr<tree::TreeWorker> BranchSearch::worker() const {
  return make_box_worker(question_of(plan_, cases_), verifier_, 0);
}

std::optional<Witness> BranchSearch::run(Cases& cases, double seconds, const BranchCalls& calls) {
  const Stopwatch stopwatch;
  const double before = seconds_;
  std::optional<Witness> witness;
  tree::TreeCalls tree_calls;
  tree_calls.prove = [&](const tree::Proposal& proposal) {
    witness = calls.prove(proposal.root, proposal.x);
    return witness.has_value();
  };
  if (first_proposal && tree_calls.prove(*std::exchange(first_proposal, {}))) return witness;
  tree_calls.stop = calls.stop;
  tree_calls.progress = [&](const tree::TreeProgress& progress) {
    seconds_ = before + stopwatch.seconds();
    calls.progress(progress.nodes, progress.closed);
  };
  tree_calls.share = calls.share;
  close_verified(cases);
  try {
    if (calls.share)
      search_.run(state, {}, tree_calls);
    else
      run_cases(cases.open(), seconds, calls, tree_calls);
  } catch (...) {
    calls.save(state);
    throw;
  }
  calls.save(state);
  for (const std::size_t k : cases.open())
    if (tree::is_verified(state, static_cast<std::uint32_t>(k))) cases.mark_verified(k);
  seconds_ = before + stopwatch.seconds();
  return witness;
}

void BranchSearch::run_cases(const std::vector<std::size_t>& open, double seconds,
                             const BranchCalls& calls, const tree::TreeCalls& tree_calls) {
  const Stopwatch stopwatch;
  double next_save = kSaveSeconds;
  for (std::size_t k = 0; k < open.size(); ++k) {
    // What is left, shared by the cases that are left.
    const double end = stopwatch.seconds() + std::max(0.0, seconds - stopwatch.seconds()) /
                                                 static_cast<double>(open.size() - k);
    for (;;) {
      const double now = stopwatch.seconds();
      const tree::TreeEnd how =
          run_case(open[k], std::max(0.0, std::min(end, next_save) - now), tree_calls);
      if (how == tree::TreeEnd::kFound || how == tree::TreeEnd::kStopped) return;
      if (how != tree::TreeEnd::kTime || stopwatch.seconds() >= end) break;
      calls.save(state);
      next_save = stopwatch.seconds() + kSaveSeconds;
    }
  }
}

// Cases that were verified without splits are leaves.
void BranchSearch::close_verified(const Cases& cases) {
  for (std::size_t k = 0; k < cases.count(); ++k)
    if (cases.is_verified(k)) tree::close_root(state, k);
}

tree::TreeEnd BranchSearch::run_case(std::size_t index, double seconds,
                                     const tree::TreeCalls& calls) {
  const tree::OneRoot one(state, index);
  return search_.run(state, {.seconds = seconds}, calls);
}

}  // namespace bf_aot::cli
