#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  kBackward,  // interval, then backward linear bounds (CROWN)
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
// What the network is: layers that read the box or other layers, and the heads among them

// Error terms of one affine layer. All are upper bounds computed at compile time; see
// note [error terms] in DESIGN.md for the proof that each bound needs each of them.
struct AffineErrors {
  double weight_relative = 0;  // |w* - w| <= weight_relative |w|, w* the network's exact weight
  double weight_residual = 0;  // |w* - (w + residual)| <= weight_residual |w|
  double bias_float = 0;       // |b* - float(b)|, worst neuron
  double bias_double = 0;      // |b* - b|, worst neuron
  double row_norm = 0;         // max_j sum_k |w_jk|, over all terms
  double bias_norm = 0;        // max_j |b_j|
  bool operator==(const AffineErrors&) const = default;
};

// ---- Maps of one tensor to `out` numbers; see Term.

// A convolution; weight: [out_channels][in_group][taps].
struct ConvMap {
  ConvGeometry geometry;
  bool operator==(const ConvMap&) const = default;
};

// Compressed rows: entry k of row_start[i] <= k < row_start[i + 1] reads column[k]; weight: one per
// entry. Columns rise within a row.
struct SparseMap {
  std::vector<std::int32_t> row_start;  // out + 1
  std::vector<std::int32_t> column;
  bool operator==(const SparseMap&) const = default;
};

// y_i = x_{source_i}, or 0 where source_i is -1; an empty list is the identity. No weights.
struct GatherMap {
  std::vector<std::int32_t> source;
  bool operator==(const GatherMap&) const = default;
};

using LinearMap = std::variant<ConvMap, SparseMap, GatherMap>;

// What a layer reads of one tensor.
struct Term {
  int input = -1;  // the layer that makes it; -1: the network's input
  int in = 0;      // its elements
  LinearMap map;
  std::vector<float> weight;    // of conv and sparse maps of a sum
  std::vector<float> residual;  // w* - w rounded to float32, where some weight is inexact; or empty
  double row_norm = 0;          // max_j sum_k |w_jk|
  int row_entries = 0;          // most products in one output
  int column_entries = 0;       // most products that read one input
  bool operator==(const Term&) const = default;
};

enum class LayerKind : std::uint8_t {
  kDense,    // z = W a + b; W float32, row-major [out, in], over one tensor
  kSum,      // z = the sum of `terms`, + b
  kProduct,  // z_i = x_{g_i} y_{h_i}: two terms with gather maps, every element present
  kMax,      // z_i = the largest of x over row i of a sparse map without weights: one term
};

// A tensor of the network: z, then a = relu(z) or function(z), or z itself. Product and max layers
// have no activation; a sum that reads them has.
struct Layer {
  std::string name;    // unique C identifier, from the ONNX name
  std::string origin;  // "MatMul 'm1' + Add 'a1' + Relu 'r1'"
  LayerKind kind = LayerKind::kDense;
  int out = 0;
  bool relu = false;
  std::optional<Function> function;  // not with relu

  // kDense
  int input = -1;  // the layer that makes `a`; -1: the network's input
  int in = 0;
  std::vector<float> weight;
  std::vector<float> residual;  // w* - w rounded to float32, where some weight is inexact; or empty

  std::vector<Term> terms;  // of the other kinds

  std::vector<double> bias;  // kDense, kSum
  AffineErrors errors;
  // No double operation of the centre path rounds: copies, or sums on a grid of 52 bits.
  bool exact_centre = false;

  float weight_at(int row, int column) const {
    return weight[static_cast<std::size_t>(row) * static_cast<std::size_t>(in) +
                  static_cast<std::size_t>(column)];
  }
  bool is_affine() const { return kind == LayerKind::kDense || kind == LayerKind::kSum; }
  bool operator==(const Layer&) const = default;
};

// The tensors that a layer reads, in order, with repetitions: layers, or -1.
std::vector<int> inputs_of(const Layer& layer);

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
  // Routines of the runtime, for layers of other kinds than dense:
  kTermCentre,    // one term of a sum: adds to double centres and float radii
  kTermStart,     // backward coefficients of chosen rows of one term
  kTermBackward,  // coefficients x one term
  kRelaxRows,     // relaxation of a layer applied to backward coefficients
  kRelaxProduct,  // boxes of the factors -> planes
  kRelaxMax,      // box of the candidates -> the chosen one
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
  std::string
      map;  // of a term: "conv", "sparse", "gather"; of other routines what tells them apart
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

// Centre of z = W a + b in double and the interval radius around it.
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

// The same for a sum layer: centre_out = b, then every term adds to centre_out and radius_out,
// which rounds up.
struct CentreSum {
  struct Part {
    BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
    KernelId kernel = 0;
    bool operator==(const Part&) const = default;
  };
  int layer = 0;
  std::vector<Part> parts;  // one per term
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  BufferId below = BufferId::kNone, above = BufferId::kNone;
  BufferId slack = BufferId::kNone;
  double inflate = 0;          // factor on the computed radius
  double centre_relative = 0;  // slack = centre_relative (sum of row_norm max|c|, + bias_norm)
  double absolute = 0;         //         + absolute
  double bias_norm = 0;
  bool operator==(const CentreSum&) const = default;
};

// Linear relaxation of a' = f(z) (or a' = z) on the current bounds, as tables over the neurons:
//   coefficient A >= 0 uses slope_lower, offset_lower; A < 0 uses slope_upper, offset_upper;
//   |A| error pays every rounding of the backward step through this layer.
struct Relax {
  int layer = 0;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone,
           radius = BufferId::kNone, slack = BufferId::kNone;  // of z
  BufferId table = BufferId::kNone;  // 6 x out floats, see Relax tables; kNone: boxes alone
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

// Rows of a product's table: slopes over both factors, offsets outward, price.
enum ProductRow : std::uint8_t {
  kSlopeX,
  kSlopeY,
  kProductUpper,
  kProductLower,
  kProductPrice,
};
constexpr int kProductRows = 5;

// z_i = x y on the box of its factors: with centres x_c, y_c and radii r_x, r_y
//   x y = x_c y_c + y_c (x - x_c) + x_c (y - y_c) + (x - x_c)(y - y_c),
// the last term within +- r_x r_y: one plane with two offsets (the mean of McCormick's).
struct RelaxProduct {
  int layer = 0;
  BufferId centre_x = BufferId::kNone, radius_x = BufferId::kNone;
  BufferId centre_y = BufferId::kNone, radius_y = BufferId::kNone;
  BufferId table = BufferId::kNone;  // kProductRows x out floats; kNone: boxes alone
  BufferId slack = BufferId::kNone;  // [2] is made, the others are 0; kNone with the table
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double product = 0;  // gamma of the sums that A slope enters, its own rounding included
  double offset = 0;   // gamma of the sum of A offset
  KernelId kernel = 0;
  bool operator==(const RelaxProduct&) const = default;
};

// Rows of a max layer's table. Offsets are relative to the centre of z: the chosen candidate's
// centre is another one, unless no other candidate can exceed it.
enum MaxRow : std::uint8_t {
  kMaxUpper,     // offset of the upper bound, constant or the chosen candidate
  kMaxLower,     // offset of the chosen candidate as a lower bound
  kMaxConstant,  // 1: the upper bound is constant; 0: it is the chosen candidate
  kMaxPrice,
};
constexpr int kMaxRows = 4;

// z_i = max of candidates: below, the candidate of the largest lower bound; above, the same where
// no other can exceed it, else the largest upper bound.
struct RelaxMax {
  int layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId table = BufferId::kNone;   // kMaxRows x out floats; kNone: boxes alone
  BufferId choice = BufferId::kNone;  // int32 [out]: the chosen candidate's index in x
  BufferId slack = BufferId::kNone;   // as RelaxProduct
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double product = 0;  // gamma of the sums that A enters
  double offset = 0;
  KernelId kernel = 0;
  bool operator==(const RelaxMax&) const = default;
};

// Where the coefficients of a layer's term go.
struct BackwardOut {
  int term = 0;
  BufferId coefficients = BufferId::kNone;  // [in of the term][tile] floats
  bool add = false;                         // another reader's are there; else they are cleared
  KernelId kernel = 0;
  bool operator==(const BackwardOut&) const = default;
};

// One backward link: coefficients over the activations of `layer` -> over its inputs, through its
// relaxation and its weights. coefficients: [neurons][tile] floats.
struct BackwardLink {
  int layer = 0;
  BufferId table = BufferId::kNone;
  BufferId slack = BufferId::kNone;
  BufferId choice = BufferId::kNone;  // of a max layer
  BufferId coefficients_in = BufferId::kNone;
  BufferId coefficients_out = BufferId::kNone;  // of a dense layer
  // A dense layer's result is added to this buffer, which holds another reader's; or kNone.
  BufferId sum = BufferId::kNone;
  KernelId kernel = 0;            // dense: relaxation and product; others: relaxation
  std::vector<BackwardOut> outs;  // of the other kinds: one per term
  bool operator==(const BackwardLink&) const = default;
};

// Backward linear bounds of neurons of layer `layer`, a dense or sum layer, tile / 2 neurons at a
// time: row r of a tile is a lower bound of +z_i, row tile / 2 + r one of -z_i.
// Hidden layers: of the neurons whose relaxation is not exact. Heads and factors of products: of
// all. below and above are tightened in place and never loosened.
struct BackwardRows {
  int layer = 0;
  bool unstable_only = true;
  int tile = 0;  // rows at a time; even
  bool wide = false;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;  // of z
  BufferId slack = BufferId::kNone;
  BufferId neurons = BufferId::kNone;       // int32 list of the neurons to bound
  BufferId coefficients = BufferId::kNone;  // dense: of the first link, made from the weights
  KernelId start = 0;                       // dense
  std::vector<BackwardOut> starts;          // sum: one per term
  BufferId sums = BufferId::kNone;          // [3][tile] floats: offset sum, error sum, spread
  BufferId radius = BufferId::kNone;        // interval radius of z
  BufferId input_radius = BufferId::kNone;
  BufferId input_coefficients = BufferId::kNone;  // over the network's inputs, after all links
  std::vector<BackwardLink> links;                // in falling order of their layers
  double sum_inflate = 0;                         // on the computed error sum
  double concretize_inflate = 0;                  // on the computed sum_k |A_k| radius_k
  double underflow = 0;        // times what relax() counted for each link, and the inputs
  double weight_relative = 0;  // of the rows' own weights, relative to inflate |W| radius
  double inflate = 0;          // on the interval radius
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

// Plain inference of a network that is not made of dense ReLU layers: the centres of a forward pass
// on the box [x, x], rounded to float32.
struct WriteValues {
  int layer = 0;
  int position = 0;
  BufferId centre = BufferId::kNone;
  bool operator==(const WriteValues&) const = default;
};

using Step = std::variant<BindBox, IntervalAffine, CentreAffine, CentreSum, Relax, RelaxProduct,
                          RelaxMax, BackwardRows, WriteBounds, EvaluateAffine, WriteValues>;

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
  bool unstable_only = true;  // backward: of the neurons whose relaxation is not exact, or of all
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

  std::vector<Layer> layers;  // topological; heads included, which are dense or sums
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
