#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/plan/buffers.h"
#include "planner/plan/interval_steps.h"
#include "planner/plan/kernels.h"
#include "planner/plan/line_steps.h"
#include "runtime/bf/contract/tables.h"

namespace bf_aot {

// Steps: what an entry point does, in order. Rows of tables are those of
// runtime/bf/contract/tables.h. Buffers hold centred values:
//   a box tensor is (centre, radius): |a_k - centre_k| <= radius_k;
//   a pre-activation is (centre, below, above): centre - below <= z <= centre + above.
// The interval method folds the summation error of the reader into the radius: what is stored is
// radius + gamma |centre|.

// The caller's box -> centre, radius of the network's inputs.
struct BindBox {
  static constexpr std::string_view kName = "bind_box";
  BufferId centre = BufferId::kNone, radius = BufferId::kNone;
  double gamma = 0;  // folded for the reader (interval method)
  KernelId kernel = 0;
  bool operator==(const BindBox&) const = default;
};

// Bounds the error of each neuron's centre on its own: own_j = relative (|W| |c|)_j + absolute.
// Used where weights are so uncertain that a layer's largest row is too coarse a bound. The pass
// over the weights that makes radii then runs once more, first, with |c| in place of the radius.
struct CentreMagnitudes {
  BufferId in = BufferId::kNone;   // |c| of a term's input, float; scratch
  BufferId out = BufferId::kNone;  // |W| |c|; scratch
  double relative = 0;
  double absolute = 0;
  double pay = 0;  // radius_out_j grows by pay own_j, so that prices relative to it pay own_j
  bool operator==(const CentreMagnitudes&) const = default;
};

// The slack of neuron j alone, where the layer's is not small beside its radius:
//   centre_relative (sum_k |w_jk| |c_k| + bias |b_j|) + absolute.
// bias is 0 where all neurons have the layer's.
struct RowSlack {
  double bias = 0;  // 1, and what |b_j| itself may miss, divided by centre_relative
  double absolute = 0;
  bool operator==(const RowSlack&) const = default;
};

// Centre of z = W a + b in double and the interval radius around it.
struct CentreAffine {
  static constexpr std::string_view kName = "centre_affine";
  LayerId layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId live_in = BufferId::kNone;  // the inputs that enter the sums; kNone: all
  BufferId centre_out = BufferId::kNone,
           radius_out =
               BufferId::kNone;  // z; radius_out_j >= sum_k |w*_jk| radius_in_k (before slack)
  // Both become radius_out + slack. kNone where the layer has lines, whose steps bound it.
  BufferId below = BufferId::kNone, above = BufferId::kNone;
  BufferId slack = BufferId::kNone;      // |z - (centre + W (a - c))|, for every neuron
  BufferId row_slack = BufferId::kNone;  // and for each: [out] doubles
  double inflate = 0;                    // factor on the computed radius, for below and above
  double centre_relative = 0;            // slack = centre_relative (row_norm max|c| + bias_norm)
  double absolute = 0;                   //         + absolute
  double row_norm = 0;
  double bias_norm = 0;
  RowSlack rows;
  std::optional<CentreMagnitudes> magnitudes;  // then centre_relative and absolute are 0
  KernelId kernel = 0;
  bool operator==(const CentreAffine&) const = default;
};

// The centre and radius of a sum layer: centre_out = b, then every term adds to centre_out and
// radius_out, which rounds up.
struct CentreSum {
  static constexpr std::string_view kName = "centre_sum";
  LayerId layer = 0;
  std::vector<SumPart> parts;  // one per term
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  BufferId below = BufferId::kNone, above = BufferId::kNone;
  BufferId slack = BufferId::kNone, row_slack = BufferId::kNone;
  double inflate = 0;          // factor on the computed radius
  double centre_relative = 0;  // slack = centre_relative (sum of row_norm max|c|, + bias_norm)
  double absolute = 0;         //         + absolute
  double bias_norm = 0;
  RowSlack rows;
  std::optional<CentreMagnitudes> magnitudes;  // as CentreAffine's
  bool operator==(const CentreSum&) const = default;
};

// Linear relaxation of a' = f(z) (or a' = z) on the current bounds, as tables over the neurons:
//   coefficient A >= 0 uses slope_lower, offset_lower; A < 0 uses slope_upper, offset_upper;
//   offsets lie farther out by what pays every rounding of the backward step through this layer.
struct Relax {
  static constexpr std::string_view kName = "relax";
  LayerId layer = 0;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone,
           radius = BufferId::kNone, slack = BufferId::kNone, row_slack = BufferId::kNone;  // of z
  BufferId table = BufferId::kNone;  // 6 x out floats, see Relax tables; kNone: boxes alone
  // choice_floats() of a layer whose lines rows choose; or kNone
  BufferId slopes = BufferId::kNone;
  // int32 [live_pixels_size(layer)], made from radius_out: the live channels of each pixel of the
  // image that the layer's convolutions make, see docs/proofs/live-pixels.md; or
  // kNone, also where RelaxMax lists those that it chose
  BufferId live = BufferId::kNone;
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;  // of a'
  double product = 0;       // gamma of the product Lambda W, plus weight_relative
  double wide_product = 0;  // the same for wide products: gamma of double, plus weight_relative
  double stored = 0;        // rounding of a wide sum to float32, relative
  double slope = 0;         // rounding of Lambda = A slope, relative
  double offset = 0;        // gamma of sum_j A_j offset_j
  double free_offset = 0;   // `offset` of rows with slopes of their own, whose sums are in double
  double inflate = 0;       // on the stored interval radius
  KernelId kernel = 0;
  // The place in the caller's array of the intervals of z, see keep_ranges(); -1: it gets none.
  int kept_position = -1;
  // The centre of a' is that of z, or 0 where a ReLU makes it 0: what a ball's centre becomes. Else
  // it is the middle of the interval.
  bool keeps_point = false;
  bool operator==(const Relax&) const = default;
};

// A term of a layer reads these, in a ball around their centre.
struct BallTerm {
  BufferId radius_in = BufferId::kNone;  // of the activations; of the inputs' box
  BufferId reach_in = BufferId::kNone;   // MeetBall::reach of what makes them; kNone: the inputs
  double inflate = 1;  // inputs: on the largest radius, for what their centre misses
  bool operator==(const BallTerm&) const = default;
};

// Bounds the distance of an affine layer's z from its centre by norms of its maps (BallNorms), and
// tightens each neuron's bounds by its rows': docs/proofs/balls.md, "Balls of layers".
struct MeetBall {
  static constexpr std::string_view kName = "meet_ball";
  LayerId layer = 0;
  std::vector<BallTerm> terms;           // one of a dense layer; one per term of a sum
  BufferId row_slack = BufferId::kNone;  // what each centre may miss
  BufferId half = BufferId::kNone;       // [out] floats, scratch
  BufferId below = BufferId::kNone, above = BufferId::kNone;
  BufferId reach = BufferId::kNone;  // one double: |z - centre| by Euclid's norm is at most so much
  bool operator==(const MeetBall&) const = default;
};

// z_i = x y on the box of its factors: with centres x_c, y_c and radii r_x, r_y
//   x y = x_c y_c + y_c (x - x_c) + x_c (y - y_c) + (x - x_c)(y - y_c),
// the last term within +- r_x r_y, and above and below planes that are mixtures of McCormick's.
struct RelaxProduct {
  static constexpr std::string_view kName = "relax_product";
  LayerId layer = 0;
  BufferId centre_x = BufferId::kNone, radius_x = BufferId::kNone;
  BufferId centre_y = BufferId::kNone, radius_y = BufferId::kNone;
  BufferId table = BufferId::kNone;   // bf::kProductRows x out floats; kNone: boxes alone
  BufferId slopes = BufferId::kNone;  // choice_floats() where rows choose planes; or kNone
  BufferId slack = BufferId::kNone;   // [2] is made, the others are 0; kNone with the table
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double most = 0;     // Layer::most
  double product = 0;  // gamma of the sums that A slope enters, its own rounding included
  double offset = 0;   // gamma of the sum of A offset
  KernelId kernel = 0;
  bool operator==(const RelaxProduct&) const = default;
};

// z_i = max of candidates: below, the candidate of the largest lower bound; above, the same where
// no other can exceed it, else the largest upper bound.
struct RelaxMax {
  static constexpr std::string_view kName = "relax_max";
  LayerId layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId table = BufferId::kNone;   // bf::kMaxRows x out floats; kNone: boxes alone
  BufferId slopes = BufferId::kNone;  // choice_floats() where rows choose lower lines; or kNone
  BufferId choice = BufferId::kNone;  // int32 [out]: the chosen candidate's index in x
  BufferId slack = BufferId::kNone;   // as RelaxProduct
  // Relax::live of the candidates' layer, which nothing else reads: rows have coefficients of
  // chosen candidates alone. Or kNone.
  BufferId live = BufferId::kNone;
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double product = 0;  // gamma of the sums that A enters
  double offset = 0;
  KernelId kernel = 0;
  bool operator==(const RelaxMax&) const = default;
};

// z_k = x_k - ln of the sum of its group's powers: planes above and below the logarithm, the same
// for all of a group's elements.
struct RelaxLogSoftmax {
  static constexpr std::string_view kName = "relax_log_softmax";
  LayerId layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId table = BufferId::kNone;  // bf::kLogSoftmaxRows x out floats; kNone: boxes alone
  BufferId slack = BufferId::kNone;  // as RelaxProduct
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double product = 0;  // gamma of the sums that A enters, and of the group's
  double offset = 0;
  KernelId kernel = 0;
  bool operator==(const RelaxLogSoftmax&) const = default;
};

// z = sums of products, each between mixtures of McCormick's planes. The table holds what makes the
// slopes for each element of the factors; offsets are sums. Boxes alone of means are made without
// x, which is kNone.
struct RelaxContraction {
  static constexpr std::string_view kName = "relax_contraction";
  LayerId layer = 0;
  BufferId centre_x = BufferId::kNone, radius_x = BufferId::kNone;
  BufferId centre_y = BufferId::kNone, radius_y = BufferId::kNone;
  BufferId centre_s = BufferId::kNone, radius_s = BufferId::kNone;  // of Layer::scores, of means
  BufferId table = BufferId::kNone;    // ContractionShape::table() floats; kNone: boxes alone
  BufferId slopes = BufferId::kNone;   // as RelaxProduct
  BufferId slack = BufferId::kNone;    // as RelaxProduct
  BufferId scratch = BufferId::kNone;  // ContractionShape::scratch() doubles
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double product = 0;  // gamma of the sums that A slope enters, its own rounding included
  double offset = 0;   // gamma of the sum of A offset
  KernelId kernel = 0;
  bool operator==(const RelaxContraction&) const = default;
};

// Lists the neurons of a ReLU layer that are not 0 on the whole box: centre and radius are not both
// 0. The others add nothing to any sum: docs/proofs/live-neurons.md. Of several boxes, those
// that are live in any.
struct ListLive {
  static constexpr std::string_view kName = "list_live";
  LayerId layer = 0;
  BufferId centre = BufferId::kNone, radius = BufferId::kNone;  // of the activations
  BufferId live = BufferId::kNone;                              // int32 [bf::live_list_size(out)]
  bool operator==(const ListLive&) const = default;
};

// The coefficients that rows get over the input of one of a layer's terms.
struct BackwardOut {
  int term = 0;
  BufferId coefficients = BufferId::kNone;  // [in of the term][tile] floats
  bool add = false;                         // another reader's are there; else they are cleared
  KernelId kernel = 0;
  bool live = false;  // through live channels alone, of the layer, the tensor read, or both
  // A convolution of the box, the only one that reads it: what rows need of its coefficients goes
  // to their sums, and they themselves nowhere.
  bool spread = false;
  bool operator==(const BackwardOut&) const = default;
};

// Returns true if rows may choose lines of the layer: lower slopes of a ReLU, shares of the lines
// of another function, of a product's planes, or of the candidates of a maximum.
bool has_choices(const Layer& layer);

// The choices that a row makes at a layer that has_choices().
std::int64_t choice_count(const Layer& layer);

// The floats of Relax::slopes, and of those of the steps for other layers.
std::int64_t choice_floats(const Layer& layer);

// The choices of rows at a layer that has_choices(): [choice_count()][tile] floats each.
struct LinkSlopes {
  BufferId table = BufferId::kNone;   // Relax::slopes; kNone: the layer's lines are fixed
  BufferId slope = BufferId::kNone;   // in [0, 1]; of others than ReLUs shares
  BufferId mean = BufferId::kNone;    // running means of the gradient
  BufferId square = BufferId::kNone;  // and of its square
  bool operator==(const LinkSlopes&) const = default;
};

// A ReLU layer in a ball, at which rows gain: their lines touch the ReLU in few points of the ball
// at once. docs/proofs/balls.md, "Gains of rows". kNone: they gain nothing there.
struct LinkBall {
  BufferId reach = BufferId::kNone;  // MeetBall::reach
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;  // of z
  bool operator==(const LinkBall&) const = default;
};

// Steps that rows may repeat, on buffers of their own: see BackwardLink::remake.
using RepeatedStep = std::variant<CentreAffine, CentreSum, Relax>;

// One backward link: coefficients over the activations of `layer` -> over its inputs, through its
// relaxation and its weights. coefficients: [neurons][tile] floats.
struct BackwardLink {
  LayerId layer = 0;
  BufferId table = BufferId::kNone;
  BufferId slack = BufferId::kNone;
  BufferId choice = BufferId::kNone;  // of a max layer
  BufferId live = BufferId::kNone;    // Relax::live; kNone: all channels have coefficients
  BufferId coefficients_in = BufferId::kNone;
  BufferId coefficients_out = BufferId::kNone;  // of a dense layer
  // A dense layer's result is added to this buffer, which holds another reader's; or kNone.
  BufferId sum = BufferId::kNone;
  // Lists of a dense layer, or kNone: its neurons whose coefficients pass on; and of the layer that
  // it reads those whose coefficients are made.
  BufferId live_out = BufferId::kNone;
  BufferId live_in = BufferId::kNone;
  KernelId kernel = 0;            // dense: relaxation and product; others: relaxation
  std::vector<BackwardOut> outs;  // of the other kinds: one per term

  // Steps that make `table` anew for each tile, where it is not stored: those that made it, and
  // those that their inputs come from, with other buffers. They run before the link, and what they
  // write lives during its op alone. They read the box and tightened bounds, which are stored.
  std::vector<RepeatedStep> remake;

  LinkBall ball;

  // Used by rows with slopes of their own alone. They keep coefficients_in and pass on `relaxed`.
  BufferId relaxed = BufferId::kNone;  // of dense and sum layers: coefficients over z
  KernelId relax = 0;                  // of dense layers: the relaxation, apart from the product
  LinkSlopes slopes;                   // of layers that have choices
  // The layer at each row's point: first z - centre, then a' - centre; kNone: nobody asks for it.
  BufferId values = BufferId::kNone;
  std::vector<KernelId> forward;  // with `values`: one of a dense layer, one per term of others
  KernelId step = 0;              // with `values`: the lines, and better slopes
  bool operator==(const BackwardLink&) const = default;
};

// A tensor as images: each element is at one place of the layout. See ConvGeometry.
struct RowImage {
  LayerId tensor = kNetworkInput;  // a layer, or the network's input
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  Extent size = {1, 1, 1};
  ImageLayout layout;
  bool operator==(const RowImage&) const = default;
};

// Backward linear bounds of neurons of layer `layer`, a dense or sum layer, tile / 2 neurons at a
// time: row r of a tile is a lower bound of +z_i, row tile / 2 + r one of -z_i.
// Hidden layers: of the neurons whose relaxation is not exact. Heads and factors of products: of
// all. below and above are tightened in place and never loosened.
//
// With iterations > 0 the rows choose the lower slopes of the ReLUs that they pass:
// docs/proofs/optimised-slopes.md. Each iteration makes the rows and tightens, then walks forward
// from the corner of the box where a row is least and moves its slopes along the gradient.
struct BackwardRows {
  static constexpr std::string_view kName = "backward_rows";
  LayerId layer = 0;
  bool unstable_only = true;
  int iterations = 0;
  // Iterations of a call that begins with the slopes of the call before, in cached entries; or 0.
  // Slopes are then kept for every tile.
  int warm_iterations = 0;
  int tile = 0;  // rows at a time; even
  bool wide = false;
  // Tensors of which a tile touches a window alone, the rows' own layer first:
  // docs/proofs/windows.md. Empty: whole tensors. See row_images.h.
  std::vector<RowImage> images;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;  // of z
  BufferId row_slack = BufferId::kNone;
  BufferId neurons = BufferId::kNone;  // int32 list of the neurons to bound
  // Dense: of the first link, made from the weights; kNone: the first link's kernel, a kFirstLink,
  // makes them in registers, `start` being the same one.
  BufferId coefficients = BufferId::kNone;
  // Dense: the list of those coefficients that are made; kNone: all.
  BufferId live_in = BufferId::kNone;
  KernelId start = 0;                 // dense
  std::vector<BackwardOut> starts;    // sum: one per term
  BufferId sums = BufferId::kNone;    // [2][tile] floats: offset sum, spread
  BufferId gain = BufferId::kNone;    // [tile] floats: of all links with a ball; or kNone
  BufferId radius = BufferId::kNone;  // interval radius of z
  BufferId input_radius = BufferId::kNone;
  // Coefficients over the network's inputs, after all links; kNone: some link's out has `spread`.
  BufferId input_coefficients = BufferId::kNone;
  BufferId input_values = BufferId::kNone;  // [inputs][tile]: the rows' corners; or kNone
  std::vector<BackwardLink> links;          // in falling order of their layers
  double concretize_inflate = 0;            // on the computed sum_k |A_k| radius_k
  double one_hot_slack = 0;    // one-hot inputs: on the computed end, times sum_k |A_k| radius_k
  double underflow = 0;        // times what relax() counted for each link, and the inputs
  double weight_relative = 0;  // of the rows' own weights, relative to inflate |W| radius
  double inflate = 0;          // on the interval radius
  KernelId concretize = 0;
  // Coefficients over the inputs go to the caller: where those of neuron 0 begin, in rows; -1: they
  // do not. See keep_coefficients.h.
  int kept_position = -1;
  // A smaller tile on the same buffers, with kernels of its own, for the rows that are left in the
  // end where these are few enough. One, or none.
  std::vector<BackwardRows> last;
  bool operator==(const BackwardRows&) const = default;
};

// Returns true if the first link makes its coefficients of the rows' weights itself.
inline bool starts_in_first_link(const BackwardRows& step) {
  return !step.links.empty() && step.links.front().coefficients_in == BufferId::kNone;
}

// Null when the tensor has no window.
const RowImage* find_image(const BackwardRows& step, LayerId tensor);

// Bounds of a head -> the caller's arrays, rounded outward.
struct WriteBounds {
  static constexpr std::string_view kName = "write_bounds";
  LayerId layer = 0;
  int position = 0;  // of its first element in the caller's arrays
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
  bool operator==(const WriteBounds&) const = default;
};

// Plain inference of one layer.
struct EvaluateAffine {
  static constexpr std::string_view kName = "evaluate_affine";
  LayerId layer = 0;
  BufferId in = BufferId::kNone, out = BufferId::kNone;  // kNone: the caller's x or y
  int position = 0;  // of its first element in the caller's array, when it is a head
  KernelId kernel = 0;
  bool operator==(const EvaluateAffine&) const = default;
};

// Plain inference of a network that is not made of dense ReLU layers: the centres of a forward pass
// on the box [x, x], rounded to float32.
struct WriteValues {
  static constexpr std::string_view kName = "write_values";
  LayerId layer = 0;
  int position = 0;
  BufferId centre = BufferId::kNone;
  bool operator==(const WriteValues&) const = default;
};

// ---- Steps of cached entries. The anchor is the box of an earlier call; what is known of it holds
// on every box inside.

// Runs when the box lies in the anchor: tightens below and above by its bounds low <= z <= high.
struct MeetAnchor {
  static constexpr std::string_view kName = "meet_anchor";
  LayerId layer = 0;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
  BufferId low = BufferId::kNone, high = BufferId::kNone;
  bool operator==(const MeetAnchor&) const = default;
};

// Runs when the box does not lie in the anchor and so becomes it: stores centre - below and centre
// + above, rounded outward, in low and high.
struct KeepAnchor {
  static constexpr std::string_view kName = "keep_anchor";
  LayerId layer = 0;
  BufferId centre = BufferId::kNone, below = BufferId::kNone, above = BufferId::kNone;
  BufferId low = BufferId::kNone, high = BufferId::kNone;
  bool operator==(const KeepAnchor&) const = default;
};

// The last step: the caller's bounds are intersected with the anchor's, or become them.
struct MeetOutputs {
  static constexpr std::string_view kName = "meet_outputs";
  BufferId low = BufferId::kNone, high = BufferId::kNone;
  bool operator==(const MeetOutputs&) const = default;
};

using Step =
    std::variant<BindBox, IntervalAffine, IntervalSum, IntervalMax, CentreAffine, CentreSum, Relax,
                 RelaxProduct, RelaxMax, RelaxLogSoftmax, RelaxContraction, StartLines,
                 ForwardLines, TightenLines, RelaxLines, ListLive, BackwardRows, WriteBounds,
                 EvaluateAffine, WriteValues, MeetAnchor, KeepAnchor, MeetOutputs, MeetBall>;

std::string_view step_name(const Step& step);
Step widened(const RepeatedStep& step);

// The layer whose result a step makes; none for BindBox and MeetOutputs.
std::optional<LayerId> layer_of(const Step& step);

// Buffers that a step reads, and those that it writes.
struct Access {
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
};
Access access_of(const Step& step);

// A step's ops run in order, perhaps over and over: the start of backward rows, each of their
// links, and their end, for one tile after the other. All other steps are one op. What a step
// touches it touches in all of its ops, but for the coefficients of rows: they are made anew in
// each round, and live from the op that first writes them to the last that touches them.
struct BufferSpan {
  BufferId id = BufferId::kNone;
  int first = 0, last = 0;  // ops
};
int op_count(const Step& step);
std::vector<BufferSpan> spans_of(const Step& step);

// A pair of buffers that may be one: element i of `from` is read before element i of `to` is
// written, and no other element of `from` is read after that.
struct InPlace {
  BufferId from = BufferId::kNone, to = BufferId::kNone;
  bool equal = false;  // both hold the same numbers when the step ends, and may both be read
};
std::vector<InPlace> in_place_of(const Step& step);

// Replaces each buffer of a step by `to`, indexed by buffer.
void rename_buffers(Step& step, const std::vector<BufferId>& to);

}  // namespace bf_aot
