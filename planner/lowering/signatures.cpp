#include <algorithm>
#include <array>
#include <iterator>

#include "planner/lowering/routines.h"

namespace bf_aot::calls {
namespace {

struct Word {
  std::string_view word;
  ArgumentKind kind;
  // The header of the types that calls name for it, beside those of the routine's declaration.
  std::string_view header = {};
};

constexpr Word kWords[] = {
    {"float", ArgumentKind::kFloat},
    {"double", ArgumentKind::kDouble},
    {"int32", ArgumentKind::kInt32},
    {"any", ArgumentKind::kAny},
    {"int", ArgumentKind::kInt},
    {"bool", ArgumentKind::kBool},
    {"real", ArgumentKind::kReal},
    {"element", ArgumentKind::kElement},
    {"left", ArgumentKind::kLeft},
    {"stride", ArgumentKind::kStride},
    {"rounding", ArgumentKind::kRounding},
    {"function", ArgumentKind::kFunction},
    {"float_function", ArgumentKind::kFloatFunction},
    {"shape", ArgumentKind::kShape, "bf/conv/conv_taps.h"},
    {"sources", ArgumentKind::kSources},
    {"image", ArgumentKind::kImage},
    {"strides", ArgumentKind::kStrides},
    {"window", ArgumentKind::kWindow},
    {"live", ArgumentKind::kLive, "bf/sums/live.h"},
    {"zeros", ArgumentKind::kZeros},
    {"listed", ArgumentKind::kListed},
    {"relax_errors", ArgumentKind::kRelaxErrors},
    {"plane_errors", ArgumentKind::kPlaneErrors},
    {"interval_errors", ArgumentKind::kIntervalErrors},
    {"line_bounds", ArgumentKind::kLineBounds},
    {"line_errors", ArgumentKind::kLineErrors},
    {"row_errors", ArgumentKind::kRowErrors},
    {"state", ArgumentKind::kState},
    {"call", ArgumentKind::kCall},
    {"group", ArgumentKind::kGroup},
    {"count", ArgumentKind::kCount},
    {"rows", ArgumentKind::kRows},
    {"round", ArgumentKind::kRound},
    {"absolute", ArgumentKind::kAbsolute},
    {"ascent", ArgumentKind::kAscent},
};

// What text is not understood does not compile.
constexpr const Word& word_of(std::string_view word) {
  for (const Word& each : kWords)
    if (each.word == word) return each;
  throw "no word of a kind";
}

constexpr ArrayUse use_of(std::string_view word) {
  if (word == "in") return ArrayUse::kIn;
  if (word == "out") return ArrayUse::kOut;
  if (word == "inout") return ArrayUse::kInout;
  throw "an array is in, out or inout";
}

// The text up to the separator, which is removed with it.
constexpr std::string_view take(std::string_view& text, std::string_view separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
  return taken;
}

constexpr RoutineParameter parameter(std::string_view text) {
  RoutineParameter made;
  made.may_be_null = text.ends_with('?');
  if (const std::size_t open = text.find('['); open != std::string_view::npos) {
    made.extent = text.substr(open + 1, text.find(']') - open - 1);
    made.use = use_of(take(text, " "));
    text = text.substr(0, text.find('['));
  }
  made.type = take(text, " ");
  made.kind = word_of(made.type).kind;
  made.name = text;
  return made;
}

struct Declaration {
  Routine routine;
  std::string_view name, header;
  std::string_view constants, parameters;
};

constexpr Signature signature_of(const Declaration& declaration) {
  Signature made;
  made.routine = declaration.routine;
  made.name = declaration.name;
  made.headers.add(declaration.header);
  for (std::string_view rest = declaration.constants; !rest.empty();)
    made.constants.add(take(rest, " "));
  for (std::string_view rest = declaration.parameters; !rest.empty();)
    made.parameters.add(parameter(take(rest, ", ")));
  for (const RoutineParameter& each : made.parameters) {
    const std::string_view header = word_of(each.type).header;
    if (!header.empty() && std::ranges::find(made.headers, header) == made.headers.end())
      made.headers.add(header);
  }
  return made;
}

// In the order of Routine. Template parameters are names, parameters are written like declarations:
//   in, out, inout float NAME[EXTENT]   an array that it reads, writes, or both; ? after it: may be
//                                       null
//   int NAME                            of another kind
constexpr Declaration kDeclarations[] = {
    {Routine::kBindFloat, "bind_box", "bf/core/bounds.h", "",
     "in float lower[n], in float upper[n], int n, real gamma, out float centre[n], out float "
     "radius[n]"},
    {Routine::kBindDouble, "bind_box", "bf/core/bounds.h", "",
     "in float lower[n], in float upper[n], int n, out double centre[n], out float radius[n]"},
    {Routine::kBindNear, "bind_near_box", "bf/functions/bind_near.h", "",
     "in float lower[n], in float upper[n], int n, out double centre[n], out float radius[n]"},
    {Routine::kCentreSlack, "centre_slack", "bf/core/bounds.h", "",
     "in double centre[n], in float radius[n]?, int n, real relative, real row_norm, real "
     "bias_norm, real absolute, out double slack[2]"},
    {Routine::kIntervalAround, "interval_around", "bf/core/bounds.h", "",
     "in float radius[n], int n, real inflate, in double row_slack[n], out float below[n], out "
     "float above[n]"},
    {Routine::kMagnitudes, "magnitudes", "bf/core/bounds.h", "",
     "in double centre[n], int n, out float magnitude[n]"},
    {Routine::kIntervalOfNeurons, "interval_of_neurons", "bf/core/bounds.h", "",
     "in float magnitude[n], int n, real inflate, real relative, real absolute, real pay, inout "
     "float radius[n], out float below[n], out float above[n]"},
    {Routine::kWriteBounds, "write_bounds", "bf/core/bounds.h", "",
     "int n, bool relu, in double centre[n], in float below[n], in float above[n], out float "
     "lower[n], out float upper[n]"},
    {Routine::kListAll, "list_all", "bf/core/bounds.h", "", "int n, out int32 neurons[n]"},
    {Routine::kListUnstable, "list_unstable", "bf/core/bounds.h", "",
     "in double centre[n], in float below[n], in float above[n], int n, out int32 neurons[n]"},
    {Routine::kListInexact, "list_inexact", "bf/functions/functions.h", "",
     "function f, in double centre[n], in float below[n], in float above[n], int n, out int32 "
     "neurons[n]"},
    {Routine::kListImage, "list_image", "bf/sums/row_windows.h", "",
     "image image, listed open, out int32 neurons[image.size]"},
    {Routine::kPadList, "pad_list", "bf/core/bounds.h", "",
     "inout int32 neurons[unit], count count, int unit"},
    {Routine::kStartRows, "start_rows", "bf/core/bounds.h", "pairs",
     "in float weight[in], int in, int panel, in int32 neurons[pairs], out float coefficients[in 2 "
     "pairs], in int32 live[2 + in + in / 8]?"},
    {Routine::kTightenRows, "tighten_rows", "bf/core/bounds.h", "",
     "in int32 neurons[pairs], left count, int pairs, in float sums[4 pairs], row_errors errors, "
     "in float radius[1], inout float below[1], inout float above[1]"},
    {Routine::kKeepCoefficients, "keep_coefficients", "bf/core/bounds.h", "",
     "in int32 neurons[pairs], left count, int pairs, int inputs, in float over_inputs[inputs 2 "
     "pairs], in float sums[4 pairs], row_errors errors, in float radius[1], in double centre[1], "
     "int position, out float kept[2 + 2 inputs]"},
    {Routine::kKeepRanges, "keep_ranges", "bf/core/bounds.h", "",
     "int n, in double centre[n], in float below[n], in float above[n], int position, int neurons, "
     "out float kept[n]"},
    {Routine::kListLive, "list_live", "bf/core/live_neurons.h", "",
     "in any centre[n], in float radius[n], int n, out int32 live[2 + n + n / 8]"},
    {Routine::kRelax, "relax", "bf/core/relax.h", "",
     "int n, bool relu, in double centre[n], in float below[n], in float above[n], in float "
     "radius[n]?, relax_errors errors, inout double slack[4]?, in double row_slack[n]?, out float "
     "table[6 n]?, out double centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxPoint, "relax_at_points", "bf/core/relax.h", "",
     "int n, bool relu, in double centre[n], in float below[n], in float above[n], in float "
     "radius[n]?, relax_errors errors, inout double slack[4]?, in double row_slack[n]?, out float "
     "table[6 n]?, out double centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxFunction, "relax", "bf/functions/relax_functions.h", "",
     "int n, function f, in double centre[n], in float below[n], in float above[n], in float "
     "radius[n]?, relax_errors errors, inout double slack[4]?, in double row_slack[n]?, out float "
     "table[6 n]?, out double centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxBox, "relax_box", "bf/core/relax.h", "",
     "int n, bool relu, in double centre[n], in float below[n], in float above[n], out double "
     "centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxSlopes, "relax_slopes", "bf/sums/slopes.h", "",
     "int n, in double centre[n], in float below[n], in float above[n], in float radius[n], "
     "relax_errors errors, in double row_slack[n], in float table[6 n], in double centre_out[n], "
     "in float radius_out[n], out float slopes[8 n]"},
    {Routine::kRelaxKnots, "relax_knots", "bf/functions/mixtures.h", "",
     "int n, function f, in double centre[n], in float below[n], in float above[n], in float "
     "radius[n], relax_errors errors, in double row_slack[n], in double centre_out[n], in float "
     "radius_out[n], out float knots[102 n]"},
    {Routine::kMeetAnchor, "meet_anchor", "bf/core/context.h", "",
     "int n, in float low[n], in float high[n], in double centre[n], inout float below[n], inout "
     "float above[n], state state"},
    {Routine::kKeepAnchor, "keep_anchor", "bf/core/context.h", "",
     "int n, in double centre[n], in float below[n], in float above[n], out float low[n], out "
     "float high[n]"},
    {Routine::kMeetOutputs, "meet_outputs", "bf/core/context.h", "",
     "state state, call call, int n, inout float low[n], inout float high[n], inout float "
     "out_lower[n], inout float out_upper[n]"},
    {Routine::kBindBoxesFloat, "bind_boxes", "bf/dense/boxes.h", "",
     "group boxes, in float lower[n], in float upper[n], int n, real gamma, out float centre[n "
     "boxes], out float radius[n boxes]"},
    {Routine::kBindBoxesDouble, "bind_boxes", "bf/dense/boxes.h", "",
     "group boxes, in float lower[n], in float upper[n], int n, out double centre[n boxes], out "
     "float radius[n boxes]"},
    {Routine::kSlackOfBoxes, "slack_of_boxes", "bf/dense/boxes.h", "boxes",
     "in double centre[n boxes], in float radius[n boxes]?, int n, real relative, real row_norm, "
     "real bias_norm, real absolute, out double slack[2 boxes]"},
    {Routine::kIntervalAroundBoxes, "interval_around_boxes", "bf/dense/boxes.h", "boxes",
     "in float radius[n boxes], int n, real inflate, in double row_slack[n boxes], out float "
     "below[n boxes], out float above[n boxes]"},
    {Routine::kRelaxBoxes, "relax_boxes", "bf/dense/boxes.h", "boxes",
     "int n, bool relu, in double centre[n boxes], in float below[n boxes], in float above[n "
     "boxes], in float radius[n boxes]?, relax_errors errors, inout double slack[4 boxes]?, in "
     "double row_slack[n boxes]?, out float table[6 n boxes]?, out double centre_out[n boxes], out "
     "float radius_out[n boxes]"},
    {Routine::kListLiveBoxes, "list_live_boxes", "bf/dense/boxes.h", "boxes",
     "in any centre[n boxes], in float radius[n boxes], int n, out int32 live[2 + n + n / 8]"},
    {Routine::kListUnstableBoxes, "list_unstable_boxes", "bf/dense/boxes.h", "boxes",
     "in double centre[n boxes], in float below[n boxes], in float above[n boxes], int n, out "
     "int32 neurons[n boxes]"},
    {Routine::kListAllBoxes, "list_all_boxes", "bf/dense/boxes.h", "boxes",
     "int n, out int32 neurons[n boxes]"},
    {Routine::kTightenBoxes, "tighten_boxes", "bf/dense/boxes.h", "boxes",
     "rows rows, round round, in int32 neurons[boxes], in float sums[4 boxes], row_errors errors, "
     "absolute absolute, in float radius[boxes], inout float below[boxes], inout float "
     "above[boxes]"},
    {Routine::kKeepCoefficientsOfBoxes, "keep_coefficients_of_boxes", "bf/dense/boxes.h", "",
     "group boxes, in int32 neurons[boxes], int inputs, in float over_inputs[inputs 2 boxes], in "
     "float sums[4 boxes], row_errors errors, absolute absolute, in float radius[boxes], in double "
     "centre[boxes], int position, stride stride, out float kept[2 + 2 inputs]"},
    {Routine::kWriteBoxes, "write_boxes", "bf/dense/boxes.h", "",
     "group boxes, int n, bool relu, in double centre[n boxes], in float below[n boxes], in float "
     "above[n boxes], stride stride, out float lower[n], out float upper[n]"},
    {Routine::kWriteBoxesFloat, "write_boxes", "bf/dense/boxes.h", "",
     "group boxes, int n, in float low[n boxes], in float high[n boxes], stride stride, out float "
     "lower[n], out float upper[n]"},
    {Routine::kFirstLink, "first_link", "bf/dense/first_link.h",
     "pairs in out panel start_panel chunk listed",
     "in float start[1], in int32 neurons[pairs], in float weight[out / panel panel in], in float "
     "table[6 out], inout float sums[4 pairs], out float result[in 2 pairs], in int32 live[2 + out "
     "+ out / 8]?"},
    {Routine::kStartLines, "start_lines", "bf/dense/lines.h", "boxes",
     "in float weight[out / panel panel in], int in, int out, int panel, int stride, in float "
     "radius[in boxes], in float spread[out boxes], real product, out float lines[in stride + 2 "
     "stride]"},
    {Routine::kTightenLines, "tighten_lines", "bf/dense/lines.h", "boxes",
     "int n, int inputs, int stride, line_bounds bounds, in float radius[n boxes], in double "
     "slack[4 boxes], in double row_slack[n boxes], in float lines[inputs stride + 2 stride], out "
     "float below[n boxes], out float above[n boxes]"},
    {Routine::kRelaxLines, "relax_lines", "bf/dense/lines.h", "boxes",
     "int n, bool relu, int inputs, int stride, line_bounds bounds, line_errors errors, in double "
     "centre[n boxes], in float radius[n boxes], in double slack[4 boxes], in double row_slack[n "
     "boxes], in float lines[inputs stride + 2 stride], out double centre_out[n boxes], out float "
     "radius_out[n boxes], out float lines_out[inputs n boxes + 2 n boxes]"},
    {Routine::kAddRows, "add_rows", "bf/sums/backward.h", "rows",
     "int n, in float from[n rows], inout float to[n rows]"},
    {Routine::kClearRows, "clear_rows", "bf/sums/backward.h", "rows",
     "int n, out float coefficients[n rows]"},
    {Routine::kRelaxRows, "relax_rows", "bf/sums/backward.h", "rows",
     "int n, in float table[2 n], in float offsets[2 n], in float from[n rows], out float to[n "
     "rows], inout float sums[rows]"},
    {Routine::kSparseBackward, "sparse_backward", "bf/sums/backward.h", "rows",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float weight[1], int in, in float "
     "from[n rows], bool add, out float to[in rows]"},
    {Routine::kGatherBackward, "gather_backward", "bf/sums/backward.h", "rows",
     "int n, sources source, int in, in float from[n rows], bool add, out float to[in rows]"},
    {Routine::kConvBackward, "conv_backward", "bf/conv/conv_backward.h", "rows wide tile",
     "shape shape, in float weight[shape.weights], in float from[shape.out rows], window made, "
     "bool add, out float to[shape.in rows], window read"},
    {Routine::kConvSpread, "conv_spread", "bf/conv/conv_backward.h", "rows wide tile",
     "shape shape, in float weight[shape.weights], in float from[shape.out rows], window made, "
     "strides at, in float radius[shape.in], inout float spread[rows], window read"},
    {Routine::kConvBackwardLive, "conv_backward_live", "bf/conv/conv_live.h", "rows wide tile",
     "shape shape, in float weight[shape.weights], in float from[shape.out rows], live sources, "
     "window made, bool add, out float to[shape.in rows], live targets, window read"},
    {Routine::kConvSpreadLive, "conv_spread_live", "bf/conv/conv_live.h", "rows wide tile",
     "shape shape, in float weight[shape.weights], in float from[shape.out rows], live sources, "
     "window made, strides at, in float radius[shape.in], inout float spread[rows], window read"},
    {Routine::kConvStart, "conv_start", "bf/conv/starts.h", "rows",
     "shape shape, in float weight[shape.weights], in int32 neurons[rows / 2], bool add, out float "
     "coefficients[shape.in rows]"},
    {Routine::kSparseStart, "sparse_start", "bf/conv/starts.h", "rows",
     "in int32 row_start[1], in int32 column[1], in float weight[1], int in, in int32 neurons[rows "
     "/ 2], bool add, out float coefficients[in rows]"},
    {Routine::kGatherStart, "gather_start", "bf/conv/starts.h", "rows",
     "sources source, int in, in int32 neurons[rows / 2], bool add, out float coefficients[in "
     "rows]"},
    {Routine::kIdentityStart, "identity_start", "bf/sums/row_windows.h", "rows",
     "image image, in int32 neurons[rows / 2], inout float coefficients[image.size rows]"},
    {Routine::kRelaxWindow, "relax_window", "bf/sums/row_windows.h", "rows",
     "image image, window window, int n, in float table[2 n], in float offsets[2 n], in float "
     "from[n rows], out float to[n rows], inout float sums[rows]"},
    {Routine::kConcretizeWindow, "concretize_window", "bf/sums/row_windows.h", "rows",
     "image image, window window, in float coefficients[image.size rows], in float "
     "radius[image.size], out float spread[rows]"},
    {Routine::kConcretizeEuclid, "concretize_euclid", "bf/sums/balls.h", "rows",
     "in float coefficients[inputs rows], in float radius[inputs], int inputs, out float "
     "spread[rows]"},
    {Routine::kConcretizeSum, "concretize_sum", "bf/sums/balls.h", "rows",
     "in float coefficients[inputs rows], in float radius[inputs], int inputs, out float "
     "spread[rows]"},
    {Routine::kConcretizeOneHot, "concretize_one_hot", "bf/sums/one_hot.h", "rows",
     "in float coefficients[inputs rows], in float radius[inputs], int inputs, int size, real "
     "slack, "
     "inout float sums[rows], out float spread[rows]"},
    {Routine::kBallTerm, "ball_term", "bf/sums/ball_layers.h", "",
     "int in, in float radius[in], in double reach_in[1]?, real inflate, real norm, int out, in "
     "float rows[out], bool add, out double reach[1], out float half[out]"},
    {Routine::kMeetBall, "meet_ball", "bf/sums/ball_layers.h", "",
     "int n, in float half[n], in double row_slack[n], inout float below[n], inout float above[n], "
     "inout double reach[1]"},
    {Routine::kBallGain, "ball_gain", "bf/sums/ball_layers.h", "rows",
     "int n, in double centre[n], in float below[n], in float above[n], in float table[2 n], in "
     "double reach[1], in float from[n rows], inout float gain[rows]"},
    {Routine::kTakeBallGain, "take_ball_gain", "bf/sums/ball_layers.h", "rows",
     "in float gain[rows], inout float sums[rows]"},
    {Routine::kAddWindow, "add_window", "bf/sums/row_windows.h", "rows",
     "image image, window window, in float from[image.size rows], inout float to[image.size rows]"},
    {Routine::kSpreadWindow, "spread_window", "bf/sums/row_windows.h", "rows",
     "image image, window window, in float from[image.size rows], inout float to[image.size rows]"},
    {Routine::kClearWindow, "clear_window", "bf/sums/row_windows.h", "rows",
     "image image, window window, out float coefficients[image.size rows]"},
    {Routine::kClearLive, "clear_live", "bf/sums/row_windows.h", "rows",
     "image image, strides at, window window, live live, out float coefficients[image.size rows]"},
    {Routine::kAddLive, "add_live", "bf/sums/row_windows.h", "rows",
     "image image, strides at, window window, live live, in float from[image.size rows], inout "
     "float to[image.size rows]"},
    {Routine::kRelaxPixels, "relax_pixels", "bf/sums/row_windows.h", "rows",
     "image image, strides at, window window, int n, in float table[2 n], in float offsets[2 n], "
     "live live, zeros zeros, in float from[n rows], out float to[n rows], inout float sums[rows]"},
    {Routine::kListLivePixels, "list_live", "bf/sums/row_windows.h", "",
     "image image, int n, in float radius[n], out int32 list[1 + n + image.pixels + 15]"},
    {Routine::kListChosen, "list_chosen", "bf/sums/row_windows.h", "",
     "image image, int n, in float radius[n], int count, in int32 choice[count], out int32 list[1 "
     "+ n + image.pixels + 15]"},
    {Routine::kConvInterval, "conv_interval", "bf/conv/conv_interval.h", "add",
     "shape shape, in float weight[shape.weights], in float centre_in[shape.in], in float "
     "radius_in[shape.in], out float centre_out[shape.out], out float radius_out[shape.out]"},
    {Routine::kSparseInterval, "sparse_interval", "bf/sums/intervals.h", "add",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float weight[1], in float "
     "centre_in[1], in float radius_in[1], out float centre_out[n], out float radius_out[n]"},
    {Routine::kGatherInterval, "gather_interval", "bf/sums/intervals.h", "add",
     "int n, sources source, in float centre_in[1], in float radius_in[1], out float "
     "centre_out[n], out float radius_out[n]"},
    {Routine::kFinishInterval, "finish_interval", "bf/sums/intervals.h", "",
     "int n, bool relu, in float bias[n / run]?, int run, interval_errors errors, real gamma, "
     "inout float centre[n], inout float radius[n]"},
    {Routine::kWriteInterval, "write_interval", "bf/sums/intervals.h", "",
     "int n, bool relu, in float bias[n / run]?, int run, interval_errors errors, in float "
     "centre[n], in float radius[n], out float lower[n], out float upper[n]"},
    {Routine::kProductInterval, "product_interval", "bf/sums/intervals.h", "",
     "int n, sources gather_x, sources gather_y, in float centre_x[1], in float radius_x[1], in "
     "float centre_y[1], in float radius_y[1], real relative, real gamma, out float centre_out[n], "
     "out float radius_out[n]"},
    {Routine::kIntervalFunction, "interval_function", "bf/functions/float_functions.h", "",
     "int n, float_function f, real gamma, inout float low_centre[n], inout float high_radius[n]"},
    {Routine::kApplyFunction, "apply_function", "bf/functions/float_functions.h", "",
     "int n, float_function f, inout float x[n]"},
    {Routine::kMaxInterval, "max_interval", "bf/sums/intervals.h", "",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float centre_in[1], in float "
     "radius_in[1], interval_errors errors, out float centre_out[n], out float radius_out[n]"},
    {Routine::kMaxIntervalGroups, "max_interval", "bf/sums/intervals.h", "groups",
     "in float centre_in[1], in float radius_in[1], interval_errors errors, out float "
     "centre_out[groups], out float radius_out[groups]"},
    {Routine::kConvCentre, "conv_centre", "bf/conv/conv_forward.h", "",
     "shape shape, in float weight[shape.weights], in float residual[shape.weights]?, in double "
     "centre_in[shape.in], in float radius_in[shape.in], rounding rounding, inout double "
     "centre_out[shape.out], inout float radius_out[shape.out]"},
    {Routine::kSparseCentre, "sparse_centre", "bf/sums/terms.h", "",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float weight[1], in float "
     "residual[1]?, in double centre_in[1], in float radius_in[1], rounding rounding, inout double "
     "centre_out[n], inout float radius_out[n]"},
    {Routine::kGatherCentre, "gather_centre", "bf/sums/terms.h", "",
     "int n, sources source, in double centre_in[1], in float radius_in[1], rounding rounding, "
     "inout double centre_out[n], inout float radius_out[n]"},
    {Routine::kStartSum, "start_sum", "bf/sums/terms.h", "",
     "in double bias[n / run]?, int n, int run, out double centre_out[n], out float radius_out[n]"},
    {Routine::kClearSlack, "clear_slack", "bf/sums/terms.h", "", "out double slack[2]"},
    {Routine::kAddCentreSlack, "add_centre_slack", "bf/sums/terms.h", "",
     "in double centre[n], in float radius[n], int n, real row_norm, inout double slack[2]"},
    {Routine::kFinishSlack, "finish_slack", "bf/sums/terms.h", "",
     "real relative, real bias_norm, real absolute, inout double slack[2]"},
    {Routine::kCommonSlack, "common_slack", "bf/sums/row_slack.h", "boxes",
     "int n, inout double slack[4 boxes], out double row_slack[n boxes]"},
    {Routine::kStartRowSlack, "start_row_slack", "bf/sums/row_slack.h", "boxes",
     "in double bias[n / run]?, int n, int run, in float radius[n boxes], real factor, inout "
     "double slack[4 boxes], out double row_slack[n boxes]"},
    {Routine::kDenseRowSlack, "dense_row_slack", "bf/sums/row_slack.h", "boxes",
     "in float weight[1], int in, int panel, in double centre[in boxes], int n, in double slack[4 "
     "boxes], inout double row_slack[n boxes]"},
    {Routine::kConvRowSlack, "conv_row_slack", "bf/conv/conv_slack.h", "",
     "shape shape, in float weight[shape.weights], in double centre[shape.in], in double slack[4], "
     "inout double row_slack[shape.out]"},
    {Routine::kSparseRowSlack, "sparse_row_slack", "bf/sums/row_slack.h", "",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float weight[1], in double "
     "centre[1], in double slack[4], inout double row_slack[n]"},
    {Routine::kGatherRowSlack, "gather_row_slack", "bf/sums/row_slack.h", "",
     "int n, sources source, in double centre[1], in double slack[4], inout double row_slack[n]"},
    {Routine::kFinishRowSlack, "finish_row_slack", "bf/sums/row_slack.h", "boxes",
     "int n, real relative, real absolute, in double slack[4 boxes], inout double row_slack[n "
     "boxes]"},
    {Routine::kWriteValues, "write_values", "bf/sums/terms.h", "",
     "int n, bool relu, in double centre[n], out float y[n]"},
    {Routine::kRelaxProduct, "relax_product", "bf/sums/planes.h", "",
     "int n, sources gather_x, sources gather_y, in double centre_x[1], in float radius_x[1], in "
     "double centre_y[1], in float radius_y[1], real most, plane_errors errors, out double "
     "slack[4]?, out float table[8 n]?, out double centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxMax, "relax_max", "bf/sums/planes.h", "",
     "int n, in int32 row_start[n + 1], in int32 column[1], in double centre_in[1], in float "
     "radius_in[1], plane_errors errors, out double slack[4]?, out float table[3 n]?, out int32 "
     "choice[n]?, out double centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxLogSoftmax, "relax_log_softmax", "bf/sums/log_softmax.h", "",
     "int groups, int n, in int32 row_start[groups + 1], in int32 column[n], in double "
     "centre_in[1], in float radius_in[1], plane_errors errors, out double slack[4]?, out float "
     "table[4 n]?, out double centre_out[n], out float radius_out[n]"},
    {Routine::kRelaxContraction, "relax_contraction", "bf/sums/contraction.h", "",
     "int batch, int m, int n, int k, sources gather_x, sources gather_y, in double centre_x[1]?, "
     "in float radius_x[1]?, in double centre_y[1], in float radius_y[1], in int32 score[1]?, in "
     "double centre_s[1]?, in float radius_s[1]?, plane_errors errors, out double scratch[9 n], "
     "out "
     "double slack[4]?, out float table[1]?, out double centre_out[batch m n], out float "
     "radius_out[batch m n]"},
    {Routine::kMixedPlanes, "mixed_planes", "bf/sums/mixed_planes.h", "",
     "int batch, int m, int n, int k, bool has_box, bool sums, sources gather_x, sources gather_y, "
     "in float "
     "radius_x[1], in float radius_y[1], in float offsets[2 batch m n], in float over_x[batch n "
     "k], "
     "in float over_y[batch m k], plane_errors errors, out float planes[2 batch m n]"},
    {Routine::kMixedMaxima, "mixed_maxima", "bf/sums/mixed_planes.h", "",
     "int n, in int32 row_start[n + 1], in int32 column[1], in double centre_in[1], in float "
     "radius_in[1], in double centre_out[n], in float radius_out[n], plane_errors errors, out "
     "float candidates[n]"},
    {Routine::kProductRows, "product_rows", "bf/sums/planes.h", "rows",
     "int n, in float offsets[2 n], in float coefficients[n rows], inout float sums[rows]"},
    {Routine::kProductBackward, "product_backward", "bf/sums/planes.h", "rows",
     "int n, sources source, in float slopes[2 n], int in, in float from[n rows], bool add, out "
     "float to[in rows]"},
    {Routine::kMaxBackward, "max_backward", "bf/sums/planes.h", "rows",
     "int n, in float table[3 n], in int32 choice[n], int in, in float from[n rows], bool add, out "
     "float to[in rows], inout float sums[rows]"},
    {Routine::kLogSoftmaxBackward, "log_softmax_backward", "bf/sums/log_softmax.h", "rows",
     "int groups, int n, in int32 row_start[groups + 1], in int32 column[n], in float table[4 "
     "n], int in, in float from[n rows], bool add, out float to[in rows], inout float sums[rows]"},
    {Routine::kContractionBackward, "contraction_backward", "bf/sums/contraction.h", "rows",
     "int batch, int m, int n, int k, bool first, sources source, in float slopes[batch n k], "
     "in float radii[batch n k], in float halves[batch m k], int in, in float from[batch m n "
     "rows], bool add, out float to[in rows]"},
    {Routine::kMixedPlanesBackward, "mixed_planes_backward", "bf/sums/mixed_planes.h", "rows",
     "int batch, int m, int n, int k, bool first, sources source, in float slopes[batch n k], "
     "in float radii[batch n k], in float share[batch m n rows], int in, in float from[batch m n "
     "rows], bool add, out float to[in rows]"},
    {Routine::kMixedMaximaBackward, "mixed_maxima_backward", "bf/sums/mixed_planes.h", "rows",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float table[3 n], in int32 "
     "choice[n], in float candidates[n], in float share[n rows], int in, in float from[n rows], "
     "bool add, out float to[in rows], inout float sums[rows]"},
    {Routine::kRelaxFreeRows, "relax_free_rows", "bf/sums/slopes.h", "rows",
     "int n, in float slopes[2 n], in float offsets[3 n], in float slope[n rows], in float from[n "
     "rows], out float to[n rows], inout float sums[rows]"},
    {Routine::kRelaxMixtures, "relax_mixtures", "bf/functions/mixtures.h", "rows",
     "int n, in float knots[102 n], int offsets, in float share[n rows], in float from[n rows], "
     "out float to[n rows], inout float sums[rows]"},
    {Routine::kStartSlopes, "start_slopes", "bf/sums/slopes.h", "rows",
     "int n, in float table[6 n], out float slope[n rows]"},
    {Routine::kStartShares, "start_shares", "bf/functions/mixtures.h", "rows",
     "int n, out float share[n rows]"},
    {Routine::kClearMoments, "clear_moments", "bf/sums/slopes.h", "rows",
     "int n, out float mean[n rows], out float square[n rows]"},
    {Routine::kCornerValues, "corner_values", "bf/sums/slopes.h", "rows",
     "int n, in float radius[n], in float coefficients[n rows], out float values[n rows]"},
    {Routine::kLogSoftmaxValues, "log_softmax_values", "bf/sums/log_softmax.h", "rows",
     "int groups, int n, in int32 row_start[groups + 1], in int32 column[n], in float table[4 "
     "n], in float from[1], in float coefficients[n rows], out float values[n rows]"},
    {Routine::kDenseValues, "dense_values", "bf/sums/slopes.h", "rows",
     "in float weight[out / panel panel in], int in, int out, int panel, in float from[in rows], "
     "out float to[out rows]"},
    {Routine::kConvValues, "conv_values", "bf/sums/slopes.h", "rows",
     "shape shape, in float weight[shape.weights], in float from[shape.in rows], bool add, out "
     "float to[shape.out rows]"},
    {Routine::kSparseValues, "sparse_values", "bf/sums/slopes.h", "rows",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float weight[1], in float from[1], "
     "bool add, out float to[n rows]"},
    {Routine::kGatherValues, "gather_values", "bf/sums/slopes.h", "rows",
     "int n, sources source, in float from[1], bool add, out float to[n rows]"},
    {Routine::kLineValues, "line_values", "bf/sums/slopes.h", "rows",
     "int n, in float table[6 n], in float coefficients[n rows], inout float values[n rows]"},
    {Routine::kStepSlopes, "step_slopes", "bf/sums/slopes.h", "rows",
     "int n, in float slopes[8 n], ascent ascent, in float coefficients[n rows], inout float "
     "slope[n rows], inout float mean[n rows], inout float square[n rows], inout float values[n "
     "rows]"},
    {Routine::kStepShares, "step_shares", "bf/functions/mixtures.h", "rows",
     "int n, in float knots[102 n], ascent ascent, in float coefficients[n rows], inout float "
     "share[n rows], inout float mean[n rows], inout float square[n rows], inout float values[n "
     "rows]"},
    {Routine::kStepPlanes, "step_planes", "bf/sums/mixed_planes.h", "rows",
     "int batch, int m, int n, int k, sources gather_x, sources gather_y, in float over_x[batch n "
     "k], in float over_y[batch m k], in float planes[2 batch m n], ascent ascent, in float x[1], "
     "in float y[1], in float coefficients[batch m n rows], inout float share[batch m n rows], "
     "inout float mean[batch m n rows], inout float square[batch m n rows], out float values[batch "
     "m n rows]"},
    {Routine::kStepMaxima, "step_maxima", "bf/sums/mixed_planes.h", "rows",
     "int n, in int32 row_start[n + 1], in int32 column[1], in float table[3 n], in int32 "
     "choice[n], in float candidates[n], ascent ascent, in float from[1], in float coefficients[n "
     "rows], inout float share[n rows], inout float mean[n rows], inout float square[n rows], out "
     "float values[n rows]"},
};

constexpr auto kSignatures = [] {
  std::array<Signature, std::size(kDeclarations)> all;
  std::ranges::transform(kDeclarations, all.begin(),
                         [](const Declaration& each) { return signature_of(each); });
  return all;
}();

static_assert([] {
  for (std::size_t i = 0; i < kSignatures.size(); ++i)
    if (kSignatures[i].routine != static_cast<Routine>(i)) return false;
  return true;
}());

}  // namespace

std::span<const Signature> signatures() {
  return kSignatures;
}

}  // namespace bf_aot::calls
