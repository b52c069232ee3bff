#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "aot/engine/run/function_views.h"
#include "bf/sums/row_windows.h"
#include "planner/lowering/lowered.h"
#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::engine {

// Conversions of the plan's geometry to the runtime's structures.
bf::ImageStrides strides_of(const ImageLayout& layout);
bf::ConvShape shape_of(const ConvGeometry& geometry);
bf::Image image_of(const RowImage& image);

// The constants of a plan's verifier, in memory: tables packed as planned, functions, geometry.
// Returned pointers are valid as long as this lives.
class Constants {
 public:
  explicit Constants(const Lowered& lowered);

  const void* table(const calls::Table& table) const;
  const bf::FunctionView* function(const Function& function) { return functions_.of(function); }
  const bf::FloatFunction* float_function(const Function& function) {
    return functions_.float_of(function);
  }
  // Element i of the view is element table[i] of what it views.
  const std::int32_t* sources(const StridedView& view);
  std::int64_t bytes() const { return static_cast<std::int64_t>(blob_bytes_); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::byte* blob_ = nullptr;  // in memory_, aligned
  std::size_t blob_bytes_ = 0;
  std::map<std::tuple<LayerId, int, TableKind>, std::int64_t> tables_;  // offsets
  FunctionViews functions_;
  std::vector<std::pair<StridedView, std::unique_ptr<std::vector<std::int32_t>>>> sources_;
};

}  // namespace bf_aot::engine
