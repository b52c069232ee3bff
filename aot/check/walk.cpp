#include "aot/check/walk.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace bf_check {
namespace {

constexpr std::size_t kMostSkipped = std::size_t{1} << 20;  // bytes of a subtree that is handed on

// A subtree that any thread may walk; without a case: all trees.
struct Subtree {
  std::size_t at = 0;
  const Case* of_case = nullptr;
  Part part;
  u64 depth = 0;
  std::size_t begin = 0, end = 0;  // clauses
  std::vector<signed char> side;
  std::vector<u32> path;
};

// Bytes that one thread walked without leaving any out, and what that took or how it ended.
struct Stretch {
  std::size_t at = 0;
  Work work;
  std::exception_ptr failure;
};

// Subtrees that threads take, and the stretches that they have walked.
class Team {
 public:
  explicit Team(const Checking& way) : way_(way) { subtrees_.emplace_back(); }

  void add(Subtree subtree) {
    const std::scoped_lock lock(mutex_);
    subtrees_.push_back(std::move(subtree));
    changed_.notify_one();
  }

  // Whether a thread waits for a subtree.
  bool is_wanted() {
    const std::scoped_lock lock(mutex_);
    return waiting_ > subtrees_.size();
  }

  // The next subtree; none where all are walked.
  std::optional<Subtree> take() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [&] { return !subtrees_.empty() || running_ == 0 || broken_; });
    --waiting_;
    if (subtrees_.empty() || broken_) return std::nullopt;
    ++running_;
    Subtree subtree = std::move(subtrees_.back());
    subtrees_.pop_back();
    return subtree;
  }

  void end() {
    const std::scoped_lock lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }

  // Ends all walks: not all that was taken was walked.
  void break_off(std::exception_ptr why) {
    const std::scoped_lock lock(mutex_);
    broken_ = std::move(why);
    changed_.notify_all();
  }

  void add(Stretch stretch) {
    const std::scoped_lock lock(mutex_);
    if (stretch.failure) failed_ = std::min<std::size_t>(failed_, stretch.at);
    stretches_.push_back(std::move(stretch));
  }

  // Throws where an earlier stretch than that at `at` has failed, so that this one does not matter.
  void pause(std::size_t at) {
    if (at > failed_) throw NotProven("an earlier part is not proven");
    const std::unique_lock lock(telling_, std::try_to_lock);
    if (lock.owns_lock() && way_.tell) way_.tell(walked_);
  }

  void count(std::size_t bytes) { walked_ += bytes; }

  // Puts what was walked together in the order of the bytes: what one thread would have said.
  void join(Work& work) {
    if (broken_) std::rethrow_exception(broken_);
    std::sort(stretches_.begin(), stretches_.end(),
              [](const Stretch& a, const Stretch& b) { return a.at < b.at; });
    const u64 before = work.left();
    for (const Stretch& stretch : stretches_) {
      work.spend(before - stretch.work.left());
      if (stretch.failure) std::rethrow_exception(stretch.failure);
    }
  }

 private:
  const Checking& way_;
  std::mutex mutex_, telling_;
  std::condition_variable changed_;
  std::vector<Subtree> subtrees_;
  std::vector<Stretch> stretches_;
  std::size_t running_ = 0, waiting_ = 0;
  std::exception_ptr broken_;
  std::atomic<std::size_t> failed_{~std::size_t{0}}, walked_{0};
};

// Passes over the records of a node, as the walk reads them.
class Skip {
 public:
  explicit Skip(Input& in) : in_(in), last_(in.at() + kMostSkipped) {}

  void node(std::size_t clauses, std::size_t splits, u64 depth) {
    unsigned tag = in_.byte();
    while (tag == kDerive && in_.at() <= last_) tag = in_.byte();
    if (depth > kDeepestTree || in_.at() > last_) in_.fail("the subtree is too large");
    const std::size_t children = tag == kEach ? clauses : 2;
    if (tag > kEach || (tag == kEach && clauses < 2)) in_.fail("no such record");
    if (tag == kEmpty) return;
    for (std::size_t k = 0; k < clauses && tag <= kLeafChoices; ++k)
      tag == kLeaf ? numbers(1) : choice(splits);
    if (tag <= kLeafChoices) return;
    if (tag != kEach) numbers(tag == kCut ? 2 : 1);
    for (std::size_t i = 0; i < children; ++i)
      node(tag == kEach ? 1 : clauses, splits + (tag == kNeuron ? 1 : 0), depth + 1);
  }

 private:
  void numbers(u64 count) {
    for (; count > 0; --count) in_.number();
  }

  void choice(std::size_t splits) {
    for (u64 left = in_.number(); left > 0; --left) numbers(2);
    const unsigned flags = in_.byte();
    for (u64 left = (flags & kHasSlopes) != 0 ? in_.number() : 0; left > 0; --left) {
      in_.number();
      in_.byte();
    }
    numbers((flags & kHasMultipliers) != 0 ? splits : 0);
  }

  Input& in_;
  const std::size_t last_;
};

// Walks trees. Each node of a tree is a part, and what is proven of a node follows from what is
// proven of the nodes below it, which cover it.
class Walk {
 public:
  Walk(Team& team, const Input& in, const Network& network, const Property& property,
       unsigned coefficient_bits, const Work& work)
      : team_(team),
        in_(in),
        whole_work_(work),
        coefficient_bits_(coefficient_bits),
        network_(network),
        property_(property),
        first_(in.at()) {}

  // Walks subtrees until none is left.
  void all() {
    while (std::optional<Subtree> subtree = team_.take()) {
      go_to(subtree->of_case == nullptr ? first_ : subtree->at);
      if (!bounder_) bounder_.emplace(network_, coefficient_bits_, work_);
      try {
        team_.pause(start_);
        if (subtree->of_case == nullptr) {
          cases();
        } else {
          enter(*subtree);
          node(subtree->part, subtree->depth);
        }
        end_stretch(nullptr);
      } catch (...) {
        end_stretch(std::current_exception());
        bounder_.reset();
      }
      team_.end();
    }
  }

 private:
  // Begins a stretch.
  void go_to(std::size_t at) {
    in_.go_to(at);
    start_ = counted_ = at;
    work_ = whole_work_;
    work_.set_pause([this] {
      team_.count(in_.at() - counted_);
      counted_ = in_.at();
      team_.pause(start_);
    });
  }

  void end_stretch(const std::exception_ptr& failure) {
    team_.count(in_.at() - counted_);
    team_.add(Stretch{start_, work_, failure});
  }

  void enter(const Subtree& subtree) {
    case_ = subtree.of_case;
    begin_ = subtree.begin, end_ = subtree.end;
    side_ = subtree.side;
    path_ = subtree.path;
  }

  void cases() {
    for (const Case& each : property_.cases) {
      Subtree root;
      root.of_case = &each;
      root.end = each.clauses.size();
      root.side.resize(network_.relaxations.size());
      enter(root);
      Part whole = bounder_->whole(each.lower, each.upper);
      if (&each == &property_.cases.back()) {
        node(whole, 0);
      } else {
        child(whole, 0);
      }
    }
    if (!in_.done()) in_.fail("the certificate goes on behind its end");
  }

  // Walks a node that others follow, or hands it to a thread that waits and goes on behind it.
  void child(Part& part, u64 depth) {
    const std::size_t at = in_.at();
    if (team_.is_wanted() && skip(depth)) {
      const std::size_t behind = in_.at();
      in_.go_to(at);
      end_stretch(nullptr);
      team_.add(Subtree{at, case_, std::move(part), depth, begin_, end_, side_, path_});
      return go_to(behind);
    }
    in_.go_to(at);
    node(part, depth);
  }

  bool skip(u64 depth) {
    try {
      Skip(in_).node(end_ - begin_, path_.size(), depth);
      return true;
    } catch (const NotProven&) {  // who walks it says why
      return false;
    }
  }

  void node(Part& part, u64 depth) {
    work_.spend(network_.elements);
    if (depth > kDeepestTree || depth * network_.elements > kMostKept)
      in_.fail("the tree is too deep");
    unsigned tag = in_.byte();
    for (; tag == kDerive; tag = in_.byte()) bounder_->derive(part);
    if (tag == kLeaf || tag == kLeafChoices) return leaf(part, tag == kLeafChoices);
    if (tag == kHalve || tag == kCut) return cut(part, depth, tag == kHalve);
    if (tag == kNeuron) return split(part, depth);
    if (tag == kEach) return each(part, depth);
    if (tag != kEmpty) in_.fail("no such record");
    if (!part.empty) in_.fail("a part that is said to be empty is not");
  }

  void each(const Part& part, u64 depth) {
    if (end_ - begin_ < 2) in_.fail("there are no clauses to be told apart");
    const std::size_t end = end_;
    for (std::size_t i = 0; i < end; ++i) {
      Part copy = part;
      begin_ = i, end_ = i + 1;
      child(copy, depth + 1);
    }
    begin_ = 0, end_ = end;
  }

  void cut(Part& part, u64 depth, bool halve) {
    const u64 element = in_.number();
    if (element >= network_.elements) in_.fail("no such element");
    if (element >= network_.inputs && !part.derived)
      in_.fail("an element is cut before its bounds are derived");
    const i64 low = part.lower[element], high = part.upper[element];
    i64 place = low + (high - low) / 2;
    if (!halve) {
      const u64 coded = in_.number();
      place = static_cast<i64>(coded >> 1) ^ -static_cast<i64>(coded & 1);
    }
    if (place < low || place > high) in_.fail("an element is cut outside of its part");
    Part first = part;
    first.upper[element] = place;
    child(first, depth + 1);
    part.lower[element] = place;
    node(part, depth + 1);
  }

  void split(Part& part, u64 depth) {
    const u64 neuron = in_.number();
    if (neuron >= network_.relaxations.size() || network_.relaxations[neuron].kind != Kind::kRelu)
      in_.fail("no such neuron");
    if (!part.derived) in_.fail("a neuron is split before its bounds are derived");
    if (side_[neuron] != 0) in_.fail("a neuron is split twice");
    path_.push_back(static_cast<u32>(neuron));
    for (const int side : {1, -1}) {
      Part half = part;
      side_[neuron] = static_cast<signed char>(side);
      bounder_->split(half, static_cast<u32>(neuron), side);
      child(half, depth + 1);
    }
    side_[neuron] = 0;
    path_.pop_back();
  }

  void leaf(const Part& part, bool chooses) {
    for (std::size_t k = begin_; k < end_; ++k) {
      const Clause& clause = case_->clauses[k];
      work_.spend(network_.elements);
      std::vector<std::pair<u64, u64>> weights;
      const u64 count = chooses ? in_.number() : 1;
      if (count > clause.atoms.size()) in_.fail("too many conditions");
      for (u64 i = 0; i < count; ++i) {
        const u64 atom = in_.number();
        weights.emplace_back(atom, chooses ? in_.number() : 1);
      }
      const unsigned flags = chooses ? in_.byte() : 0;
      if (flags > (kHasSlopes | kHasMultipliers)) in_.fail("no such flags");
      Choices choices;
      if ((flags & kHasSlopes) != 0) {
        choices.slope.assign(network_.relaxations.size(), kRuleSlope);
        u64 next = 0;  // a slope's relaxation is told by its distance from the one before
        for (u64 left = in_.number(); left > 0; --left) {
          const u64 gap = in_.number();
          if (gap >= choices.slope.size() - next) in_.fail("no such relaxation");
          const unsigned slope = in_.byte();
          if (slope > 1u << kSlopeBits) in_.fail("no such slope");
          choices.slope[next + gap] = static_cast<unsigned char>(slope);
          next += gap + 1;
        }
      }
      if ((flags & kHasMultipliers) != 0) {
        choices.side = side_;
        choices.multiplier.assign(network_.relaxations.size(), 0);
        for (const u32 n : path_) {
          const u64 multiplier = in_.number();
          if (multiplier >> kCoefficientSize != 0) in_.fail("a multiplier is too large");
          choices.multiplier[n] = static_cast<i64>(multiplier);
        }
      }
      const Combination sum = combined(network_, property_, clause, weights);
      if (!part.empty && !bounder_->is_above(part, sum.sum, sum.closed, choices))
        in_.fail("the bound of a leaf does not exclude its clause");
    }
  }

  Team& team_;
  Input in_;
  const Work whole_work_;
  Work work_;
  std::optional<Bounder> bounder_;  // a new one where bounds were broken off
  const unsigned coefficient_bits_;
  const Network& network_;
  const Property& property_;
  const std::size_t first_;              // where the trees begin
  std::size_t start_ = 0, counted_ = 0;  // of the stretch
  const Case* case_ = nullptr;
  std::size_t begin_ = 0, end_ = 0;  // the clauses that the part is about
  std::vector<signed char> side_;    // by relaxation, of the part that is walked
  std::vector<u32> path_;            // neurons that are split, from the root
};

}  // namespace

Combination combined(const Network& network, const Property& property, const Clause& clause,
                     const std::vector<std::pair<u64, u64>>& weights) {
  Combination result;
  for (const auto& [index, weight] : weights) {
    if (index >= clause.atoms.size()) throw NotProven("no such condition");
    const Clause::Atom& atom = clause.atoms[static_cast<std::size_t>(index)];
    const Int factor = static_cast<unsigned long>(weight);
    for (const auto& [variable, coefficient] : atom.terms)
      result.sum.terms.emplace_back(
          variable < property.inputs ? variable : network.outputs[variable - property.inputs],
          coefficient * factor);
    result.sum.constant += atom.constant * factor;
    result.closed = result.closed || (atom.strict && weight > 0);
  }
  return result;
}

void walk_trees(const Input& in, const Network& network, const Property& property,
                unsigned coefficient_bits, Work& work, const Checking& way) {
  Team team(way);
  const auto walk = [&]() noexcept {
    try {
      Walk(team, in, network, property, coefficient_bits, work).all();
    } catch (...) {
      team.break_off(std::current_exception());
    }
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < way.jobs) others.emplace_back(walk);
  } catch (const std::system_error&) {  // those that are there walk
  }
  walk();
  for (std::thread& other : others) other.join();
  team.join(work);
}

}  // namespace bf_check
