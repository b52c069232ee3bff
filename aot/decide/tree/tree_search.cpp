#include "aot/decide/tree/tree_search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "aot/decide/tree/shared_stop.h"
#include "aot/engine/run/pool.h"
#include "aot/engine/run/recording.h"
#include "aot/system/progress.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"

namespace bf_aot::decide::tree {
namespace {

// The time that a thread without nodes sleeps before it looks for some again.
constexpr std::chrono::milliseconds kNap{1};

// Seconds of work for which it is worth starting threads.
constexpr double kWorthThreads = 5e-3;

// Proposals that wait for their proof. More are dropped: they only propose.
constexpr std::size_t kMostProposals = 256;

std::size_t bytes_of(const Node& node) {
  return sizeof(Node) + node.state.size();
}

// The nodes and results of one thread. The mutex guards `nodes` and `fresh`; the rest is read when
// threads are joined.
struct Seat final : OpenNodes {
  mutable std::mutex mutex;
  std::deque<Node> nodes;         // the oldest first
  std::vector<RootLeaves> fresh;  // leaves that have not been asked for
  std::vector<Node> batch;        // being expanded
  std::vector<Expansion> expansions;
  std::uint64_t points_before = 0;  // of earlier runs

  std::size_t size() const override {
    const std::lock_guard lock(mutex);
    return nodes.size();
  }
  std::optional<Node> at(std::size_t i) const override {
    const std::lock_guard lock(mutex);
    return i < nodes.size() ? std::optional(nodes[i]) : std::nullopt;
  }
};

// Counts the leaf that a node became, or hands its children to `split(first, second)`.
template <class Split>
void settle(const Node& node, Expansion& made, RootLeaves& leaves, const Split& split) {
  if (made.fate == Fate::kClosed)
    leaves.closed.add(node.depth);
  else if (made.fate == Fate::kStuck || node.depth == kMostDepth)
    leaves.stuck.add(node.depth);
  else
    split(Node{node.root, node.depth + 1, std::move(made.first)},
          Node{node.root, node.depth + 1, std::move(made.second)});
}

// Lets a worker ask `goes_on` while this lives.
class Asking {
 public:
  Asking(TreeWorker& worker, std::function<bool()> goes_on) : worker_(worker) {
    worker_.goes_on = std::move(goes_on);
  }
  ~Asking() {
    worker_.goes_on = [] { return true; };
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  TreeWorker& worker_;
};

class Run final : public SharedNodes {
 public:
  Run(std::vector<std::unique_ptr<TreeWorker>>& workers, const WorkerFactory& factory,
      TreeState& state, const TreeLimits& limits, const TreeCalls& calls)
      : workers_(workers),
        factory_(factory),
        state_(state),
        limits_(limits),
        calls_(calls),
        seats_(workers.size()) {
    for (Seat& seat : seats_) seat.fresh.resize(state.roots.size());
    for (const RootLeaves& leaves : state.roots) closed_ += leaves.closed.approximate();
    nodes_before_ = state.nodes;
    for (const Node& node : state.open) open_bytes_ += bytes_of(node);
    pending_ = state.open.size();
    seats_[0].nodes.assign(std::make_move_iterator(state.open.begin()),
                           std::make_move_iterator(state.open.end()));
    state.open.clear();
    if (recording_ != nullptr) recording_->begin_turn();
  }

  TreeEnd run() {
    guarded([this] { work(0); });
    over_ = true;
    threads_.clear();  // joins
    collect();
    if (!failure_ && end_ != TreeEnd::kFound) guarded([this] { prove_proposals(); });
    if (failure_) std::rethrow_exception(failure_);
    // The others may have come to an end since this end was decided.
    const bool complete = state_.open.empty() && !calls_.share;
    return complete && end_ != TreeEnd::kFound ? TreeEnd::kComplete : end_;
  }

  void give(std::vector<Node> nodes) override {
    pending_ += nodes.size();
    const std::lock_guard lock(seats_[0].mutex);
    for (Node& node : nodes) {
      open_bytes_ += bytes_of(node);
      seats_[0].nodes.push_back(std::move(node));
    }
  }

  std::vector<Node> take(std::size_t most) override {
    std::vector<Node> taken;
    Seat* const from = richest(nullptr);
    if (from == nullptr) return taken;
    take_oldest(*from, most, taken);
    for (const Node& node : taken) open_bytes_ -= bytes_of(node);
    pending_ -= taken.size();
    return taken;
  }

  bool is_idle() const override { return pending_ == 0; }

  std::vector<RootLeaves> leaves() override {
    std::vector<RootLeaves> made(state_.roots.size());
    for (Seat& seat : seats_) {
      const std::lock_guard lock(seat.mutex);
      for (std::size_t root = 0; root < made.size(); ++root) {
        made[root].closed.add(seat.fresh[root].closed);
        made[root].stuck.add(seat.fresh[root].stuck);
        seat.fresh[root] = {};
      }
    }
    add_to_state(made);
    return made;
  }

 private:
  // A failure ends the search; run() throws the first.
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      over_ = true;
    }
  }

  void work(std::size_t thread) {
    if (workers_[thread] == nullptr && !make_worker(thread)) return;
    TreeWorker& worker = *workers_[thread];
    Seat& seat = seats_[thread];
    seat.points_before = worker.points();
    const Asking asking(worker, [this] {
      return !over_ && (std::this_thread::get_id() != caller_ || !is_stopped());
    });
    try {
      while (!over_) {
        engine::PieceRecorder recorder;
        if (auto proposal = worker.try_points(seat)) propose(std::move(*proposal));
        if (thread == 0 && is_over()) break;
        if (!fill_batch(seat, lanes_of(worker))) {
          nap();
          continue;
        }
        expect_float_environment();  // of this thread, which a caller's function may have changed
        seat.expansions.clear();
        worker.expand(seat.batch, seat.expansions);
        BF_CHECK(seat.expansions.size() == seat.batch.size());
        if (recording_ != nullptr) record(seat, recorder.end());
        apply(seat);
      }
    } catch (const Abandoned&) {  // the batch stays open
      BF_CHECK(over_);
    }
  }

  // Notes the nodes of a call with their parts of its time, and whose children are open now.
  void record(const Seat& seat, engine::Piece piece) const {
    piece.seconds /= static_cast<double>(seat.batch.size());
    for (const Node& node : seat.batch) {
      recording_->add_node(node.state.data(), piece);
      piece.rounds.clear();  // the first node's, which is alone where there are any
    }
    for (std::size_t i = 0; i < seat.batch.size(); ++i)
      for (const auto* child : {&seat.expansions[i].first, &seat.expansions[i].second})
        if (seat.expansions[i].fate == Fate::kSplit)
          recording_->add_child(seat.batch[i].state.data(), child->data());
  }

  // Makes the worker of a thread. False: the thread is left out, as there is no memory for its
  // worker.
  bool make_worker(std::size_t thread) {
    try {
      workers_[thread] = factory_(thread);
    } catch (const InternalError&) {
      throw;
    } catch (const std::exception&) {
      if (thread == 0) throw;
    }
    return workers_[thread] != nullptr;
  }

  // Returns whether the search is over. All that happens between rounds happens here, on the thread
  // that called run().
  bool is_over() {
    if (prove_proposals()) return end(TreeEnd::kFound);
    calls_.progress({nodes_before_ + nodes_, closed_ / most_closed()});
    if (pending_ == 0 && !calls_.share) return end(TreeEnd::kComplete);
    if (is_stopped()) return true;
    if (stopwatch_.seconds() >= limits_.seconds) return end(TreeEnd::kTime);
    if (nodes_ >= limits_.nodes) return end(TreeEnd::kNodes);
    if (open_bytes_ > limits_.open_bytes) return end(TreeEnd::kMemory);
    if (calls_.share && calls_.share(*this)) return end(TreeEnd::kComplete);
    start_threads();
    return false;
  }

  // Asks the caller whether to stop, on the thread that called run(). What that throws ends the
  // search.
  bool is_stopped() noexcept {
    guarded([this] {
      if (calls_.stop()) end(TreeEnd::kStopped);
    });
    return over_;
  }

  bool end(TreeEnd how) {
    end_ = how;
    over_ = true;
    return true;
  }

  double most_closed() const {
    return state_.roots.empty() ? 1 : static_cast<double>(state_.roots.size());
  }

  // Starts the other threads, as many as the system allows, once there is more to do than one call
  // of a worker takes, or more than one node where the first calls have taken kWorthThreads.
  void start_threads() {
    const bool slow = stopwatch_.seconds() > kWorthThreads;
    if (started_ || recording_ != nullptr || pending_ <= (slow ? 1 : workers_[0]->lanes())) return;
    started_ = true;
    threads_.reserve(workers_.size() - 1);
    for (std::size_t thread = 1; thread < workers_.size(); ++thread) try {
        threads_.emplace_back([this, thread] {
          const ThrowingChecks checks;
          guarded([this, thread] { work(thread); });
        });
      } catch (const std::system_error&) {
        return;
      }
  }

  void propose(Proposal proposal) {
    const std::lock_guard lock(mutex_);
    if (proposals_.size() < kMostProposals) proposals_.push_back(std::move(proposal));
    proposed_ = true;
  }

  bool prove_proposals() {
    if (!proposed_.exchange(false)) return false;
    std::vector<Proposal> proposals;
    {
      const std::lock_guard lock(mutex_);
      proposals.swap(proposals_);
    }
    return std::ranges::any_of(proposals, [this](const Proposal& proposal) {
      if (!calls_.prove(proposal)) return false;
      end_ = TreeEnd::kFound;
      return true;
    });
  }

  // The nodes of the next call: the newest of the thread, or else another's oldest. Others leave
  // something for threads that have nothing.
  bool fill_batch(Seat& seat, std::size_t lanes) {
    if (seat.size() == 0) steal(seat, lanes);
    const std::lock_guard lock(seat.mutex);
    std::size_t count = std::min(lanes, seat.nodes.size());
    if (idle_ > 0 && seat.nodes.size() > 1) count = std::min(count, (seat.nodes.size() + 1) / 2);
    seat.batch.clear();
    for (count = grant(count); count > 0; --count) {
      seat.batch.push_back(std::move(seat.nodes.back()));
      seat.nodes.pop_back();
    }
    return !seat.batch.empty();
  }

  // The nodes of a worker's next call: all of its lanes while open nodes take an eighth of what
  // they may at most, and the fewest where they take a quarter.
  std::size_t lanes_of(const TreeWorker& worker) const {
    const std::size_t most = worker.lanes(), least = std::min(most, worker.least_lanes());
    const std::size_t room = std::min(limits_.open_bytes, TreeLimits().open_bytes) / 4;
    const double taken = static_cast<double>(open_bytes_) / static_cast<double>(room + 1);
    const double left = std::clamp(2 * (1 - taken), 0.0, 1.0);
    return least + static_cast<std::size_t>(static_cast<double>(most - least) * left);
  }

  // Returns how many of `count` nodes the limit still allows, and counts them.
  std::size_t grant(std::size_t count) {
    std::uint64_t left = left_;
    std::uint64_t granted = std::min<std::uint64_t>(left, count);
    while (!left_.compare_exchange_weak(left, left - granted))
      granted = std::min<std::uint64_t>(left, count);
    return static_cast<std::size_t>(granted);
  }

  void steal(Seat& seat, std::size_t lanes) {
    Seat* const from = richest(&seat);
    if (from == nullptr) return;
    std::vector<Node> taken;
    take_oldest(*from, lanes, taken);
    const std::lock_guard lock(seat.mutex);
    for (Node& node : taken) seat.nodes.push_back(std::move(node));
  }

  // The seat whose oldest node is the shallowest; null when none has any.
  Seat* richest(const Seat* but) {
    Seat* found = nullptr;
    std::uint32_t least = 0;
    for (Seat& seat : seats_) {
      if (&seat == but) continue;
      const std::lock_guard lock(seat.mutex);
      if (seat.nodes.empty() || (found != nullptr && seat.nodes.front().depth >= least)) continue;
      found = &seat;
      least = seat.nodes.front().depth;
    }
    return found;
  }

  static void take_oldest(Seat& from, std::size_t most, std::vector<Node>& taken) {
    const std::lock_guard lock(from.mutex);
    for (std::size_t left = std::min(most, (from.nodes.size() + 1) / 2); left > 0; --left) {
      taken.push_back(std::move(from.nodes.front()));
      from.nodes.pop_front();
    }
  }

  void nap() {
    ++idle_;
    std::unique_lock lock(mutex_);
    work_.wait_for(lock, kNap);
    --idle_;
  }

  // Children are counted before their parents are no more, so that the count is 0 only at the end.
  void apply(Seat& seat) {
    std::size_t split = 0;
    double closed = 0;
    {
      const std::lock_guard lock(seat.mutex);
      for (std::size_t i = 0; i < seat.batch.size(); ++i) {
        Node& node = seat.batch[i];
        Expansion& expansion = seat.expansions[i];
        open_bytes_ -= bytes_of(node);
        if (expansion.fate == Fate::kClosed)
          closed += std::ldexp(1.0, -static_cast<int>(node.depth));
        settle(node, expansion, seat.fresh.at(node.root), [&](Node first, Node second) {
          push(seat, std::move(second));
          push(seat, std::move(first));
          ++split;
        });
      }
      pending_ += 2 * split;
      pending_ -= seat.batch.size();
    }
    nodes_ += seat.batch.size();
    if (closed > 0) closed_ += closed;
    for (Expansion& expansion : seat.expansions)
      if (expansion.proposal) propose(std::move(*expansion.proposal));
    seat.batch.clear();
    if (idle_ > 0 && split > 0) work_.notify_all();
  }

  void push(Seat& seat, Node node) {
    open_bytes_ += bytes_of(node);
    seat.nodes.push_back(std::move(node));
  }

  void add_to_state(const std::vector<RootLeaves>& leaves) {
    for (std::size_t root = 0; root < leaves.size(); ++root) {
      state_.roots[root].closed.add(leaves[root].closed);
      state_.roots[root].stuck.add(leaves[root].stuck);
    }
  }

  // Puts what threads that have ended leave, open nodes and counts, into the state.
  void collect() {
    leaves();
    for (std::size_t thread = 0; thread < seats_.size(); ++thread) {
      Seat& seat = seats_[thread];
      for (Node& node : seat.nodes) state_.open.push_back(std::move(node));
      for (std::size_t i = seat.batch.size(); i-- > 0;)
        state_.open.push_back(std::move(seat.batch[i]));
      if (workers_[thread] != nullptr)
        state_.points += workers_[thread]->points() - seat.points_before;
    }
    state_.nodes += nodes_;
  }

  std::vector<std::unique_ptr<TreeWorker>>& workers_;
  const WorkerFactory& factory_;
  TreeState& state_;
  const TreeLimits& limits_;
  const TreeCalls& calls_;
  engine::Recording* const recording_ = engine::recording();  // then one thread does all
  const system::Stopwatch stopwatch_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::deque<Seat> seats_;  // by thread
  std::vector<std::jthread> threads_;
  bool started_ = false;

  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> pending_ = 0;  // open nodes, and those being expanded
  std::atomic<std::size_t> open_bytes_ = 0;
  std::atomic<std::size_t> idle_ = 0;  // threads that have no nodes
  std::atomic<std::uint64_t> nodes_ = 0;
  std::atomic<std::uint64_t> left_ = limits_.nodes;  // nodes that may still be begun
  std::atomic<double> closed_ = 0;
  std::uint64_t nodes_before_ = 0;
  TreeEnd end_ = TreeEnd::kStopped;

  std::mutex mutex_;  // of what follows
  std::condition_variable work_;
  std::vector<Proposal> proposals_;
  std::atomic<bool> proposed_ = false;
  std::exception_ptr failure_;
};

}  // namespace

TreeSearch::TreeSearch(std::size_t threads, WorkerFactory factory)
    : factory_(std::move(factory)), workers_(std::max<std::size_t>(threads, 1)) {}

TreeSearch::~TreeSearch() = default;

TreeEnd TreeSearch::run(TreeState& state, const TreeLimits& limits, const TreeCalls& calls) {
  return Run(workers_, factory_, state, limits, calls).run();
}

bool TreeSearch::expand_roots(TreeState& state, std::span<const std::uint32_t> roots,
                              const TreeLimits& limits, const TreeCalls& calls) {
  std::vector<Node> nodes;
  for (const Node& node : state.open)
    if (node.depth == 0 && std::ranges::find(roots, node.root) != roots.end())
      nodes.push_back(node);
  const system::Stopwatch stopwatch;
  std::vector<std::optional<Expansion>> made(nodes.size());
  SharedStop stopped(calls.stop);
  const auto goes_on = [&] { return !stopped(); };
  const auto expand = [&](std::size_t i, std::size_t thread) {
    if (!goes_on() || stopwatch.seconds() >= limits.seconds) return;
    if (workers_[thread] == nullptr) workers_[thread] = factory_(thread);
    TreeWorker& worker = *workers_[thread];
    const Asking asking(worker, goes_on);
    std::vector<Expansion> expansions;
    try {
      worker.expand({&nodes[i], 1}, expansions);
      made[i] = std::move(expansions.at(0));
    } catch (const Abandoned&) {
      BF_CHECK(stopped.is_set());
    }
  };
  engine::share(workers_.size(), nodes.size(), expand, goes_on);
  std::vector<Proposal> proposals;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!made[i]) continue;
    std::erase_if(state.open, [&](const Node& open) { return open.root == nodes[i].root; });
    ++state.nodes;
    settle(nodes[i], *made[i], state.roots.at(nodes[i].root), [&](Node first, Node second) {
      state.open.push_back(std::move(second));
      state.open.push_back(std::move(first));
    });
    if (made[i]->proposal) proposals.push_back(std::move(*made[i]->proposal));
  }
  return std::ranges::any_of(proposals, calls.prove);
}

std::vector<Proposal> expand_in_breadth(TreeState& state, std::size_t least, TreeWorker& worker) {
  std::vector<Proposal> proposals;
  std::deque<Node> open(std::make_move_iterator(state.open.rbegin()),
                        std::make_move_iterator(state.open.rend()));
  state.open.clear();
  std::vector<Expansion> expansions;
  while (!open.empty() && open.size() < least) {
    const Node node = std::move(open.front());
    open.pop_front();
    expansions.clear();
    worker.expand({&node, 1}, expansions);
    BF_CHECK(expansions.size() == 1);
    ++state.nodes;
    if (expansions[0].proposal) proposals.push_back(std::move(*expansions[0].proposal));
    settle(node, expansions[0], state.roots.at(node.root), [&](Node first, Node second) {
      open.push_back(std::move(first));
      open.push_back(std::move(second));
    });
  }
  state.open.assign(std::make_move_iterator(open.begin()), std::make_move_iterator(open.end()));
  return proposals;
}

}  // namespace bf_aot::decide::tree
