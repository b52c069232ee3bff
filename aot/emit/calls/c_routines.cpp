#include "aot/emit/calls/c_routines.h"

#include <algorithm>

namespace bf_aot::calls {
namespace {

constexpr std::string_view kInBackward = "bf/c/backward.h";
constexpr std::string_view kInBallLayers = "bf/c/ball_layers.h";
constexpr std::string_view kInBalls = "bf/c/balls.h";
constexpr std::string_view kInBounds = "bf/c/bounds.h";
constexpr std::string_view kInContraction = "bf/c/contraction.h";
constexpr std::string_view kInConv = "bf/c/conv.h";
constexpr std::string_view kInConvBackward = "bf/c/conv_backward.h";
constexpr std::string_view kInFloatFunctions = "bf/c/float_functions.h";
constexpr std::string_view kInFunctions = "bf/c/functions.h";
constexpr std::string_view kInIntervals = "bf/c/intervals.h";
constexpr std::string_view kInLogSoftmax = "bf/c/log_softmax.h";
constexpr std::string_view kInMixedPlanes = "bf/c/choices/mixed_planes.h";
constexpr std::string_view kInMixtures = "bf/c/choices/mixtures.h";
constexpr std::string_view kInPlanes = "bf/c/planes.h";
constexpr std::string_view kInRelax = "bf/c/relax.h";
constexpr std::string_view kInRowWindows = "bf/c/row_windows.h";
constexpr std::string_view kInSlopes = "bf/c/choices/slopes.h";
constexpr std::string_view kInTerms = "bf/c/terms.h";

constexpr Dealt kDealt = Dealt::kEach;
constexpr Dealt kTogether = Dealt::kTogether;

// The routines that runtime/bf/c/ has, by header. Loops of those that are dealt are BF_EACH: what
// an item writes no other one reads before the call ends, or a barrier.
constexpr CRoutine kRoutines[] = {
    {Routine::kBindFloat, "bind_float", kInBounds, kDealt},
    {Routine::kBindDouble, "bind_double", kInBounds, kDealt},
    {Routine::kBindNear, "bind_near", kInFunctions, kDealt},
    {Routine::kCentreSlack, "centre_slack", kInBounds, kTogether},
    {Routine::kIntervalAround, "interval_around", kInBounds, kDealt},
    {Routine::kMagnitudes, "magnitudes", kInBounds, kDealt},
    {Routine::kIntervalOfNeurons, "interval_of_neurons", kInBounds, kDealt},
    {Routine::kWriteBounds, "write_bounds", kInBounds, kDealt},
    {Routine::kListAll, "list_all", kInBounds, kDealt},
    {Routine::kListUnstable, "list_unstable", kInBounds, kTogether},
    {Routine::kPadList, "pad_list", kInBounds},
    {Routine::kStartRows, "start_rows", kInBounds, kDealt},
    {Routine::kTightenRows, "tighten_rows", kInBounds, kDealt},
    {Routine::kKeepCoefficients, "keep_coefficients", kInBounds, kDealt},
    {Routine::kKeepRanges, "keep_ranges", kInBounds, kDealt},
    {Routine::kListLive, "list_live", kInBounds, kTogether},
    {Routine::kRelax, "relax", kInRelax, kTogether},
    {Routine::kRelaxPoint, "relax_at_points", kInRelax, kTogether},
    {Routine::kRelaxBox, "relax_box", kInRelax, kDealt},
    {Routine::kRelaxFunction, "relax_function", kInFunctions, kDealt},
    {Routine::kListInexact, "list_inexact", kInFunctions, kTogether},
    {Routine::kConvInterval, "conv_interval", kInConv, kDealt},
    {Routine::kConvCentre, "conv_centre", kInConv, kDealt},
    {Routine::kSparseInterval, "sparse_interval", kInIntervals, kDealt},
    {Routine::kGatherInterval, "gather_interval", kInIntervals, kDealt},
    {Routine::kFinishInterval, "finish_interval", kInIntervals, kDealt},
    {Routine::kWriteInterval, "write_interval", kInIntervals, kDealt},
    {Routine::kProductInterval, "product_interval", kInIntervals, kDealt},
    {Routine::kIntervalFunction, "interval_function", kInFloatFunctions, kDealt},
    {Routine::kApplyFunction, "apply_function", kInFloatFunctions, kDealt},
    {Routine::kMaxInterval, "max_interval", kInIntervals, kDealt},
    {Routine::kMaxIntervalGroups, "max_interval_groups", kInIntervals, kDealt},
    {Routine::kSparseCentre, "sparse_centre", kInTerms, kDealt},
    {Routine::kGatherCentre, "gather_centre", kInTerms, kDealt},
    {Routine::kStartSum, "start_sum", kInTerms, kDealt},
    {Routine::kClearSlack, "clear_slack", kInTerms},
    {Routine::kAddCentreSlack, "add_centre_slack", kInTerms, kTogether},
    {Routine::kFinishSlack, "finish_slack", kInTerms},
    {Routine::kCommonSlack, "common_slack", kInTerms, kDealt},
    {Routine::kStartRowSlack, "start_row_slack", kInTerms, kTogether},
    {Routine::kDenseRowSlack, "dense_row_slack", kInTerms, kDealt},
    {Routine::kConvRowSlack, "conv_row_slack", kInTerms, kDealt},
    {Routine::kSparseRowSlack, "sparse_row_slack", kInTerms, kDealt},
    {Routine::kGatherRowSlack, "gather_row_slack", kInTerms, kDealt},
    {Routine::kFinishRowSlack, "finish_row_slack", kInTerms, kDealt},
    {Routine::kWriteValues, "write_values", kInTerms, kDealt},
    {Routine::kAddRows, "add_rows", kInBackward, kDealt},
    {Routine::kClearRows, "clear_rows", kInBackward, kDealt},
    {Routine::kRelaxRows, "relax_rows", kInBackward, kDealt},
    {Routine::kSparseBackward, "sparse_backward", kInBackward, kDealt},
    {Routine::kGatherBackward, "gather_backward", kInBackward, kDealt},
    {Routine::kSparseStart, "sparse_start", kInBackward, kDealt},
    {Routine::kGatherStart, "gather_start", kInBackward, kDealt},
    {Routine::kRelaxProduct, "relax_product", kInPlanes, kDealt},
    {Routine::kProductRows, "product_rows", kInPlanes, kDealt},
    {Routine::kProductBackward, "product_backward", kInPlanes, kDealt},
    {Routine::kRelaxMax, "relax_max", kInPlanes, kDealt},
    {Routine::kMaxBackward, "max_backward", kInPlanes, kDealt},
    {Routine::kListLivePixels, "list_live_pixels", kInRowWindows, kTogether},
    {Routine::kListChosen, "list_chosen", kInRowWindows},
    {Routine::kListImage, "list_image", kInRowWindows, kTogether},
    {Routine::kClearLive, "clear_live", kInRowWindows, kDealt},
    {Routine::kClearWindow, "clear_window", kInRowWindows, kDealt},
    {Routine::kAddLive, "add_live", kInRowWindows, kDealt},
    {Routine::kAddWindow, "add_window", kInRowWindows, kDealt},
    {Routine::kSpreadWindow, "spread_window", kInRowWindows, kDealt},
    {Routine::kIdentityStart, "identity_start", kInRowWindows, kDealt},
    {Routine::kConvStart, "conv_start", kInRowWindows, kDealt},
    {Routine::kRelaxPixels, "relax_pixels", kInRowWindows, kDealt},
    {Routine::kRelaxWindow, "relax_window", kInRowWindows, kDealt},
    {Routine::kConcretizeWindow, "concretize_window", kInRowWindows, kDealt},
    {Routine::kConvBackward, "conv_backward", kInConvBackward, kDealt},
    {Routine::kConvSpread, "conv_spread", kInConvBackward, kDealt},
    {Routine::kConvBackwardLive, "conv_backward_live", kInConvBackward, kDealt},
    {Routine::kConvSpreadLive, "conv_spread_live", kInConvBackward, kDealt},
    {Routine::kRelaxLogSoftmax, "relax_log_softmax", kInLogSoftmax, kDealt},
    {Routine::kLogSoftmaxBackward, "log_softmax_backward", kInLogSoftmax, kDealt},
    {Routine::kLogSoftmaxValues, "log_softmax_values", kInLogSoftmax, kDealt},
    {Routine::kRelaxContraction, "relax_contraction", kInContraction, kDealt},
    {Routine::kContractionBackward, "contraction_backward", kInContraction, kDealt},
    {Routine::kRelaxSlopes, "relax_slopes", kInSlopes, kDealt},
    {Routine::kStartSlopes, "start_slopes", kInSlopes, kDealt},
    {Routine::kRelaxFreeRows, "relax_free_rows", kInSlopes, kDealt},
    {Routine::kCornerValues, "corner_values", kInSlopes, kDealt},
    {Routine::kDenseValues, "dense_values", kInSlopes, kDealt},
    {Routine::kConvValues, "conv_values", kInSlopes, kDealt},
    {Routine::kSparseValues, "sparse_values", kInSlopes, kDealt},
    {Routine::kGatherValues, "gather_values", kInSlopes, kDealt},
    {Routine::kLineValues, "line_values", kInSlopes, kDealt},
    {Routine::kClearMoments, "clear_moments", kInSlopes, kDealt},
    {Routine::kStepSlopes, "step_slopes", kInSlopes, kDealt},
    {Routine::kRelaxKnots, "relax_knots", kInMixtures, kDealt},
    {Routine::kStartShares, "start_shares", kInMixtures, kDealt},
    {Routine::kRelaxMixtures, "relax_mixtures", kInMixtures, kDealt},
    {Routine::kStepShares, "step_shares", kInMixtures, kDealt},
    {Routine::kMixedPlanes, "mixed_planes", kInMixedPlanes, kDealt},
    {Routine::kMixedPlanesBackward, "mixed_planes_backward", kInMixedPlanes, kDealt},
    {Routine::kStepPlanes, "step_planes", kInMixedPlanes, kDealt},
    {Routine::kMixedMaxima, "mixed_maxima", kInMixedPlanes, kDealt},
    {Routine::kMixedMaximaBackward, "mixed_maxima_backward", kInMixedPlanes, kDealt},
    {Routine::kStepMaxima, "step_maxima", kInMixedPlanes, kDealt},
    {Routine::kConcretizeEuclid, "concretize_euclid", kInBalls, kDealt},
    {Routine::kConcretizeSum, "concretize_sum", kInBalls, kDealt},
    {Routine::kConcretizeOneHot, "concretize_one_hot", kInBalls, kDealt},
    {Routine::kBallTerm, "ball_term", kInBallLayers, kDealt},
    {Routine::kMeetBall, "meet_ball", kInBallLayers, kDealt},
    {Routine::kBallGain, "ball_gain", kInBallLayers, kDealt},
    {Routine::kTakeBallGain, "take_ball_gain", kInBallLayers, kDealt},
};

}  // namespace

const CRoutine* find_c_routine(Routine routine) {
  const auto* const found = std::ranges::find(kRoutines, routine, &CRoutine::routine);
  return found == std::end(kRoutines) ? nullptr : found;
}

}  // namespace bf_aot::calls
