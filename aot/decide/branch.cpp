#include "aot/decide/branch.h"

#include <algorithm>
#include <exception>
#include <limits>
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
    if (witness && calls.company != nullptr) calls.company->tell(proposal);
    return witness.has_value();
  };
  if (first_proposal && calls.company == nullptr &&
      tree_calls.prove(*std::exchange(first_proposal, {})))
    return witness;
  tree_calls.stop = calls.stop;
  tree_calls.progress = [&](const tree::TreeProgress& progress) {
    seconds_ = before + stopwatch.seconds();
    calls.progress(progress.nodes, progress.closed);
  };
  close_verified(cases);
  try {
    if (calls.company != nullptr)
      run_together(seconds, calls, tree_calls, witness);
    else
      run_cases(cases.open(), seconds, calls, tree_calls);
  } catch (...) {
    if (calls.company == nullptr) calls.save(state);
    throw;
  }
  if (calls.company == nullptr) calls.save(state);
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

void BranchSearch::run_together(double seconds, const BranchCalls& calls,
                                tree::TreeCalls tree_calls, const std::optional<Witness>& witness) {
  TreeCompany& company = *calls.company;
  const Stopwatch stopwatch;
  // What others have begun is ended with them before anything is thrown.
  std::exception_ptr thrown;
  double next_save = kSaveSeconds;
  const auto is_over = [&] {
    try {
      if (calls.stop()) return true;
    } catch (...) {
      thrown = std::current_exception();
      return true;
    }
    return stopwatch.seconds() >= seconds;
  };
  const auto prove = std::exchange(tree_calls.prove, {});
  tree_calls.prove = [&prove](const tree::Proposal& proposal) { return prove(proposal), false; };
  tree_calls.stop = [] { return false; };
  tree_calls.share = [&](tree::SharedNodes& nodes) {
    const bool end =
        company.is_first() && (witness || is_over() || stopwatch.seconds() >= next_save);
    return company.share(nodes, prove, end);
  };
  constexpr auto kAllMemory = std::numeric_limits<std::size_t>::max();
  if (first_proposal) prove(*std::exchange(first_proposal, {}));
  company.begin(state);
  for (;;) {
    search_.run(state, {.open_bytes = kAllMemory}, tree_calls);
    tree::TreeState whole = company.gather(state, prove);
    if (company.is_first()) calls.save(whole);
    next_save = stopwatch.seconds() + kSaveSeconds;
    if (company.go_on(!witness && !thrown && !whole.open.empty() && !is_over())) continue;
    if (company.is_first()) state = std::move(whole);
    break;
  }
  if (thrown) std::rethrow_exception(thrown);
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
