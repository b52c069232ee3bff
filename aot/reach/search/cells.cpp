#include "aot/reach/search/cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace bf_aot::reach {
namespace {

using decide::tree::Expansion;
using decide::tree::Fate;

constexpr std::size_t kMostCells = 4096;  // that are kept to be shown
// The part of a failure's value that remainders are, from which on it says little of the start.
constexpr double kMostlyRemainders = 0.75;

// The part of the initial box' side that the cell has.
double share(const Box& cell, const Box& initial, std::size_t i) {
  const double whole = initial.upper[i] - initial.lower[i];
  return whole > 0 ? (cell.upper[i] - cell.lower[i]) / whole : 0;
}

double middle(const Box& cell, std::size_t i) {
  return std::midpoint(cell.lower[i], cell.upper[i]);
}

bool can_halve(const Box& cell, std::size_t i) {
  const double at = middle(cell, i);
  return cell.lower[i] < at && at < cell.upper[i];
}

// How much the value depends on each element of the start: the slope of its symbol, which is given
// out in the order of elements that vary.
std::vector<double> influence(const Form& value, const Box& cell) {
  std::vector<double> made(cell.lower.size(), 0);
  std::size_t symbol = 0;
  for (std::size_t i = 0; i < made.size(); ++i)
    if (cell.lower[i] < cell.upper[i]) made[i] = std::fabs(value.slope_of(symbol++));
  return made;
}

// Where remainders are most of the value, or there is none, its widest side by share; else the side
// that the value depends on most.
std::optional<std::size_t> side_to_halve(const std::optional<Failure>& failure, const Box& cell,
                                         const Box& initial) {
  std::vector<double> weight(cell.lower.size(), 0);
  if (failure && is_finite(failure->value)) {
    weight = influence(failure->value, cell);
    double known = 0, most = 0;
    for (const double each : weight) {
      known += each;
      most = std::max(most, each);
    }
    const double rest = reach_of(failure->value) + failure->value.radius - known;
    if (rest > kMostlyRemainders * (rest + known))
      for (std::size_t i = 0; i < weight.size(); ++i)
        weight[i] = share(cell, initial, i) * (most > 0 ? 1 + weight[i] / most : 1);
  } else {
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = share(cell, initial, i);
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if (can_halve(cell, i) && (!best || weight[i] > weight[*best])) best = i;
  return best;
}

// Keeps the last instant of a tube.
class LastInstant : public SegmentVisitor {
 public:
  bool visit(const Segment& segment, const std::vector<Form>&) override {
    if (segment.from == segment.to) state_ = segment.state;
    return true;
  }
  const std::vector<Form>& state() const { return state_; }

 private:
  std::vector<Form> state_;
};

// The side that the states depend on most, each in the unit of its own range.
std::optional<std::size_t> side_to_halve(const std::vector<Form>& state, const Box& cell) {
  std::vector<double> weight(cell.lower.size(), 0);
  for (const Form& each : state) {
    const std::vector<double> part = influence(each, cell);
    const double reach = reach_of(each) + each.radius;
    for (std::size_t i = 0; reach > 0 && i < part.size(); ++i) weight[i] += part[i] / reach;
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if (can_halve(cell, i) && (!best || weight[i] > weight[*best])) best = i;
  return best;
}

// Abandons a tube where the search does not go on.
class Asked : public SegmentVisitor {
 public:
  Asked(SegmentVisitor& to, const std::function<bool()>& goes_on) : to_(to), goes_on_(goes_on) {}
  bool visit(const Segment& segment, const std::vector<Form>& initial) override {
    if (!goes_on_()) throw decide::tree::Abandoned();
    return to_.visit(segment, initial);
  }

 private:
  SegmentVisitor& to_;
  const std::function<bool()>& goes_on_;
};

Obstacle obstacle_of(const std::optional<Failure>& failure, const std::optional<FlowEnd>& end,
                     const Box& cell) {
  Obstacle made;
  made.cell = cell;
  if (failure) {
    made.period = failure->period;
    made.from = failure->from;
    made.to = failure->to;
    made.requirement = failure->requirement;
    made.state = failure->state;
  } else if (end) {
    made.period = end->period;
    made.from = end->from;
    made.to = end->to;
    made.reason = end->reason;
    made.state = end->state;
  }
  return made;
}

}  // namespace

std::vector<std::byte> bytes_of(const Box& cell) {
  std::vector<std::byte> bytes(2 * cell.lower.size() * sizeof(double));
  std::memcpy(bytes.data(), cell.lower.data(), bytes.size() / 2);
  std::memcpy(bytes.data() + bytes.size() / 2, cell.upper.data(), bytes.size() / 2);
  return bytes;
}

Box cell_of(const std::vector<std::byte>& bytes) {
  const std::size_t count = bytes.size() / (2 * sizeof(double));
  Box cell{std::vector<double>(count), std::vector<double>(count)};
  std::memcpy(cell.lower.data(), bytes.data(), count * sizeof(double));
  std::memcpy(cell.upper.data(), bytes.data() + count * sizeof(double), count * sizeof(double));
  return cell;
}

void CellResults::add_closed(const Box& cell, const std::vector<TubePiece>& tube) {
  const std::lock_guard lock(mutex_);
  join(tube_, tube);
  if (cells_.size() < kMostCells) cells_.push_back(cell);
}

void CellResults::add_failure(const Obstacle& obstacle) {
  double size = 0;
  for (std::size_t i = 0; i < obstacle.cell.lower.size(); ++i)
    size += obstacle.cell.upper[i] - obstacle.cell.lower[i];
  const std::lock_guard lock(mutex_);
  if (obstacle_ && size >= smallest_) return;
  obstacle_ = obstacle;
  smallest_ = size;
}

void CellWorker::expand(std::span<const decide::tree::Node> nodes, std::vector<Expansion>& out) {
  out.clear();
  for (const decide::tree::Node& node : nodes) out.push_back(expand(node));
}

Expansion CellWorker::expand(const decide::tree::Node& node) {
  const Box cell = cell_of(node.state);
  Demands demands(question_.requirements);
  Pieces pieces;
  LastInstant last;
  Together seen(pieces, last), both(demands, seen);
  Asked asked(both, goes_on);
  const std::optional<FlowEnd> end = flow_.run(cell, asked);
  results_.count();
  Expansion made;
  const bool proven = !end && !demands.failure();
  std::optional<std::size_t> side;
  if (proven && node.depth < least_depth_) side = side_to_halve(last.state(), cell);
  if (proven && !side) {
    results_.add_closed(cell, pieces.made);
    made.fate = Fate::kClosed;
    return made;
  }
  if (!proven) {
    results_.add_failure(obstacle_of(demands.failure(), end, cell));
    side = side_to_halve(demands.failure(), cell, question_.loop.initial);
  }
  if (!side) return made;  // stuck
  Box low = cell, high = cell;
  low.upper[*side] = high.lower[*side] = middle(cell, *side);
  made.fate = Fate::kSplit;
  made.first = bytes_of(low);
  made.second = bytes_of(high);
  return made;
}

}  // namespace bf_aot::reach
