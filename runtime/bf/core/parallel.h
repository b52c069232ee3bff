#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/contract/lists.h"
#include "bf/core/rounding.h"

// Sharing the work of a call among workers. Threads are the executor's: here are jobs, which take
// tiles from a counter until none is left. As in bounds.h: internal linkage, no heap, no state.
//
// Which worker does which tile depends on chance, results do not: a tile reads what all share and
// nobody writes meanwhile, and writes results of its own and its worker's scratch, which it reads
// after it has written it.
//
// A tile is the same machine code whoever runs it: where a compiler may fuse products into sums,
// two copies could differ in their last bits.

#if __GCC_ATOMIC_INT_LOCK_FREE != 2
#error "bf: workers take tiles from an atomic counter, which this target lacks"
#endif

#if defined(__clang__)
#define BF_ONE_COPY __attribute__((noinline, unused))
#else
#define BF_ONE_COPY __attribute__((noipa, unused))
#endif

namespace bf {

// The workers of a call. No executor: the caller alone.
struct Team {
  const bf_executor* executor;
  std::size_t workers;
};

// Makes a team of at most `most` of the executor's workers.
static inline bf_status gather_team(const bf_executor* executor, std::size_t most, Team& team) {
  team = {nullptr, 1};
  if (executor == nullptr) return BF_OK;
  if (executor->run == nullptr || executor->workers == 0) return BF_BAD_EXECUTOR;
  team = {executor, executor->workers < most ? executor->workers : most};
  return BF_OK;
}

// `bytes` for each worker, one after the other.
struct Scratch {
  unsigned char* begin;
  std::size_t bytes;
};

static inline int tiles_of(int count, int tile) {
  return (count + tile - 1) / tile;
}

// The state that the jobs of a run share.
template <typename Tile>
struct Round {
  const Tile& tile;
  Scratch scratch;
  std::size_t jobs;
  int count;                           // of tiles
  int next;                            // the first that nobody has taken
  int running;                         // jobs
  unsigned called[kMostWorkers / 32];  // a bit for each job
};

// Words, not bytes: some targets have atomic bytes in a library alone.
template <typename Tile>
static inline bool is_first_call(Round<Tile>& round, std::size_t worker) {
  const unsigned bit = 1u << worker % 32;
  return (__atomic_fetch_or(&round.called[worker / 32], bit, __ATOMIC_RELAXED) & bit) == 0;
}

// A job. One that is called twice, or that there is not, does nothing: no two work on one scratch.
// Nor does one on a thread that rounds otherwise than the caller's, which has been checked: bounds
// would not hold.
template <typename Tile>
BF_ONE_COPY static void run_job(void* data, std::size_t worker) {
  Round<Tile>& round = *static_cast<Round<Tile>*>(data);
  if (worker >= round.jobs || !float_environment_ok()) return;
  __atomic_fetch_add(&round.running, 1, __ATOMIC_RELAXED);
  if (is_first_call(round, worker)) {
    unsigned char* const scratch = round.scratch.begin + worker * round.scratch.bytes;
    for (int i = __atomic_fetch_add(&round.next, 1, __ATOMIC_RELAXED); i < round.count;
         i = __atomic_fetch_add(&round.next, 1, __ATOMIC_RELAXED))
      round.tile(i, scratch);
  }
  __atomic_fetch_sub(&round.running, 1, __ATOMIC_RELEASE);
}

// Calls tile(i, scratch) once for each i < count. What the executor's jobs leave, the caller does.
// BF_BAD_EXECUTOR when it returns while jobs are running; BF_FLOAT_ENVIRONMENT when it leaves the
// caller's thread rounding otherwise than before, which then must not take what is left.
template <typename Tile>
static inline bf_status run_tiles(const Team& team, const Scratch& scratch, int count,
                                  const Tile& tile) {
  Round<Tile> round = {tile, scratch, 1, count, 0, 0, {}};
  const auto tiles = static_cast<std::size_t>(count < 0 ? 0 : count);
  if (team.workers > 1 && tiles > 1) {
    round.jobs = team.workers < tiles ? team.workers : tiles;
    team.executor->run(team.executor->self, run_job<Tile>, &round, round.jobs);
    if (__atomic_load_n(&round.running, __ATOMIC_ACQUIRE) != 0) return BF_BAD_EXECUTOR;
    if (!float_environment_ok()) return BF_FLOAT_ENVIRONMENT;
    round.called[0] = 0;
  }
  run_job<Tile>(&round, 0);
  return BF_OK;
}

// The first status of a batch that is not BF_OK.
static inline bf_status first_failure(std::size_t count, const bf_status* statuses) {
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] != BF_OK) return statuses[i];
  return BF_OK;
}

// The statuses from `first` on of a batch whose workers failed, whichever boxes they had finished.
static inline bf_status fail_boxes(bf_status status, std::size_t first, std::size_t count,
                                   bf_status* statuses) {
  for (std::size_t i = first; i < count; ++i) statuses[i] = status;
  return status;
}

}  // namespace bf
