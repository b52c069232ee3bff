#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "aot/engine/prebuilt/any.h"
#include "aot/engine/prebuilt/prebuilt.h"
#include "aot/engine/run/constants.h"
#include "bf/core/bounds.h"
#include "bf/core/context.h"
#include "bf/dense/lines.h"
#include "bf/sums/intervals.h"
#include "bf/sums/planes.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/plan.h"
#include "planner/plan/program.h"

// A call program with everything resolved that does not change from call to call: callees are
// thunks, tables and structures are addresses, buffers are places in the arena.

namespace bf_aot::engine {

// The regions of memory in which the buffers of a call lie.
enum class Region : std::uint8_t { kWorkspace, kContext, kOwn };
constexpr int kRegions = 3;

// A buffer's offset in bytes from the start of its region.
struct BufferPlace {
  Region region = Region::kWorkspace;
  std::int64_t offset = 0;
};

// The way by which an argument's value is found when its call is made.
struct Operand {
  enum class Kind : std::uint8_t {
    kFixed,         // value
    kPlace,         // region + offset
    kByFirst,       // as kPlace, + factor times the first neuron of the tile
    kByRound,       // offset from the neurons of the round
    kFloatElement,  // the float at kPlace
    kDoubleElement,
    kGiven,   // the caller's array number `index`, + offset
    kLocal,   // calls::Local number `index`
    kLeft,    // at most `index` of the neurons that are left
    kWindow,  // number `index`
    kLive,    // AnyLive of the list at kPlace
    kMany,    // whether the list at kPlace has many
    kListed,  // AnyListed number `index`
  };
  Kind kind = Kind::kFixed;
  Region region = Region::kWorkspace;
  std::int32_t index = 0;
  std::int64_t offset = 0;
  std::int64_t factor = 0;
  Value value = {};
};

struct ListedPlaces {
  bool all = true;
  const bf::FunctionView* function = nullptr;
  BufferPlace centre, below, above;
};

struct WindowRead {
  calls::WindowRead::Kind kind = calls::WindowRead::Kind::kSame;
  const bf::ConvShape* shape = nullptr;
  std::int32_t window = 0;  // the reader's
};

// Where the step of a call has the ranges [centre - below, centre + above] of a layer's z.
struct NeuronRanges {
  int layer = 0;
  std::size_t count = 0;
  BufferPlace centre, below, above;
  bool relaxes = false;  // the layer's activation, so that neurons may be inexact; else a factor
  const bf::FunctionView* function = nullptr;  // that is relaxed; null: ReLU
};

constexpr std::size_t kMostOperands = 20;

struct Operation;
using Operations = std::vector<Operation>;

struct Operation {
  enum class Kind : std::uint8_t {
    kCall,
    kPart,
    kBlock,
    kWhenInside,
    kDefineWindow,
    kDefineRows,
    kDefineRowErrors,
    kTiles,
    kRounds,
    kIfFits,
    kClear,
    kColdStart,
    kIterations,
  };
  Kind kind = Kind::kBlock;

  // The number of the call in its program, in kCall, kWhenInside, kDefineRows; see EntryOperations.
  std::uint32_t call = 0;
  std::uint32_t first_operand = 0, operands = 0;
  // kCall: the neurons whose ranges the call takes, as they are before it.
  std::vector<NeuronRanges> ranges;
  // kCall: shapes that stand for operand `shape_operand`, each for some rows of the outputs, so
  // that workers share the call. Empty: nobody does.
  std::vector<const bf::KnownShape*> shares;
  std::uint32_t shape_operand = 0;
  Thunk own = nullptr;  // the code that takes such shapes

  // A flag that says, in kWhenInside: inside; in kTiles: there are workers; in kDefineRows,
  // kDefineRowErrors, kRounds: several boxes.
  bool flag = false;
  std::int32_t neurons = 0;  // kTiles, kIfFits; kRounds, kDefineRows: boxes; kDefineWindow: count
  std::int32_t index = 0;    // kDefineWindow: the window; kPart: of its text; kIterations: warm
  std::int64_t count = 0;    // kIterations; kClear: bytes
  BufferPlace place;         // kClear, kRounds; kDefineWindow: neurons; kDefineRowErrors: row_slack
  std::int64_t offset = 0;   // kDefineWindow: factor of the first neuron
  const bf::Image* image = nullptr;  // kDefineWindow
  std::vector<WindowRead> reads;     // kDefineWindow
  std::vector<BufferPlace> links;    // kDefineRowErrors
  bf::RowErrors errors = {};         // kDefineRowErrors: without absolute and row
  double underflow = 0, inputs = 0;  // kDefineRowErrors
  Operations body, other;            // other: kIfFits, kIterations' better
};

struct TaskOperations {
  int task = 0;
  Operations body;
};

struct SectionOperations {
  calls::RunWhen when = calls::RunWhen::kAlways;
  std::vector<TaskOperations> tasks;
};

// An entry, ready to be run.
struct EntryOperations {
  const Entry* entry = nullptr;
  std::vector<SectionOperations> sections;
  // The number of calls of the program, and the code of each, in the order of for_each_call(). Code
  // that is compiled for a call may take the place of the engine's own while other threads run it.
  std::uint32_t calls = 0;
  std::unique_ptr<std::atomic<Thunk>[]> code;
  std::vector<Operand> operands;
  std::vector<ListedPlaces> listed;
  std::vector<std::string> parts;  // names
  int windows = 0;
  bool improves = false;  // another call can begin with its slopes
  // Structures that operands point to.
  std::vector<std::unique_ptr<KernelExtents>> extents;
  std::vector<std::unique_ptr<bf::KnownShape>> shapes;
  std::vector<std::unique_ptr<bf::Image>> images;
  std::vector<std::unique_ptr<bf::ImageStrides>> strides;
  std::vector<std::unique_ptr<bf::Window>> whole;
  std::vector<std::unique_ptr<bf::RelaxErrors>> relax_errors;
  std::vector<std::unique_ptr<bf::PlaneErrors>> plane_errors;
  std::vector<std::unique_ptr<bf::IntervalErrors>> interval_errors;
  std::vector<std::unique_ptr<bf::LineBounds>> line_bounds;
  std::vector<std::unique_ptr<bf::LineErrors>> line_errors;
};

// Makes the operations of an entry's program. Throws an internal error when the program calls what
// is not among the prebuilt code, which a plan of lowering prebuilt never does. parts: keeps the
// marks of Part, for traces.
EntryOperations assemble(const Lowered& lowered, const Entry& entry, const Prebuilt& code,
                         Constants& constants, bool parts);

}  // namespace bf_aot::engine
