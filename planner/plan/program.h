#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "frontend/functions/function.h"
#include "planner/plan/buffers.h"
#include "planner/plan/kernels.h"
#include "planner/plan/layers.h"
#include "planner/plan/routine.h"
#include "planner/plan/steps.h"
#include "planner/plan/tables.h"

// The call program of an entry: its steps as calls of kernels and of the runtime's routines, and
// the loops around them. planner/lowering/ makes it, aot/emit/calls/ prints it, planner/verify/
// checks it. It is a function of (plan, entry) and no member of the plan: what is in it follows
// from the steps, and so it need be neither stored, compared nor read back from JSON.
namespace bf_aot::calls {

// ---- arguments

struct Null {
  bool operator==(const Null&) const = default;
};

// The counter of a loop of the program.
enum class Variable : std::uint8_t {
  kNone,
  kFirst,  // the first neuron of a tile, among those listed
  kRound,  // of rows of several boxes
};

// Element offset + factor variable of a buffer, and what follows.
struct Place {
  BufferId buffer = BufferId::kNone;
  std::int64_t offset = 0;
  Variable by = Variable::kNone;
  std::int64_t factor = 1;
  bool operator==(const Place&) const = default;
};

// The value of one element.
struct ElementOf {
  BufferId buffer = BufferId::kNone;
  std::int64_t index = 0;
  bool operator==(const ElementOf&) const = default;
};

enum class Array : std::uint8_t {
  kLower,
  kUpper,
  kOutLower,
  kOutUpper,
  kX,
  kY,
  kCoefficients,
  kRanges,
};

// The caller's array, from an element on.
struct Given {
  Array array = Array::kLower;
  std::int64_t position = 0;
  bool operator==(const Given&) const = default;
};

// A variable that the entry point, or a structure of the program, defines.
enum class Local : std::uint8_t {
  kState,     // the context
  kCall,      // what the context says of this call
  kGroup,     // boxes side by side
  kCount,     // DefineRows
  kRows,      // and of several boxes
  kRound,     // of Rounds
  kErrors,    // DefineRowErrors
  kAbsolute,  // and of several boxes
  kAscent,    // Iterations
};

struct Table {
  LayerId layer = 0;
  int term = -1;  // -1: the layer's own
  TableKind kind = TableKind::kWeight;
  bool operator==(const Table&) const = default;
};

struct Integer {
  std::int64_t value = 0;
  bool operator==(const Integer&) const = default;
};

struct Flag {
  bool value = false;
  bool operator==(const Flag&) const = default;
};

// The field of a step that a constant comes from, which says what the constant pays for.
enum class Pays : std::uint8_t {
  kGamma,
  kGammaSum,
  kInflate,
  kMagnitude,
  kAbsolute,
  kCentreRelative,
  kPay,
  kRowNorm,
  kBiasNorm,
  kRowBias,
  kProduct,
  kWideProduct,
  kStored,
  kSlope,
  kOffset,
  kFreeOffset,
  kAround,
  kConcretize,
  kLeast,
  kWeightRelative,
  kUnderflow,
  kMost,
};

struct Constant {
  double value = 0;
  Pays pays = Pays::kGamma;
  bool to_float = false;  // rounded up to float
  bool operator==(const Constant&) const = default;
};

// The neurons of a tile that are left, `most` at most.
struct Left {
  int most = 0;
  bool operator==(const Left&) const = default;
};

// Numbers of a box in the caller's arrays.
struct OutputStride {
  bool spec = false;
  std::int64_t numbers = 0;
  bool operator==(const OutputStride&) const = default;
};

// The factor for what sums in double round: 1 where they are exact.
struct SumRounding {
  bool exact = false;
  bool operator==(const SumRounding&) const = default;
};

// The table of a function: in double, or in float32.
struct FunctionOf {
  Function function;
  bool in_float = false;
  bool operator==(const FunctionOf&) const = default;
};

// The geometry of a layer's convolution; coefficients over its inputs or outputs may lie pixel by
// pixel. `type`: known to the routine when it is compiled.
struct Shape {
  LayerId layer = 0;
  int term = 0;
  bool in_pixels = false, out_pixels = false;
  bool type = false;
  bool operator==(const Shape&) const = default;
};

// The image of a tensor: DefineImage's, or as a convolution makes it.
struct Image {
  LayerId tensor = kNetworkInput;
  std::vector<Shape> made;  // one, or none
  bool operator==(const Image&) const = default;
};

// The strides of an image: as the network has its elements, or pixel by pixel.
struct Strides {
  Image image;
  bool pixels = false;
  bool operator==(const Strides&) const = default;
};

// The window of a tensor: DefineWindow's, or all that a convolution reads or makes.
struct Window {
  enum class Of : std::uint8_t { kTensor, kInput, kOutput };
  Of of = Of::kTensor;
  LayerId tensor = kNetworkInput;
  Shape shape;
  bool operator==(const Window&) const = default;
};

// Live channels; kNone: all are.
struct Live {
  BufferId list = BufferId::kNone;
  bool operator==(const Live&) const = default;
};

// The places where coefficients of dead channels become 0.
struct Zeros {
  enum class Where : std::uint8_t { kNowhere, kWhereMany, kEverywhere };
  Where where = Where::kNowhere;
  BufferId list = BufferId::kNone;
  bool operator==(const Zeros&) const = default;
};

// The neurons of an image that are listed: all, or those whose relaxation is not exact.
struct Listed {
  bool all = true;
  std::vector<FunctionOf> function;  // of the layer, or none: a ReLU
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
  bool operator==(const Listed&) const = default;
};

enum class ErrorsKind : std::uint8_t {
  kRelax,
  kPlane,
  kInterval,
  kLineBounds,
  kLine,
};

// A structure of constants, in the order of the runtime's.
struct Errors {
  ErrorsKind kind = ErrorsKind::kRelax;
  std::vector<Constant> constants;
  bool operator==(const Errors&) const = default;
};

using Argument = std::variant<Null, Place, ElementOf, Given, Local, Table, Integer, Flag, Constant,
                              Left, OutputStride, SumRounding, FunctionOf, Shape, StridedView,
                              Image, Strides, Window, Live, Zeros, Listed, Errors>;

// ---- calls

// The register tile of a convolution.
struct Tile {
  int columns = 0, pixels = 0, last_columns = 0;
  bool operator==(const Tile&) const = default;
};

// The groups of a max layer.
struct Groups {
  LayerId layer = 0;
  GroupView view;
  bool operator==(const Groups&) const = default;
};

struct KernelCall {
  KernelId id = 0;
  bool operator==(const KernelCall&) const = default;
};

using TemplateArgument = std::variant<Integer, Flag, Tile, Groups>;
using Callee = std::variant<Routine, KernelCall>;

struct Call {
  Callee callee;
  std::vector<TemplateArgument> constants;
  std::vector<Argument> arguments;
  bool operator==(const Call&) const = default;
};

// ---- what is around calls

struct Node;
using Body = std::vector<Node>;

// The calls that follow, up to the next Part, belong to this TaskPart.
struct Part {
  std::string name;
  bool operator==(const Part&) const = default;
};

// Marks the place before a buffer's first use, or after its last.
struct Lifetime {
  BufferId buffer = BufferId::kNone;
  bool operator==(const Lifetime&) const = default;
};

// Ends the entry where its caller's limit has fewer operations left, or its caller says so.
struct Ask {
  std::int64_t operations = 0;
  bool operator==(const Ask&) const = default;
};

struct Block {
  Body body;
  bool operator==(const Block&) const = default;
};

// A call whose box lies in the anchor, or one that does not.
struct WhenInside {
  bool inside = true;
  Call call;
  bool operator==(const WhenInside&) const = default;
};

struct DefineImage {
  RowImage image;
  bool operator==(const DefineImage&) const = default;
};

// The elements of a tensor that one reader reads: all that a convolution reads, what it reads for
// its reader's window, or that window itself.
struct WindowRead {
  enum class Kind : std::uint8_t { kWhole, kThroughConvolution, kSame };
  Kind kind = Kind::kSame;
  Shape shape;
  LayerId reader = 0;
  bool operator==(const WindowRead&) const = default;
};

// The union of the reads; without any, the window of the tile's neurons.
struct DefineWindow {
  LayerId tensor = kNetworkInput;
  std::vector<WindowRead> reads;
  Place neurons;
  int count = 0;  // of them
  bool operator==(const DefineWindow&) const = default;
};

// The list of the neurons to bound, whose number the call returns; of several boxes, rounds of
// them.
struct DefineRows {
  Call list;
  int boxes = 1;
  bool operator==(const DefineRows&) const = default;
};

// Defines what errors every row must pay for; for each box their absolute part is
// underflow (inputs + the sum of link[2]). row_slack: what the centre of each neuron may miss.
struct DefineRowErrors {
  Constant concretize, weight, inflate, underflow;
  BufferId row_slack = BufferId::kNone;
  std::int64_t inputs = 0;
  std::vector<BufferId> links;
  int boxes = 1;
  bool operator==(const DefineRowErrors&) const = default;
};

// Runs the body for each `neurons` of the listed ones. With several workers these share the tiles,
// each with its own part of the buffers `own`.
struct Tiles {
  int neurons = 0;
  bool workers = false;
  std::vector<BufferId> own;
  Body body;
  bool operator==(const Tiles&) const = default;
};

// Runs the body for each round of rows of several boxes, a neuron of each.
struct Rounds {
  BufferId neurons = BufferId::kNone;
  int boxes = 1;
  Body body;
  bool operator==(const Rounds&) const = default;
};

// Runs `fits` if at most so many neurons are left, else `other`.
struct IfFits {
  int neurons = 0;
  Body fits, other;
  bool operator==(const IfFits&) const = default;
};

// The first elements become 0.
struct Clear {
  BufferId buffer = BufferId::kNone;
  std::int64_t count = 0;
  bool operator==(const Clear&) const = default;
};

// Runs the body unless the slopes of an earlier call are kept.
struct ColdStart {
  Body body;
  bool operator==(const ColdStart&) const = default;
};

// Runs `rows` `count` times, and `better` between two runs. warm: the number of runs after a start
// with kept slopes, or 0.
struct Iterations {
  int count = 1;
  int warm = 0;
  Body rows, better;
  bool operator==(const Iterations&) const = default;
};

struct Node {
  std::variant<Call, Part, Lifetime, Ask, Block, WhenInside, DefineImage, DefineWindow, DefineRows,
               DefineRowErrors, Tiles, Rounds, IfFits, Clear, ColdStart, Iterations>
      what;
  bool operator==(const Node&) const = default;
};

struct StepCalls {
  int step = 0;  // of the entry
  Body body;
  bool operator==(const StepCalls&) const = default;
};

struct TaskCalls {
  int task = 0;  // of the entry
  std::vector<StepCalls> steps;
  bool operator==(const TaskCalls&) const = default;
};

// Tasks that a call runs: all, those that do not share the box of the call before, or those whose
// results it has not kept.
enum class RunWhen : std::uint8_t { kAlways, kUnlessShared, kUnlessKept };

struct Section {
  RunWhen when = RunWhen::kAlways;
  std::vector<TaskCalls> tasks;
  bool operator==(const Section&) const = default;
};

struct Program {
  bool groups = false;  // for each group of boxes; else whoever calls the entry has the group
  std::vector<Section> sections;
  bool operator==(const Program&) const = default;
};

}  // namespace bf_aot::calls
