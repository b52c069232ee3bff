#include "aot/engine/run/recording.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot::engine {
namespace {

Recording* current = nullptr;

void run_one_by_one(void* /*self*/, bf_job job, void* data, std::size_t jobs) {
  for (std::size_t i = 0; i < jobs; ++i) job(data, i);
}

}  // namespace

double thread_seconds() noexcept {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

const char* name_of(RoundKind kind) noexcept {
  switch (kind) {
    case RoundKind::kTiles:
      return "tiles of rows";
    case RoundKind::kShares:
      return "shares of layers";
    case RoundKind::kPieces:
      return "pieces";
    case RoundKind::kSearch:
      return "search";
  }
  return "";
}

Recording::Recording(std::size_t workers) : executor_{run_one_by_one, nullptr, workers} {
  BF_CHECK(current == nullptr);
  current = this;
}

Recording::~Recording() {
  current = nullptr;
}

void Recording::begin_turn() {
  turns.emplace_back();
  numbers_.clear();
  parents_.clear();
}

void Recording::add_node(const void* node, Piece piece) {
  const auto found = parents_.find(node);
  const std::uint32_t parent = found == parents_.end() ? RecordedNode::kNone : found->second;
  if (found != parents_.end()) parents_.erase(found);
  numbers_[node] = static_cast<std::uint32_t>(turns.back().size());
  turns.back().push_back({parent, std::move(piece)});
}

void Recording::add_child(const void* parent, const void* child) {
  parents_[child] = numbers_.at(parent);
}

double seconds_of(const Piece& piece) {
  double seconds = piece.seconds;
  for (const Round& round : piece.rounds) seconds += seconds_of(round);
  return seconds;
}

double seconds_of(const Round& round) {
  double seconds = 0;
  for (const Piece& piece : round.pieces) seconds += seconds_of(piece);
  return seconds;
}

double replayed_seconds(const Piece& piece, std::size_t threads) {
  double seconds = piece.seconds;
  for (const Round& round : piece.rounds) seconds += replayed_seconds(round, threads);
  return seconds;
}

double replayed_seconds(const Round& round, std::size_t threads) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free(
      std::greater<>(), std::vector<double>(std::min(threads, round.pieces.size()), 0.0));
  double last = 0, longest = 0;
  bool shares = false;
  for (const Piece& piece : round.pieces) {
    const double end = free.top() + seconds_of(piece);
    free.pop();
    free.push(end);
    last = std::max(last, end);
    longest = std::max(longest, replayed_seconds(piece, threads));
    shares = shares || !piece.rounds.empty();
  }
  return shares ? std::max(longest, seconds_of(round) / static_cast<double>(threads)) : last;
}

double replayed_seconds(const std::vector<RecordedNode>& turn, std::size_t threads) {
  std::vector<std::vector<std::uint32_t>> children(turn.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < turn.size(); ++i)
    (turn[i].parent == RecordedNode::kNone ? ready : children[turn[i].parent]).push_back(i);
  using Event = std::pair<double, std::uint32_t>;  // the end of a node
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running;
  double now = 0;
  while (!ready.empty() || !running.empty()) {
    for (; !ready.empty() && running.size() < threads; ready.pop_back())
      running.emplace(now + replayed_seconds(turn[ready.back()].piece, threads), ready.back());
    now = running.top().first;
    const std::vector<std::uint32_t>& made = children[running.top().second];
    ready.insert(ready.end(), made.begin(), made.end());
    running.pop();
  }
  return now;
}

Recording* recording() noexcept {
  return current;
}

PieceRecorder::PieceRecorder() : to_(current) {
  if (to_ == nullptr) return;
  outer_ = std::exchange(to_->open_, &piece_.rounds);
  start_ = thread_seconds();
}

Piece PieceRecorder::end() {
  if (to_ == nullptr) return {};
  piece_.seconds = thread_seconds() - start_;
  for (const Round& round : piece_.rounds) piece_.seconds -= seconds_of(round);
  leave();
  return std::move(piece_);
}

void PieceRecorder::leave() noexcept {
  if (to_ != nullptr) to_->open_ = outer_;
  to_ = nullptr;
}

RoundRecorder::RoundRecorder(RoundKind kind) : to_(current) {
  round_.kind = kind;
}

RoundRecorder::~RoundRecorder() {
  if (to_ != nullptr && !round_.pieces.empty()) to_->open_->push_back(std::move(round_));
}

}  // namespace bf_aot::engine
