#include "aot/emit/calls/c_routines.h"

#include <algorithm>

namespace bf_aot::calls {
namespace {

constexpr std::string_view kInBackward = "bf/c/backward.h";
constexpr std::string_view kInBalls = "bf/c/balls.h";
constexpr std::string_view kInBounds = "bf/c/bounds.h";
constexpr std::string_view kInContraction = "bf/c/contraction.h";
constexpr std::string_view kInConv = "bf/c/conv.h";
constexpr std::string_view kInConvBackward = "bf/c/conv_backward.h";
constexpr std::string_view kInFloatFunctions = "bf/c/float_functions.h";
constexpr std::string_view kInFunctions = "bf/c/functions.h";
constexpr std::string_view kInIntervals = "bf/c/intervals.h";
constexpr std::string_view kInLogSoftmax = "bf/c/log_softmax.h";
constexpr std::string_view kInPlanes = "bf/c/planes.h";
constexpr std::string_view kInRelax = "bf/c/relax.h";
constexpr std::string_view kInRowWindows = "bf/c/row_windows.h";
constexpr std::string_view kInTerms = "bf/c/terms.h";

constexpr bool kDealt = true;

// The routines that runtime/bf/c/ has, by header. Loops of those that are dealt are BF_EACH: what
// an item writes no other one reads before the call ends.
constexpr CRoutine kRoutines[] = {
    {Routine::kBindFloat, "bind_float", kInBounds, kDealt},
    {Routine::kBindDouble, "bind_double", kInBounds, kDealt},
    {Routine::kCentreSlack, "centre_slack", kInBounds},
    {Routine::kIntervalAround, "interval_around", kInBounds, kDealt},
    {Routine::kMagnitudes, "magnitudes", kInBounds, kDealt},
    {Routine::kIntervalOfNeurons, "interval_of_neurons", kInBounds, kDealt},
    {Routine::kWriteBounds, "write_bounds", kInBounds, kDealt},
    {Routine::kListAll, "list_all", kInBounds},
    {Routine::kListUnstable, "list_unstable", kInBounds},
    {Routine::kPadList, "pad_list", kInBounds},
    {Routine::kStartRows, "start_rows", kInBounds, kDealt},
    {Routine::kTightenRows, "tighten_rows", kInBounds, kDealt},
    {Routine::kKeepRanges, "keep_ranges", kInBounds, kDealt},
    {Routine::kListLive, "list_live", kInBounds},
    {Routine::kRelax, "relax", kInRelax, kDealt},
    {Routine::kRelaxBox, "relax_box", kInRelax, kDealt},
    {Routine::kRelaxFunction, "relax_function", kInFunctions},
    {Routine::kListInexact, "list_inexact", kInFunctions},
    {Routine::kConvInterval, "conv_interval", kInConv},
    {Routine::kConvCentre, "conv_centre", kInConv},
    {Routine::kSparseInterval, "sparse_interval", kInIntervals},
    {Routine::kGatherInterval, "gather_interval", kInIntervals},
    {Routine::kFinishInterval, "finish_interval", kInIntervals},
    {Routine::kWriteInterval, "write_interval", kInIntervals},
    {Routine::kProductInterval, "product_interval", kInIntervals},
    {Routine::kIntervalFunction, "interval_function", kInFloatFunctions},
    {Routine::kApplyFunction, "apply_function", kInFloatFunctions},
    {Routine::kMaxInterval, "max_interval", kInIntervals},
    {Routine::kMaxIntervalGroups, "max_interval_groups", kInIntervals},
    {Routine::kSparseCentre, "sparse_centre", kInTerms, kDealt},
    {Routine::kGatherCentre, "gather_centre", kInTerms, kDealt},
    {Routine::kStartSum, "start_sum", kInTerms, kDealt},
    {Routine::kClearSlack, "clear_slack", kInTerms},
    {Routine::kAddCentreSlack, "add_centre_slack", kInTerms},
    {Routine::kFinishSlack, "finish_slack", kInTerms},
    {Routine::kCommonSlack, "common_slack", kInTerms, kDealt},
    {Routine::kStartRowSlack, "start_row_slack", kInTerms},
    {Routine::kDenseRowSlack, "dense_row_slack", kInTerms, kDealt},
    {Routine::kConvRowSlack, "conv_row_slack", kInTerms},
    {Routine::kSparseRowSlack, "sparse_row_slack", kInTerms, kDealt},
    {Routine::kGatherRowSlack, "gather_row_slack", kInTerms, kDealt},
    {Routine::kFinishRowSlack, "finish_row_slack", kInTerms, kDealt},
    {Routine::kWriteValues, "write_values", kInTerms},
    {Routine::kAddRows, "add_rows", kInBackward},
    {Routine::kClearRows, "clear_rows", kInBackward},
    {Routine::kRelaxRows, "relax_rows", kInBackward},
    {Routine::kSparseBackward, "sparse_backward", kInBackward},
    {Routine::kGatherBackward, "gather_backward", kInBackward},
    {Routine::kSparseStart, "sparse_start", kInBackward},
    {Routine::kGatherStart, "gather_start", kInBackward},
    {Routine::kRelaxProduct, "relax_product", kInPlanes},
    {Routine::kProductRows, "product_rows", kInPlanes},
    {Routine::kProductBackward, "product_backward", kInPlanes},
    {Routine::kRelaxMax, "relax_max", kInPlanes},
    {Routine::kMaxBackward, "max_backward", kInPlanes},
    {Routine::kListLivePixels, "list_live_pixels", kInRowWindows},
    {Routine::kListChosen, "list_chosen", kInRowWindows},
    {Routine::kListImage, "list_image", kInRowWindows},
    {Routine::kClearLive, "clear_live", kInRowWindows},
    {Routine::kClearWindow, "clear_window", kInRowWindows},
    {Routine::kAddLive, "add_live", kInRowWindows},
    {Routine::kAddWindow, "add_window", kInRowWindows},
    {Routine::kSpreadWindow, "spread_window", kInRowWindows},
    {Routine::kIdentityStart, "identity_start", kInRowWindows},
    {Routine::kConvStart, "conv_start", kInRowWindows},
    {Routine::kRelaxPixels, "relax_pixels", kInRowWindows},
    {Routine::kRelaxWindow, "relax_window", kInRowWindows},
    {Routine::kConcretizeWindow, "concretize_window", kInRowWindows},
    {Routine::kConvBackward, "conv_backward", kInConvBackward},
    {Routine::kConvSpread, "conv_spread", kInConvBackward},
    {Routine::kConvBackwardLive, "conv_backward_live", kInConvBackward},
    {Routine::kConvSpreadLive, "conv_spread_live", kInConvBackward},
    {Routine::kRelaxLogSoftmax, "relax_log_softmax", kInLogSoftmax},
    {Routine::kLogSoftmaxBackward, "log_softmax_backward", kInLogSoftmax},
    {Routine::kRelaxContraction, "relax_contraction", kInContraction},
    {Routine::kContractionBackward, "contraction_backward", kInContraction},
    {Routine::kConcretizeEuclid, "concretize_euclid", kInBalls},
    {Routine::kConcretizeSum, "concretize_sum", kInBalls},
    {Routine::kConcretizeOneHot, "concretize_one_hot", kInBalls},
};

}  // namespace

const CRoutine* find_c_routine(Routine routine) {
  const auto* const found = std::ranges::find(kRoutines, routine, &CRoutine::routine);
  return found == std::end(kRoutines) ? nullptr : found;
}

}  // namespace bf_aot::calls
