#include "aot/decide/search/split_search.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "aot/decide/tree/one_root.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"

namespace bf_aot::decide {
namespace {

// Seconds of a root's first turn, and how much longer each other turn is.
constexpr double kRootTurn = 0.25, kLonger = 4;
constexpr double kSaveSeconds = 60;

}  // namespace

SplitSearch::SplitSearch(const Cases& cases, std::vector<std::vector<std::byte>> roots,
                         std::size_t threads)
    : state(tree::start_of(std::move(roots))),
      cases_(cases),
      full_(state.roots.size()),
      search_(threads, [this](std::size_t thread) { return make_worker(thread); }) {}

SplitSearch::~SplitSearch() = default;

// Deals turns out to the roots that have open nodes; turns grow each time all have had one.
class SplitSearch::Turns {
 public:
  // The root of the next turn; none when no node of the state is open but those of full roots.
  std::optional<std::uint32_t> next(const tree::TreeState& tree, const std::vector<bool>& full) {
    if (waiting_.empty()) {
      for (const tree::Node& node : tree.open)
        if (!full[node.root]) waiting_.push_back(node.root);
      std::ranges::sort(waiting_, std::greater());
      waiting_.erase(std::unique(waiting_.begin(), waiting_.end()), waiting_.end());
      seconds_ = seconds_ > 0 ? seconds_ * kLonger : kRootTurn;
    }
    if (waiting_.empty()) return std::nullopt;
    const std::uint32_t root = waiting_.back();
    waiting_.pop_back();
    return root;
  }
  double seconds() const { return seconds_; }

 private:
  std::vector<std::uint32_t> waiting_;  // the last is next
  double seconds_ = 0;
};

// One call of run().
class SplitSearch::Running {
 public:
  Running(SplitSearch& search, const SearchBudget& budget, const SearchCalls& calls)
      : search_(search),
        company_(calls.company),
        limit_(budget.seconds),
        roots_alone_(budget.roots_alone),
        before_(search.seconds_),
        calls_(calls) {}

  std::optional<Witness> run() {
    const std::vector<tree::Proposal> first = std::exchange(search_.first_proposals_, {});
    std::ranges::any_of(first, [this](const auto& each) { return prove(each); });
    if (company_ != nullptr) company_->begin(search_.state, search_.identity());
    try {
      if (company_ != nullptr)
        whole_ = search_.state;
      else
        expand_roots();
      while (!roots_alone_) {
        const auto root = next_root();
        if (!root) break;
        run_turn(*root);
      }
    } catch (const CompileError&) {
      if (company_ != nullptr) throw;
      if (!witness_) thrown_ = std::current_exception();  // what is proven stands without a device
    } catch (...) {
      // The others of a company wait for this process, and end with it.
      if (company_ != nullptr) throw;
      thrown_ = std::current_exception();
    }
    if (company_ != nullptr && company_->is_first()) search_.state = std::move(whole_);
    if (is_first()) calls_.save(search_.state);
    search_.seconds_ = before_ + stopwatch_.seconds();
    if (thrown_) std::rethrow_exception(thrown_);
    return std::move(witness_);
  }

 private:
  bool is_first() const { return company_ == nullptr || company_->is_first(); }

  // The state of all processes in the first of a company, else this process's own.
  const tree::TreeState& all() const { return company_ == nullptr ? search_.state : whole_; }

  // An exception is kept until the turn has ended, and thrown by run().
  bool is_stopped() {
    try {
      return thrown_ != nullptr || calls_.stop();
    } catch (...) {
      thrown_ = std::current_exception();
      return true;
    }
  }

  bool prove(const tree::Proposal& proposal) {
    if (witness_) return true;
    witness_ = calls_.prove(search_.case_of(proposal.root), proposal.x);
    if (witness_ && company_ != nullptr) company_->tell(proposal);
    return witness_.has_value();
  }

  // Expands roots of the same case side by side: clauses have turns one after the other, and a tree
  // has work for several threads only once its root is expanded. By one thread where these roots
  // alone are asked for.
  void expand_roots() {
    std::vector<std::uint32_t> roots;
    for (const tree::Node& node : search_.state.open)
      if (node.depth == 0) roots.push_back(node.root);
    std::ranges::sort(roots);
    for (auto first = roots.begin(); first != roots.end();) {
      const std::size_t index = search_.case_of(*first);
      const auto end = std::find_if(
          first, roots.end(), [&](std::uint32_t root) { return search_.case_of(root) != index; });
      const std::span<const std::uint32_t> together(first, end);
      first = end;
      if (!roots_alone_ && (search_.threads() == 1 || together.size() == 1)) continue;
      if (stopwatch_.seconds() >= limit_ || witness_ || is_stopped()) return;
      if (!search_.prepare(together.front())) return;
      tree::TreeCalls calls = tree_calls();
      calls.prove = [this](const tree::Proposal& proposal) { return prove(proposal); };
      calls.stop = calls_.stop;
      search_.search_.expand_roots(search_.state, together,
                                   {.seconds = limit_ - stopwatch_.seconds()}, calls);
    }
  }

  std::optional<std::uint32_t> next_root() {
    std::optional<std::uint32_t> root;
    if (is_first() && !witness_ && stopwatch_.seconds() < limit_ && !is_stopped())
      root = turns_.next(all(), search_.full_);
    if (root && !search_.prepare(*root)) {
      search_.too_large_ = true;
      root.reset();
    }
    if (company_ == nullptr) return root;
    root = company_->agree(root);
    if (root && !search_.prepare(*root))
      fail("BF3504", "neurons", "there is too little memory for the network of a rank");
    return root;
  }

  void run_turn(std::uint32_t root) {
    const double now = stopwatch_.seconds();
    const double end = std::min({limit_, now + turns_.seconds(), next_save_});
    {
      const tree::OneRoot one(search_.state, root);
      if (company_ == nullptr)
        run_alone(root, std::max(0.0, end - now));
      else
        run_together(root, end);
    }
    if (company_ != nullptr)
      whole_ = company_->gather(search_.state, [this](const auto& one) { return prove(one); });
    if (stopwatch_.seconds() < next_save_) return;
    if (is_first()) calls_.save(all());
    next_save_ = stopwatch_.seconds() + kSaveSeconds;
  }

  tree::TreeCalls tree_calls() {
    tree::TreeCalls made;
    made.progress = [this](const tree::TreeProgress& progress) {
      search_.seconds_ = before_ + stopwatch_.seconds();
      DecisionProgress of;
      of.phase = search_.phase();
      of.nodes = progress.nodes;
      of.proven = progress.closed;
      calls_.progress(of);
    };
    return made;
  }

  void run_alone(std::uint32_t root, double seconds) {
    tree::TreeCalls calls = tree_calls();
    calls.prove = [this](const tree::Proposal& proposal) { return prove(proposal); };
    calls.stop = calls_.stop;
    if (search_.search_.run(search_.state, {.seconds = seconds}, calls) == tree::TreeEnd::kMemory)
      search_.full_[root] = true;
  }

  void run_together(std::uint32_t root, double end) {
    tree::TreeCalls calls = tree_calls();
    calls.prove = [this](const tree::Proposal& proposal) { return prove(proposal), false; };
    calls.share = [&](tree::SharedNodes& nodes) {
      const bool ask = is_first() && (witness_ || stopwatch_.seconds() >= end || is_stopped());
      return company_->share(
          nodes, root, [this](const auto& one) { return prove(one); }, ask);
    };
    search_.search_.run(search_.state, {.open_bytes = std::numeric_limits<std::size_t>::max()},
                        calls);
  }

  SplitSearch& search_;
  TreeCompany* const company_;
  const double limit_;
  const bool roots_alone_;
  const double before_;
  const SearchCalls& calls_;
  const system::Stopwatch stopwatch_;
  Turns turns_;
  double next_save_ = kSaveSeconds;
  std::optional<Witness> witness_;
  std::exception_ptr thrown_;
  tree::TreeState whole_;
};

std::optional<Witness> SplitSearch::run(Cases& cases, const SearchBudget& budget,
                                        const SearchCalls& calls) {
  close_verified();
  std::optional<Witness> witness = Running(*this, budget, calls).run();
  mark(cases);
  return witness;
}

// Cases that were verified without splits are leaves.
void SplitSearch::close_verified() {
  for (std::uint32_t root = 0; root < state.roots.size(); ++root)
    if (cases_.is_verified(case_of(root))) tree::close_root(state, root);
}

// Cases all of whose roots are closed are verified.
void SplitSearch::mark(Cases& cases) const {
  std::vector<bool> closed(cases.count(), true);
  for (std::uint32_t root = 0; root < state.roots.size(); ++root)
    if (!tree::is_verified(state, root)) closed[case_of(root)] = false;
  for (const std::size_t index : cases.open())
    if (closed[index]) cases.mark_verified(index);
}

bool SplitSearch::is_over() const {
  return too_large_ || std::ranges::all_of(
                           state.open, [this](const tree::Node& node) { return full_[node.root]; });
}

SearchTotals SplitSearch::totals() const {
  SearchTotals made = {state.nodes, state.points, 0, seconds_};
  for (const tree::RootLeaves& root : state.roots) made.leaves += root.stuck.leaves();
  return made;
}

bool SplitSearch::propose_first(std::size_t property_case, const std::vector<double>& x) {
  for (std::uint32_t root = 0; root < state.roots.size(); ++root) {
    if (case_of(root) != property_case) continue;
    if (!may_propose(x)) return false;
    first_proposals_.push_back({root, x});
    return true;
  }
  return false;
}

void SplitSearch::expand_in_breadth(std::size_t least) {
  const std::unique_ptr<tree::TreeWorker> worker = make_breadth_worker();
  for (std::uint32_t root = 0; root < state.roots.size(); ++root) {
    if (!prepare(root)) {
      too_large_ = true;
      return;
    }
    const tree::OneRoot one(state, root);
    std::ranges::move(tree::expand_in_breadth(state, least, *worker),
                      std::back_inserter(first_proposals_));
  }
}

}  // namespace bf_aot::decide
