#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/graph.h"

namespace bf {

// ---------------------------------------------------------------------------------------------
// What is asked for

enum class Method : std::uint8_t { kIbp, kCrownIbp, kCrown };
enum class Lowering : std::uint8_t { kReference, kGeneric, kVector };
enum class Semantics : std::uint8_t { kReal };

// The bounds kept for one pre-activation.
enum class Domain : std::uint8_t {
  kInterval,  // one forward pass (IBP)
  kBackward,  // interval, then backward linear bounds (CROWN) for its unstable neurons
};

// A machine that generated code is scheduled for.
struct Target {
  std::string name;      // "x86-64-v4", "cortex-m4", "generic"
  int vector_bytes = 4;  // native vector; 4 means scalar code
  int vector_registers = 16;
  bool hardware_double = true;     // else double is emulated, and used where nothing else serves
  int align = 16;                  // of the workspace and the weight tables, bytes
  std::vector<std::string> flags;  // what the C++ compiler is given, "-march=x86-64-v4"

  bool operator==(const Target&) const = default;
};

// ---------------------------------------------------------------------------------------------
// What the network is: a chain of regions and the heads that read its end

// Error terms of one affine region. All are upper bounds computed at compile time; see
// note [error terms] in DESIGN.md for the proof that each bound needs each of them.
struct AffineErrors {
  double weight_relative = 0;  // |w* - w| <= weight_relative |w|, w* the network's exact weight
  double weight_residual = 0;  // |w* - (w + residual)| <= weight_residual |w|
  double bias_float = 0;       // |b* - float(b)|, worst neuron
  double bias_double = 0;      // |b* - b|, worst neuron
  double row_norm = 0;         // max_j sum_k |w_jk|
  double bias_norm = 0;        // max_j |b_j|
  bool operator==(const AffineErrors&) const = default;
};

// z = W a + b, then a' = relu(z) when `relu`. Weights are float32, row-major [out, in].
struct Layer {
  std::string name;    // unique C identifier, from the ONNX name
  std::string origin;  // "MatMul 'm1' + Add 'a1' + Relu 'r1'"
  int input = -1;      // the layer that makes `a`; -1: the network's input
  int in = 0;
  int out = 0;
  bool relu = false;
  std::vector<float> weight;
  std::vector<float> residual;  // w* - w rounded to float32, where some weight is inexact; or empty
  std::vector<double> bias;
  AffineErrors errors;

  float weight_at(int row, int column) const {
    return weight[static_cast<std::size_t>(row) * static_cast<std::size_t>(in) +
                  static_cast<std::size_t>(column)];
  }
  bool operator==(const Layer&) const = default;
};

// ---------------------------------------------------------------------------------------------
// Storage

enum class Element : std::uint8_t { kFloat32, kFloat64, kInt32 };

constexpr std::size_t size_of(Element element) {
  return element == Element::kFloat64 ? 8 : 4;
}

enum class BufferId : std::int32_t { kNone = -1 };

// A range of the arena. Live from the step that first writes it to the last that touches it.
struct Buffer {
  std::string name;
  Element element = Element::kFloat32;
  std::int64_t count = 0;
  std::int64_t bytes = 0;   // count elements, rounded up to the alignment
  std::int64_t offset = 0;  // bytes from the arena's start
  int first = 0;            // index of a step in its entry
  int last = 0;
  bool operator==(const Buffer&) const = default;
};

struct StorageTotals {
  std::int64_t naive_bytes = 0;        // one range per buffer
  std::int64_t planned_bytes = 0;      // what the arena needs
  std::int64_t lower_bound_bytes = 0;  // largest sum of buffers alive in one step
  bool operator==(const StorageTotals&) const = default;
};

// ---------------------------------------------------------------------------------------------
// Kernels and their schedules

enum class KernelKind : std::uint8_t {
  kBindFloat,       // box -> float centre, radius
  kBindDouble,      // box -> double centre, float radius
  kIntervalAffine,  // IBP: affine [+ ReLU], float centre and radius, one pass over the weights
  kCentreAffine,    // double centre, float radius, one pass over the weights
  kRelax,           // pre-activation bounds -> linear relaxation, activation centre and radius
  kStartRows,       // backward coefficients of chosen rows: +-W
  kBackwardAffine,  // relaxation of a layer, then coefficients x W
  kConcretize,      // coefficients over the box -> lower bound per row
  kEvaluateAffine,  // plain inference of affine [+ ReLU]
};

// How a kernel's loops are arranged; see aot/loop. lanes x vectors values are computed at a time.
struct Schedule {
  int lanes = 1;    // values per vector; 1 is scalar code
  int vectors = 1;  // vectors per step of the lane axis
  int columns = 1;  // register tile: columns of the product computed together
  int chunk = 0;    // terms summed in one accumulator before they go to the next level
  bool operator==(const Schedule&) const = default;

  int panel() const { return lanes * vectors; }
};

// A kernel, printed once and shared by all steps of equal key.
struct Kernel {
  std::string key;       // "interval_affine.relu/50x50/f32/panel64/x86-64-v4"
  std::string function;  // its name in the generated file
  KernelKind kind = KernelKind::kIntervalAffine;
  int in = 0;
  int out = 0;
  int rows = 0;   // backward kernels: rows in a tile
  int panel = 0;  // outputs that the weight table interleaves: [out / panel][in][panel]
  bool relu = false;
  bool residual = false;
  bool wide = false;  // backward: sums in double, rounded once to float32
  bool head = false;  // writes bounds (or values) to the caller's arrays
  Lowering strategy = Lowering::kGeneric;
  Schedule schedule;
  int depth = 0;       // longest chain of float32 roundings of one sum
  std::string reason;  // why this strategy
  bool operator==(const Kernel&) const = default;
};

using KernelId = std::int32_t;

// ---------------------------------------------------------------------------------------------
// Steps: what an entry point does, in order. Buffers hold centred values:
//   a box tensor is (centre, radius): |a_k - centre_k| <= radius_k;
//   a pre-activation is (centre, below, above): centre - below <= z <= centre + above.
// The interval method folds the summation error of the reader into the radius: what is stored is
// radius + gamma |centre|.

// The caller's box -> centre, radius of the network's inputs.
struct BindBox {
  BufferId centre = BufferId::kNone, radius = BufferId::kNone;
  double gamma = 0;  // folded for the reader (interval method)
  KernelId kernel = 0;
  bool operator==(const BindBox&) const = default;
};

// ibp: (centre, radius) of the inputs -> those of the activations, or the output bounds.
struct IntervalAffine {
  int layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId centre_out = BufferId::kNone,
           radius_out = BufferId::kNone;  // kNone for the last: bounds go to the caller
  double inflate = 0;                     // factor on the computed radius
  double magnitude = 0;                   // times |z|: roundings of the scalar part
  double absolute = 0;                    // bias error and underflow
  double gamma = 0;                       // folded into radius_out for its reader
  int position = 0;  // of its first element in the caller's arrays, when it is a head
  KernelId kernel = 0;
  bool operator==(const IntervalAffine&) const = default;
};

// What a `slack` buffer holds for a layer, three doubles:
//   [0] max over neurons of |z - (centre + sum_k w*_k (a_k - c_k))|: what the double centre may
//   miss [1] sum_k radius_in_k [2] what underflow may cost one backward row that passes through
//   this layer (made by Relax)
constexpr int kSlack = 3;

// A relaxation table is six rows of `out` floats, in this order; see Relax.
// kError prices the roundings of float32 products, kErrorWide those of wide ones.
enum RelaxRow : std::uint8_t {
  kSlopeUpper,
  kSlopeLower,
  kOffsetUpper,
  kOffsetLower,
  kError,
  kErrorWide
};
constexpr int kRelaxRows = 6;

// crown: centre of z in double and the interval radius around it.
struct CentreAffine {
  int layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId centre_out = BufferId::kNone,
           radius_out =
               BufferId::kNone;  // z; radius_out_j >= sum_k |w*_jk| radius_in_k (before slack)
  BufferId below = BufferId::kNone, above = BufferId::kNone;  // both set to radius_out + slack
  BufferId slack = BufferId::kNone;  // one double: |z - (centre + W (a - c))| for every neuron
  double inflate = 0;                // factor on the computed radius
  double centre_relative = 0;        // slack = centre_relative (row_norm max|c| + bias_norm)
  double absolute = 0;               //         + absolute
  double row_norm = 0;
  double bias_norm = 0;
  KernelId kernel = 0;
  bool operator==(const CentreAffine&) const = default;
};

// Linear relaxation of a' = relu(z) (or a' = z) on the current bounds, as tables over the neurons:
//   coefficient A >= 0 uses slope_lower, offset_lower; A < 0 uses slope_upper, offset_upper;
//   |A| error pays every rounding of the backward step through this layer.
struct Relax {
  int layer = 0;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone,
           radius = BufferId::kNone, slack = BufferId::kNone;  // of z
  BufferId table = BufferId::kNone;                            // 6 x out floats, see Relax tables
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;  // of a'
  double product = 0;       // gamma of the product Lambda W, plus weight_relative
  double wide_product = 0;  // the same for wide products: gamma of double, plus weight_relative
  double stored = 0;        // rounding of a wide sum to float32, relative
  double slope = 0;         // rounding of Lambda = A slope, relative
  double offset = 0;        // gamma of sum_j A_j offset_j
  double inflate = 0;       // on the stored interval radius
  KernelId kernel = 0;
  bool operator==(const Relax&) const = default;
};

// One backward link: coefficients over the activations of `layer` -> over its inputs, through its
// relaxation and its weights. coefficients: [neurons][tile] floats.
struct BackwardLink {
  int layer = 0;
  BufferId table = BufferId::kNone;
  BufferId slack = BufferId::kNone;
  BufferId coefficients_in = BufferId::kNone;
  BufferId coefficients_out = BufferId::kNone;
  KernelId kernel = 0;
  bool operator==(const BackwardLink&) const = default;
};

// Backward linear bounds of neurons of layer `layer`, tile / 2 neurons at a time: row r of a tile
// is a lower bound of +z_i, row tile / 2 + r one of -z_i.
// Hidden layers: of the unstable neurons. Heads: of all of them. below and above are tightened in
// place and never loosened.
struct BackwardRows {
  int layer = 0;
  bool unstable_only = true;
  int tile = 0;  // rows at a time; even
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;  // of z
  BufferId slack = BufferId::kNone;
  BufferId neurons = BufferId::kNone;       // int32 list of the neurons to bound
  BufferId coefficients = BufferId::kNone;  // of the first link, made from the weights
  BufferId sums = BufferId::kNone;          // [3][tile] floats: offset sum, error sum, spread
  BufferId radius = BufferId::kNone;        // interval radius of z
  BufferId input_radius = BufferId::kNone;
  std::vector<BackwardLink> links;  // from the layer before down to the first
  double sum_inflate = 0;           // on the computed error sum
  double concretize_inflate = 0;    // on the computed sum_k |A_k| radius_k
  double underflow = 0;             // times what relax() counted for each link, and the inputs
  double weight_relative = 0;       // of the rows' own weights, relative to inflate |W| radius
  double inflate = 0;               // on the interval radius
  KernelId start = 0;
  KernelId concretize = 0;
  bool operator==(const BackwardRows&) const = default;
};

// Bounds of a head -> the caller's arrays, rounded outward.
struct WriteBounds {
  int layer = 0;
  int position = 0;  // of its first element in the caller's arrays
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
  bool operator==(const WriteBounds&) const = default;
};

// Plain inference of one layer.
struct EvaluateAffine {
  int layer = 0;
  BufferId in = BufferId::kNone, out = BufferId::kNone;  // kNone: the caller's x or y
  int position = 0;  // of its first element in the caller's array, when it is a head
  KernelId kernel = 0;
  bool operator==(const EvaluateAffine&) const = default;
};

using Step = std::variant<BindBox, IntervalAffine, CentreAffine, Relax, BackwardRows, WriteBounds,
                          EvaluateAffine>;

std::string_view step_name(const Step& step);

// Buffers that a step reads, and those that it writes.
struct Access {
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
};
Access access_of(const Step& step);

// ---------------------------------------------------------------------------------------------
// The plan: BoundFlow's slots. All members are made by planner passes and used by the emitter.

// A unit of work: consecutive steps of an entry that belong to one region and purpose.
struct Task {
  std::string name;  // "forward fc1", "tighten fc2", "bound outputs"
  int layer = -1;    // -1: the box
  Domain domain = Domain::kInterval;
  std::vector<int> steps;         // indices into the entry's steps
  std::vector<BufferId> inputs;   // made by other tasks
  std::vector<BufferId> outputs;  // read by other tasks
  std::vector<int> after;         // tasks that must run before: the edges of the TaskGraph
  std::int64_t flops = 0;         // at most: every neuron unstable
  std::int64_t bytes = 0;         // of weights read at most once per pass over them
  bool operator==(const Task&) const = default;
};

enum class EntryKind : std::uint8_t { kBounds, kSpecBounds, kEvaluate };

// One function of the verifier: its steps, their tasks, and its use of the arena.
struct Entry {
  EntryKind kind = EntryKind::kBounds;
  std::vector<Step> steps;
  std::vector<Task> tasks;
  std::vector<Buffer> buffers;
  StorageTotals storage;

  const Buffer& buffer(BufferId id) const { return buffers.at(static_cast<std::size_t>(id)); }
  bool operator==(const Entry&) const = default;
};

struct DomainChoice {
  int layer = 0;
  Domain domain = Domain::kInterval;
  std::string reason;
  bool operator==(const DomainChoice&) const = default;
};

// Something that survives a call. This version keeps nothing: every buffer is of scope RUN.
enum class CacheScope : std::uint8_t { kRun, kEpoch, kPersistent };

struct CacheEntry {
  std::string name;
  CacheScope scope = CacheScope::kRun;
  std::string key;  // what it depends on
  bool operator==(const CacheEntry&) const = default;
};

// How a layer's weight table is laid out: [out / panel][in][panel], the last panel zero-padded.
struct WeightLayout {
  int layer = 0;
  int panel = 1;
  std::int64_t bytes = 0;  // weight, residual and bias tables
  bool operator==(const WeightLayout&) const = default;
};

// A candidate that a pass considered and did not take.
struct Rejected {
  std::string slot;  // "domain", "layout", "lowering", "storage"
  std::string candidate;
  std::string reason;
  bool operator==(const Rejected&) const = default;
};

struct PlannerConfig {
  Method method = Method::kCrown;
  Semantics semantics = Semantics::kReal;
  Lowering lowering = Lowering::kVector;
  Target target;
  int row_tile = 0;  // rows of a backward tile; 0: chosen by the planner

  // Error terms to leave out, by name (see error_term_names). For the mutation test alone: it shows
  // that each term is needed. No command-line option reaches it.
  std::vector<std::string> dropped_error_terms;

  bool operator==(const PlannerConfig&) const = default;
};

struct Plan {
  std::string name;  // C identifier; prefix of all symbols
  ModelInfo model;
  PlannerConfig config;

  std::vector<Value> inputs, outputs;  // name and shape, in order
  int input_count = 0;                 // elements over all inputs
  int output_count = 0;
  int spec_rows = 0;  // 0: no spec was compiled in

  std::vector<Layer> layers;  // topological; heads included
  std::vector<int> output_heads, spec_heads;

  std::vector<DomainChoice> domains;
  std::vector<WeightLayout> layouts;
  std::vector<CacheEntry> cache;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
  std::vector<Rejected> rejected;

  std::int64_t arena_bytes() const;    // largest planned_bytes of the entries
  std::int64_t weights_bytes() const;  // sum of layouts

  const Entry* find_entry(EntryKind kind) const;  // null when the plan has none
  bool operator==(const Plan&) const = default;
};

// Aborts when a plan is malformed (our bug): ids in range, every buffer written before it is read,
// lifetimes that cover all accesses, no two live buffers overlapping, offsets aligned, task edges
// complete and acyclic. Written apart from the passes that make what it checks.
void verify(const Plan& plan);

std::string_view to_string(Method method);
std::string_view to_string(Domain domain);
std::string_view to_string(Lowering lowering);
std::string_view to_string(EntryKind kind);
std::string_view to_string(KernelKind kind);
std::string_view to_string(Element element);

}  // namespace bf
