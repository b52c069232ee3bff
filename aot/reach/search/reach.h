#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/reach/numbers/interval.h"
#include "aot/reach/question/loop.h"
#include "aot/reach/search/kept_cells.h"
#include "aot/reach/tube/pieces.h"
#include "aot/system/stop.h"
#include "frontend/property/property.h"

namespace bf_aot::reach {

// How tubes are computed and cells are split. 0: the planner chooses.
struct ReachSettings {
  std::size_t order = 0;    // of Taylor polynomials in time
  std::size_t symbols = 0;  // of forms: those of the start, and what is kept of the remainders
  std::size_t most_cells = 1u << 20;
  // Splits at least into so many cells, halved to one depth: the tube is narrower. 1: where needed.
  std::size_t least_cells = 1;
  double seconds = 60;
  std::size_t jobs = 1;
  // Keeps the cells, from which a later run goes on; of a part, the answer is about that alone.
  std::optional<CellFile> kept;
  // Options by which the controller is planned: method, semantics and so on.
  build::CompileOptions compile;
  build::CompilerOptions compiler;
};

enum class ReachAnswer : std::uint8_t {
  kVerified,   // every requirement holds for every start and disturbance
  kFalsified,  // a trajectory that breaks one is proven
  kUnknown,
  kBounded,  // nothing is required: the tube is the answer
};

// A trajectory that breaks a requirement: proven by its own tube, from the doubles it starts at.
// Where the typed box has no double, the number below stands for all that is typed.
struct Violation {
  std::size_t requirement = 0;
  mpq_class from, to;                             // a time in [from, to]
  std::vector<double> start;                      // [states]
  std::vector<std::vector<double>> disturbances;  // [periods][elements of all disturbances]
  std::vector<TubePiece> trajectory;              // its tube, up to that time
};

// Where the search for a proof ended.
struct Obstacle {
  std::size_t period = 0;
  mpq_class from, to;
  std::optional<std::size_t> requirement;  // none: the tube itself ended, see `reason`
  std::string reason;  // "no enclosure of 0.05 s: the range of x[2] grows without end"
  std::vector<Range> state;
  Box cell;
};

struct ReachOutcome {
  ReachAnswer answer = ReachAnswer::kUnknown;
  std::optional<Violation> violation;
  std::optional<Obstacle> obstacle;  // of kUnknown, and of a tube that ended
  std::vector<TubePiece> tube;  // hull of the closed cells; of unknown answers also of open ones
  std::vector<Box> cells;       // the leaves, at most 4096 of them
  std::vector<std::vector<std::vector<double>>> samples;  // [trajectory][instant][state]
  std::uint64_t cells_bounded = 0;                        // tubes that were computed
  std::size_t open_cells = 0;                             // that are left to be bounded
  double closed = 0;  // share of the initial box that is proven, from 0 to 1
  double seconds = 0;
  std::size_t order = 0, substeps = 0, symbols = 0;  // as they were chosen
};

struct ReachProgress {
  std::uint64_t cells = 0;
  double closed = 0;
  std::size_t period = 0;  // that the first tube has come to
};

struct ReachCalls {
  system::Stop stop;
  std::function<void(const ReachProgress&)> progress = [](const ReachProgress&) {};
};

// Answers a question about a loop. Throws: CompileError BF36xx what of the loop has no bounds.
ReachOutcome reach(const Question& question, const ReachSettings& settings,
                   const ReachCalls& calls);

}  // namespace bf_aot::reach
