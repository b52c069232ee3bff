#include <cstddef>
#include <utility>

#include "aot/engine/prebuilt/any.h"
#include "aot/engine/prebuilt/tables.h"
#include "aot/engine/prebuilt/thunk.h"
#include "bf/conv/conv_forward.h"
#include "bf/conv/conv_interval.h"
#include "bf/conv/conv_slack.h"
#include "bf/conv/starts.h"
#include "bf/core/bounds.h"
#include "bf/core/context.h"
#include "bf/core/live_neurons.h"
#include "bf/core/relax.h"
#include "bf/dense/boxes.h"
#include "bf/dense/lines.h"
#include "bf/functions/bind_near.h"
#include "bf/functions/float_functions.h"
#include "bf/functions/functions.h"
#include "bf/functions/mixtures.h"
#include "bf/sums/backward.h"
#include "bf/sums/ball_layers.h"
#include "bf/sums/balls.h"
#include "bf/sums/contraction.h"
#include "bf/sums/intervals.h"
#include "bf/sums/log_softmax.h"
#include "bf/sums/mixed_planes.h"
#include "bf/sums/one_hot.h"
#include "bf/sums/planes.h"
#include "bf/sums/row_slack.h"
#include "bf/sums/row_windows.h"
#include "bf/sums/slopes.h"
#include "bf/sums/terms.h"

// The routines of planner/lowering/signatures.cpp but those that pass backward rows through
// convolutions, and those of relax.cpp.

namespace bf_aot::engine {
namespace {

using bf::ShapeAt;
using calls::Routine;
using Source = const std::int32_t*;  // of gathers: a table, or null for the identity

using BindFloat = void (*)(const float*, const float*, int, float, float*, float*);
using BindDouble = void (*)(const float*, const float*, int, double*, float*);
using MaxRows = void (*)(int, const std::int32_t*, const std::int32_t*, const float*, const float*,
                         const bf::IntervalErrors&, float*, float*);
using ListLivePixels = void (*)(const bf::Image&, int, const float*, std::int32_t*);

constexpr PrebuiltRoutine kPlain[] = {
    {Routine::kBindFloat, {}, thunk<static_cast<BindFloat>(bf::bind_box)>},
    {Routine::kBindDouble, {}, thunk<static_cast<BindDouble>(bf::bind_box)>},
    {Routine::kBindNear, {}, thunk<bf::bind_near_box>},
    {Routine::kCentreSlack, {}, thunk<bf::centre_slack>},
    {Routine::kIntervalAround, {}, thunk<bf::interval_around>},
    {Routine::kMagnitudes, {}, thunk<bf::magnitudes>},
    {Routine::kIntervalOfNeurons, {}, thunk<bf::interval_of_neurons>},
    {Routine::kWriteBounds, {}, thunk<bf::write_bounds>},
    {Routine::kListAll, {}, thunk<bf::list_all>},
    {Routine::kListUnstable, {}, thunk<bf::list_unstable>},
    {Routine::kListInexact, {}, thunk<bf::list_inexact>},
    {Routine::kListImage, {}, thunk<bf::list_image<bf::AnyListed>>},
    {Routine::kPadList, {}, thunk<bf::pad_list>},
    {Routine::kTightenRows, {}, thunk<bf::tighten_rows>},
    {Routine::kKeepCoefficients, {}, thunk<bf::keep_coefficients>},
    {Routine::kKeepRanges, {}, thunk<bf::keep_ranges>},
    {Routine::kBallTerm, {}, thunk<bf::ball_term>},
    {Routine::kMeetBall, {}, thunk<bf::meet_ball>},
    {Routine::kMeetAnchor, {}, thunk<bf::meet_anchor>},
    {Routine::kKeepAnchor, {}, thunk<bf::keep_anchor>},
    {Routine::kMeetOutputs, {}, thunk<bf::meet_outputs>},
    {Routine::kListLivePixels, {}, thunk<static_cast<ListLivePixels>(bf::list_live)>},
    {Routine::kListChosen, {}, thunk<bf::list_chosen>},
    {Routine::kConvInterval, {0}, thunk<bf::conv_interval<false, ShapeAt>>},
    {Routine::kConvInterval, {1}, thunk<bf::conv_interval<true, ShapeAt>>},
    {Routine::kSparseInterval, {0}, thunk<bf::sparse_interval<false>>},
    {Routine::kSparseInterval, {1}, thunk<bf::sparse_interval<true>>},
    {Routine::kGatherInterval, {0}, thunk<bf::gather_interval<false, Source>>},
    {Routine::kGatherInterval, {1}, thunk<bf::gather_interval<true, Source>>},
    {Routine::kFinishInterval, {}, thunk<bf::finish_interval>},
    {Routine::kWriteInterval, {}, thunk<bf::write_interval>},
    {Routine::kProductInterval, {}, thunk<bf::product_interval<Source, Source>>},
    {Routine::kIntervalFunction, {}, thunk<bf::interval_function>},
    {Routine::kApplyFunction, {}, thunk<bf::apply_function>},
    {Routine::kMaxInterval, {}, thunk<static_cast<MaxRows>(bf::max_interval)>},
    {Routine::kConvCentre, {}, thunk<bf::conv_centre<ShapeAt>>},
    {Routine::kSparseCentre, {}, thunk<bf::sparse_centre>},
    {Routine::kGatherCentre, {}, thunk<bf::gather_centre<Source>>},
    {Routine::kStartSum, {}, thunk<bf::start_sum>},
    {Routine::kClearSlack, {}, thunk<bf::clear_slack>},
    {Routine::kAddCentreSlack, {}, thunk<bf::add_centre_slack>},
    {Routine::kFinishSlack, {}, thunk<bf::finish_slack>},
    {Routine::kCommonSlack, {1}, thunk<bf::common_slack<1>>},
    {Routine::kStartRowSlack, {1}, thunk<bf::start_row_slack<1>>},
    {Routine::kDenseRowSlack, {1}, thunk<bf::dense_row_slack<1>>},
    {Routine::kConvRowSlack, {}, thunk<bf::conv_row_slack<ShapeAt>>},
    {Routine::kSparseRowSlack, {}, thunk<bf::sparse_row_slack>},
    {Routine::kGatherRowSlack, {}, thunk<bf::gather_row_slack<Source>>},
    {Routine::kFinishRowSlack, {1}, thunk<bf::finish_row_slack<1>>},
    {Routine::kWriteValues, {}, thunk<bf::write_values>},
    {Routine::kRelaxProduct, {}, thunk<bf::relax_product<Source, Source>>},
    {Routine::kRelaxMax, {}, thunk<bf::relax_max>},
    {Routine::kRelaxContraction, {}, thunk<bf::relax_contraction<Source, Source>>},
    {Routine::kMixedPlanes, {}, thunk<bf::mixed_planes<Source, Source>>},
    {Routine::kMixedMaxima, {}, thunk<bf::mixed_maxima>},
    {Routine::kRelaxLogSoftmax, {}, thunk<bf::relax_log_softmax>},
    // The element is one of the two.
    {Routine::kListLive, {4}, thunk<bf::list_live<float>>},
    {Routine::kListLive, {8}, thunk<bf::list_live<double>>},
    {Routine::kStartLines, {1}, thunk<bf::start_lines<1>>},
    {Routine::kTightenLines, {1}, thunk<bf::tighten_lines<1>>},
    {Routine::kRelaxLines, {1}, thunk<bf::relax_lines<1>>},
};

template <int kRows>
struct OfRows {
  static constexpr PrebuiltRoutine all[] = {
      {Routine::kStartRows, {kRows / 2}, thunk<bf::start_rows<kRows / 2>>},
      {Routine::kAddRows, {kRows}, thunk<bf::add_rows<kRows>>},
      {Routine::kClearRows, {kRows}, thunk<bf::clear_rows<kRows>>},
      {Routine::kRelaxRows, {kRows}, thunk<bf::relax_rows<kRows>>},
      {Routine::kSparseBackward, {kRows}, thunk<bf::sparse_backward<kRows>>},
      {Routine::kGatherBackward, {kRows}, thunk<bf::gather_backward<kRows, Source>>},
      {Routine::kConvStart, {kRows}, thunk<bf::conv_start<kRows>>},
      {Routine::kSparseStart, {kRows}, thunk<bf::sparse_start<kRows>>},
      {Routine::kGatherStart, {kRows}, thunk<bf::gather_start<kRows, Source>>},
      {Routine::kIdentityStart, {kRows}, thunk<bf::identity_start<kRows>>},
      {Routine::kRelaxWindow, {kRows}, thunk<bf::relax_window<kRows>>},
      {Routine::kConcretizeWindow, {kRows}, thunk<bf::concretize_window<kRows>>},
      {Routine::kConcretizeEuclid, {kRows}, thunk<bf::concretize_euclid<kRows>>},
      {Routine::kConcretizeSum, {kRows}, thunk<bf::concretize_sum<kRows>>},
      {Routine::kConcretizeOneHot, {kRows}, thunk<bf::concretize_one_hot<kRows>>},
      {Routine::kBallGain, {kRows}, thunk<bf::ball_gain<kRows>>},
      {Routine::kTakeBallGain, {kRows}, thunk<bf::take_ball_gain<kRows>>},
      {Routine::kAddWindow, {kRows}, thunk<bf::add_window<kRows>>},
      {Routine::kSpreadWindow, {kRows}, thunk<bf::spread_window<kRows>>},
      {Routine::kClearWindow, {kRows}, thunk<bf::clear_window<kRows>>},
      {Routine::kClearLive, {kRows}, thunk<bf::clear_live<kRows>>},
      {Routine::kAddLive, {kRows}, thunk<bf::add_live<kRows>>},
      {Routine::kRelaxPixels, {kRows}, thunk<bf::relax_pixels<kRows, bf::AnyLive>>},
      {Routine::kProductRows, {kRows}, thunk<bf::product_rows<kRows>>},
      {Routine::kProductBackward, {kRows}, thunk<bf::product_backward<kRows, Source>>},
      {Routine::kMaxBackward, {kRows}, thunk<bf::max_backward<kRows>>},
      {Routine::kContractionBackward, {kRows}, thunk<bf::contraction_backward<kRows, Source>>},
      {Routine::kMixedPlanesBackward, {kRows}, thunk<bf::mixed_planes_backward<kRows, Source>>},
      {Routine::kMixedMaximaBackward, {kRows}, thunk<bf::mixed_maxima_backward<kRows>>},
      {Routine::kLogSoftmaxBackward, {kRows}, thunk<bf::log_softmax_backward<kRows>>},
      {Routine::kRelaxFreeRows, {kRows}, thunk<bf::relax_free_rows<kRows>>},
      {Routine::kRelaxMixtures, {kRows}, thunk<bf::relax_mixtures<kRows>>},
      {Routine::kStartSlopes, {kRows}, thunk<bf::start_slopes<kRows>>},
      {Routine::kStartShares, {kRows}, thunk<bf::start_shares<kRows>>},
      {Routine::kClearMoments, {kRows}, thunk<bf::clear_moments<kRows>>},
      {Routine::kCornerValues, {kRows}, thunk<bf::corner_values<kRows>>},
      {Routine::kLogSoftmaxValues, {kRows}, thunk<bf::log_softmax_values<kRows>>},
      {Routine::kDenseValues, {kRows}, thunk<bf::dense_values<kRows>>},
      {Routine::kConvValues, {kRows}, thunk<bf::conv_values<kRows>>},
      {Routine::kSparseValues, {kRows}, thunk<bf::sparse_values<kRows>>},
      {Routine::kGatherValues, {kRows}, thunk<bf::gather_values<kRows, Source>>},
      {Routine::kLineValues, {kRows}, thunk<bf::line_values<kRows>>},
      {Routine::kStepSlopes, {kRows}, thunk<bf::step_slopes<kRows>>},
      {Routine::kStepShares, {kRows}, thunk<bf::step_shares<kRows>>},
      {Routine::kStepPlanes, {kRows}, thunk<bf::step_planes<kRows, Source, Source>>},
      {Routine::kStepMaxima, {kRows}, thunk<bf::step_maxima<kRows>>},
  };
};

template <int kBoxes>
struct OfBoxes {
  using Group = const bf::BoxGroup<kBoxes>&;
  using BindFloats = void (*)(Group, const float*, const float*, int, float, float*, float*);
  using BindDoubles = void (*)(Group, const float*, const float*, int, double*, float*);
  using Write = void (*)(Group, int, bool, const double*, const float*, const float*, std::size_t,
                         float*, float*);
  using WriteFloats = void (*)(Group, int, const float*, const float*, std::size_t, float*, float*);
  static constexpr PrebuiltRoutine all[] = {
      {Routine::kBindBoxesFloat, {kBoxes}, thunk<static_cast<BindFloats>(bf::bind_boxes<kBoxes>)>},
      {Routine::kBindBoxesDouble,
       {kBoxes},
       thunk<static_cast<BindDoubles>(bf::bind_boxes<kBoxes>)>},
      {Routine::kSlackOfBoxes, {kBoxes}, thunk<bf::slack_of_boxes<kBoxes>>},
      {Routine::kCommonSlack, {kBoxes}, thunk<bf::common_slack<kBoxes>>},
      {Routine::kStartRowSlack, {kBoxes}, thunk<bf::start_row_slack<kBoxes>>},
      {Routine::kDenseRowSlack, {kBoxes}, thunk<bf::dense_row_slack<kBoxes>>},
      {Routine::kFinishRowSlack, {kBoxes}, thunk<bf::finish_row_slack<kBoxes>>},
      {Routine::kIntervalAroundBoxes, {kBoxes}, thunk<bf::interval_around_boxes<kBoxes>>},
      {Routine::kRelaxBoxes, {kBoxes}, thunk<bf::relax_boxes<kBoxes>>},
      {Routine::kListLiveBoxes, {kBoxes, 4}, thunk<bf::list_live_boxes<kBoxes, float>>},
      {Routine::kListLiveBoxes, {kBoxes, 8}, thunk<bf::list_live_boxes<kBoxes, double>>},
      {Routine::kListUnstableBoxes, {kBoxes}, thunk<bf::list_unstable_boxes<kBoxes>>},
      {Routine::kListAllBoxes, {kBoxes}, thunk<bf::list_all_boxes<kBoxes>>},
      {Routine::kTightenBoxes, {kBoxes}, thunk<bf::tighten_boxes<kBoxes>>},
      {Routine::kKeepCoefficientsOfBoxes, {kBoxes}, thunk<bf::keep_coefficients_of_boxes<kBoxes>>},
      {Routine::kWriteBoxes, {kBoxes}, thunk<static_cast<Write>(bf::write_boxes<kBoxes>)>},
      {Routine::kWriteBoxesFloat,
       {kBoxes},
       thunk<static_cast<WriteFloats>(bf::write_boxes<kBoxes>)>},
      {Routine::kStartLines, {kBoxes}, thunk<bf::start_lines<kBoxes>>},
      {Routine::kTightenLines, {kBoxes}, thunk<bf::tighten_lines<kBoxes>>},
      {Routine::kRelaxLines, {kBoxes}, thunk<bf::relax_lines<kBoxes>>},
  };
};

template <int kCount>
constexpr Span<PrebuiltRoutine> span_of(const PrebuiltRoutine (&some)[kCount]) {
  return {some, kCount};
}

constexpr int kLanes = bf::kVectorBytes / static_cast<int>(sizeof(float));
constexpr PrebuiltRowSet kSet = prebuilt_routine_rows(kLanes);

// The routines without such constants, those of boxes side by side, and those of each number of
// rows. Scalar code has no boxes side by side.
template <int kBoxes, typename Places>
struct Table;
template <int kBoxes, std::size_t... kPlace>
struct Table<kBoxes, std::index_sequence<kPlace...>> {
  static constexpr Span<PrebuiltRoutine> all[] = {span_of(kPlain), span_of(OfBoxes<kBoxes>::all),
                                                  span_of(OfRows<kSet.rows[kPlace]>::all)...};
};
template <std::size_t... kPlace>
struct Table<1, std::index_sequence<kPlace...>> {
  static constexpr Span<PrebuiltRoutine> all[] = {span_of(kPlain),
                                                  span_of(OfRows<kSet.rows[kPlace]>::all)...};
};
using Own = Table<prebuilt_boxes(kLanes), std::make_index_sequence<kSet.count>>;

}  // namespace

Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(routines_, BF_PREBUILT)() {
  return {Own::all, sizeof Own::all / sizeof Own::all[0]};
}

}  // namespace bf_aot::engine
