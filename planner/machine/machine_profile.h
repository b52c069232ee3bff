#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bf_aot {

// Profiles say how fast a machine does the kinds of work that verifiers consist of. The cost model
// (planner/cost/cost_model.h) multiplies with them; `bf-aot profile` measures one.

// A kind of work, with what its items and groups are. A vector of rows is what one vector of
// coefficients [element][row] holds: `lanes` of the schedule.
enum class Family : std::uint8_t {
  kBind,             // item: an input
  kBranch,           // item: a branch mispredicted
  kIntervalAffine,   // group: vector of outputs, a chunk of inputs summed
  kCentreAffine,     // group: vector of outputs
  kEvaluateAffine,   // group: vector of outputs, a chunk of inputs summed
  kCentreSlack,      // item: an element of the layer's input
  kAround,           // item: a neuron
  kRelax,            // item: a neuron; ReLU or none, with its table; group: an unstable one
  kRelaxBox,         // the same without a table
  kFunction,         // item: a neuron of a smooth function; group: lines around it
  kFunctionTurn,     // item: lines over a turning point of a smooth function
  kPieces,           // item: a neuron of steps or linear pieces; group: as kRelax
  kListRows,         // item: a neuron
  kListBent,         // the same of a layer with a function
  kStartRows,        // item: a coefficient, written scalar by scalar
  kRelaxation,       // item: a vector of rows of a neuron; within a dense kernel
  kBackwardAffine,   // item: a vector of rows of an input, written once per block of neurons
  kBackwardWide,     // the same with sums in double
  kConcretize,       // item: a vector of rows of an input
  kTighten,          // item: a neuron
  kWrite,            // item: an output
  kSumLayer,         // item: a neuron; a sum layer apart from its terms
  kIntervalSum,      // item: a neuron; of a sum layer under ibp, apart from its terms
  kConvInterval,     // as kConvCentre, in float32
  kConvCentre,       // item: an output; group: a run of pixels under one weight
  kSparseCentre,     // item: an entry; group: an output
  kGatherCentre,     // item: an output; group: one that another term gave a part of
  kClear,            // item: a vector of rows of an input
  kConvStart,        // item: a weight of a neuron
  kSparseStart,      // item: a weight of a neuron
  kGatherStart,      // item: a neuron
  kRelaxRows,        // item: a vector of rows of a neuron; relaxation of layers that are not dense
  kConvBackward,     // item: a vector of rows of an input; group: a run of products
  kConvWide,         // the same with sums in double
  kSparseBackward,   // item: a vector of rows of an entry; group: an entry
  kGatherBackward,   // item: a vector of rows of a neuron; group: a neuron
  kAddRows,          // item: a vector of rows
  kRelaxProduct,     // item: a neuron
  kRelaxMax,         // item: a candidate; group: a neuron
  kProductRows,      // item: a vector of rows of a neuron
  kProductBackward,  // item: a vector of rows of a neuron
  kMaxBackward,      // item: a vector of rows of a neuron
  kSlopes,           // item: a vector of rows of a neuron, walked forward and stepped; group: a
                     // neuron that they may relax by slopes of their own
};
constexpr std::size_t kFamilies = static_cast<std::size_t>(Family::kSlopes) + 1;

// Seconds of a call: seconds_per_call of the profile + items x item + groups x group
//   + max(flops / (peak x efficiency), bytes / bandwidth).
struct FamilyCost {
  double efficiency = 1;  // reached share of the peak
  double item = 0;        // seconds
  double group = 0;       // seconds
  bool operator==(const FamilyCost&) const = default;
};

struct MemoryLevel {
  double bytes = 0;  // size; the last level has no bound: infinity, in JSON null
  double bytes_per_second = 0;
  bool operator==(const MemoryLevel&) const = default;
};

struct MachineProfile {
  std::string name;    // "zen5-avx512"
  std::string source;  // how the numbers were found
  std::string target;  // that it was measured with; see find_target
  double clock = 0;    // Hz that its seconds are stated for; 0: cycles are not told
  int vector_bytes = 4;
  double float32_vector = 0;  // flop/s on registers, a multiply-add being two
  double float32_scalar = 0;
  double float64_vector = 0;
  double float64_scalar = 0;
  int chains = 1;                   // multiply-adds in flight that reach the peak
  double call = 0;                  // seconds per kernel call
  std::vector<MemoryLevel> levels;  // reads in order; sizes rise
  std::array<FamilyCost, kFamilies> families{};

  const FamilyCost& of(Family family) const { return families[static_cast<std::size_t>(family)]; }
  FamilyCost& of(Family family) { return families[static_cast<std::size_t>(family)]; }
  bool operator==(const MachineProfile&) const = default;
};

std::string_view to_string(Family family);

// Bytes per second of reads from a working set of so many bytes: of the level that holds it. The
// level before still holds a share of up to twice its size.
double bandwidth(const MachineProfile& profile, double working_set);

// The profile called so, or that of the target called so. Throws: CompileError BF2111.
const MachineProfile& find_profile(std::string_view name);
std::vector<std::string> profile_names();

// The profile of this machine: by its CPU's name where one was measured here, else that of the
// target that the host resolves to.
const MachineProfile& host_profile();

// JSON as `bf-aot profile` writes it. Throws: CompileError BF2112 that says what is wrong and
// where, for text that is no JSON, missing or unknown keys, and numbers that no machine has.
std::string to_json_text(const MachineProfile& profile);
MachineProfile parse_profile(const std::string& text, const std::string& where);

}  // namespace bf_aot
