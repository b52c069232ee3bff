#include "aot/engine/prebuilt/any.h"
#include "aot/engine/prebuilt/tables.h"
#include "aot/engine/prebuilt/thunk.h"
#include "bf/conv/conv_backward.h"
#include "bf/conv/conv_live.h"

// The routines that pass backward rows through convolutions, with the register tile that plans of
// lowering prebuilt have.

namespace bf_aot::engine {
namespace {

using calls::Routine;

// PortableTile, but that it does not depend on the shape.
template <int kRows, bool kWide>
constexpr bf::ConvRowTile kTile = bf::prebuilt_row_tile(bf::kVectorBytes,
                                                        bf::kSumVectors<kRows, kWide>);

template <int kRows, bool kWide>
struct Rows {
  static constexpr bf::ConvRowTile kOwn = kTile<kRows, kWide>;
  using Tile = bf::GivenTile<kOwn.columns, kOwn.pixels, kOwn.last_columns>;
  using Shape = bf::ShapeAt;
  using Live = bf::AnyLive;
  static constexpr PrebuiltRoutine all[] = {
      {Routine::kConvBackward,
       {kRows, kWide, kOwn.columns, kOwn.pixels, kOwn.last_columns},
       thunk<bf::conv_backward<kRows, kWide, Tile, Shape>>},
      {Routine::kConvSpread,
       {kRows, kWide, kOwn.columns, kOwn.pixels, kOwn.last_columns},
       thunk<bf::conv_spread<kRows, kWide, Tile, Shape>>},
      {Routine::kConvBackwardLive,
       {kRows, kWide, kOwn.columns, kOwn.pixels, kOwn.last_columns},
       thunk<bf::conv_backward_live<kRows, kWide, Tile, Shape, Live, Live>>},
      {Routine::kConvSpreadLive,
       {kRows, kWide, kOwn.columns, kOwn.pixels, kOwn.last_columns},
       thunk<bf::conv_spread_live<kRows, kWide, Tile, Shape, Live>>},
  };
  static constexpr Span<PrebuiltRoutine> span = {all, sizeof all / sizeof all[0]};
};

// Whole vectors of what is summed, up to four: see LoweringPlanner::row_tile().
template <int kLanes>
struct OfLanes {
  [[maybe_unused]] static constexpr Span<PrebuiltRoutine> all[] = {
      Rows<kLanes, false>::span,    Rows<2 * kLanes, false>::span, Rows<4 * kLanes, false>::span,
      Rows<kLanes / 2, true>::span, Rows<kLanes, true>::span,      Rows<2 * kLanes, true>::span,
      Rows<4 * kLanes, true>::span};
};
template <>
struct OfLanes<16> {
  [[maybe_unused]] static constexpr Span<PrebuiltRoutine> all[] = {
      Rows<16, false>::span, Rows<32, false>::span, Rows<8, true>::span, Rows<16, true>::span,
      Rows<32, true>::span};
};
template <>
struct OfLanes<4> {
  [[maybe_unused]] static constexpr Span<PrebuiltRoutine> all[] = {
      Rows<4, false>::span, Rows<8, false>::span, Rows<16, false>::span,
      Rows<4, true>::span,  Rows<8, true>::span,  Rows<16, true>::span};
};

}  // namespace

Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(conv_rows_, BF_PREBUILT)() {
  using Own = OfLanes<bf::kVectorBytes / static_cast<int>(sizeof(float))>;
  return {Own::all, sizeof Own::all / sizeof Own::all[0]};
}

}  // namespace bf_aot::engine
