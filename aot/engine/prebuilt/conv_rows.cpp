#include <cstddef>
#include <utility>

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

// A PortableTile that does not depend on the shape.
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

constexpr PrebuiltConvSet kSet =
    prebuilt_conv_rows(bf::kVectorBytes / static_cast<int>(sizeof(float)));

template <typename Places>
struct Table;
template <std::size_t... kPlace>
struct Table<std::index_sequence<kPlace...>> {
  static constexpr Span<PrebuiltRoutine> all[] = {
      Rows<kSet.list[kPlace].rows, kSet.list[kPlace].wide>::span...};
};
using Own = Table<std::make_index_sequence<kSet.count>>;

}  // namespace

Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(conv_rows_, BF_PREBUILT)() {
  return {Own::all, kSet.count};
}

}  // namespace bf_aot::engine
