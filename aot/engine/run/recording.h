#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "runtime/bf.h"

// The times of all work that threads may share, as one thread did it. A replay tells from them how
// long other numbers of threads would take. Nothing is recorded but by a program that asks for it.

namespace bf_aot::engine {

enum class RoundKind : std::uint8_t {
  kTiles,   // tiles of rows, of a call of a verifier
  kShares,  // shares of one layer's call
  kPieces,  // pieces of share()
  kSearch   // a search for counterexamples, which takes the time that it is given
};
constexpr std::size_t kRoundKinds = 4;
const char* name_of(RoundKind kind) noexcept;

struct Piece;

// Pieces that depend on none of each other. What follows a round begins when all are done.
struct Round {
  RoundKind kind = RoundKind::kPieces;
  std::vector<Piece> pieces;
};

struct Piece {
  double seconds = 0;         // besides the rounds
  std::vector<Round> rounds;  // that it shares in its turn
};

double seconds_of(const Piece& piece);  // of one thread
double seconds_of(const Round& round);

// The processor time of the calling thread, which other processes do not stretch.
double thread_seconds() noexcept;

// A node of a tree that is searched. It begins when its parent is done.
struct RecordedNode {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t parent = kNone;  // its number within the turn; none: open when the turn began
  Piece piece;                   // its part of a call that expanded some
};

class Recording {
 public:
  // While it lives, the pool has so many workers by name, and the thread that calls does the work
  // of all. There may be one at a time. No other thread may work when it is made.
  explicit Recording(std::size_t workers);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  std::vector<Round> rounds;                     // besides those of the nodes
  std::vector<std::vector<RecordedNode>> turns;  // of searches of trees

  const bf_executor* executor() const { return &executor_; }

  // A turn of a search: nodes are known by the address of their state, which moves with them.
  void begin_turn();
  void add_node(const void* node, Piece piece);
  void add_child(const void* parent, const void* child);

 private:
  friend class PieceRecorder;
  friend class RoundRecorder;
  const bf_executor executor_;
  std::vector<Round>* open_ = &rounds;  // where the next round belongs
  std::map<const void*, std::uint32_t> numbers_, parents_;
};

// The seconds that so many threads, at least 1, would take if nothing else held them up: pieces are
// begun in order, by the first thread that is free. Where pieces share in their turn, the longer of
// the work by all threads and of the longest piece, whose rounds all threads share.
double replayed_seconds(const Round& round, std::size_t threads);
double replayed_seconds(const Piece& piece, std::size_t threads);
// Returns the same of a turn: of the nodes whose parents are done, the newest is begun first.
double replayed_seconds(const std::vector<RecordedNode>& turn, std::size_t threads);

// The recording of this process, or null.
Recording* recording() noexcept;

// Takes the time of a piece, and the rounds in it, from its making until end(); a piece that does
// not end is left out. Nothing where nothing is recorded.
class PieceRecorder {
 public:
  PieceRecorder();
  ~PieceRecorder() { leave(); }
  PieceRecorder(const PieceRecorder&) = delete;
  PieceRecorder& operator=(const PieceRecorder&) = delete;

  Piece end();

 private:
  void leave() noexcept;

  Recording* to_;  // null from the end on
  std::vector<Round>* outer_ = nullptr;
  double start_ = 0;
  Piece piece_;
};

// Records a round while it lives; nothing where nothing is recorded.
class RoundRecorder {
 public:
  explicit RoundRecorder(RoundKind kind);
  ~RoundRecorder();
  RoundRecorder(const RoundRecorder&) = delete;
  RoundRecorder& operator=(const RoundRecorder&) = delete;

  // Calls `piece` and notes its time.
  template <class Call>
  void time(const Call& piece) {
    if (to_ == nullptr) return piece();
    PieceRecorder recorder;
    piece();
    round_.pieces.push_back(recorder.end());
  }

 private:
  Recording* const to_;
  Round round_;
};

}  // namespace bf_aot::engine
