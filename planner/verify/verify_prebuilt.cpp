#include "planner/verify/verify_prebuilt.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "planner/plan/prebuilt.h"
#include "planner/verify/verify_layer.h"
#include "runtime/bf/contract/tiles.h"

namespace bf_aot {
namespace calls {
namespace {

class PrebuiltCheck {
 public:
  PrebuiltCheck(const Plan& plan, const Call& call, Routine routine)
      : plan_(plan), call_(call), signature_(signature_of(routine)) {}

  void check() const {
    std::string_view names = signature_.constants;
    for (const TemplateArgument& constant : call_.constants) {
      const std::size_t end = std::min(names.find(' '), names.size());
      check(names.substr(0, end), constant);
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }

 private:
  void check(std::string_view name, const TemplateArgument& constant) const {
    bool known = std::holds_alternative<Flag>(constant);
    if (const auto* const number = std::get_if<Integer>(&constant)) {
      const auto value = static_cast<int>(number->value);
      known = (name == "rows" && is_prebuilt_rows(value)) ||
              (name == "pairs" && is_prebuilt_rows(2 * value)) ||
              (name == "boxes" && (value == 1 || is_prebuilt_boxes(value)));
      require(known, "call of {}: {} = {} is not prebuilt", signature_.name, name, value);
    } else if (const auto* const tile = std::get_if<Tile>(&constant)) {
      known = *tile == expected_tile();
    }
    require(known, "call of {}: its {} is not prebuilt", signature_.name, name);
  }

  // Of the rows and the type of their sums, the constants before it.
  Tile expected_tile() const {
    const auto rows = static_cast<int>(std::get<Integer>(call_.constants.at(0)).value);
    const bool wide = std::get<Flag>(call_.constants.at(1)).value;
    const int bytes = plan_.config.target.vector_bytes;
    const int lanes = std::min(rows, bytes / (wide ? 8 : 4));
    const bf::ConvRowTile tile = bf::prebuilt_row_tile(bytes, rows / lanes);
    return {tile.columns, tile.pixels, tile.last_columns};
  }

  const Plan& plan_;
  const Call& call_;
  const Signature& signature_;
};

void check_kernel(const Kernel& kernel) {
  require(kernel.rows == 0 || is_prebuilt_rows(kernel.rows), "kernel {}: {} rows are not prebuilt",
          kernel.key, kernel.rows);
  require(kernel.boxes == 1 || is_prebuilt_boxes(kernel.boxes),
          "kernel {}: {} boxes are not prebuilt", kernel.key, kernel.boxes);
}

}  // namespace
}  // namespace calls

void verify_prebuilt(const Plan& plan, const calls::Program& program) {
  calls::for_each_call(program, [&](const calls::Call& call) {
    if (const auto* const routine = std::get_if<calls::Routine>(&call.callee))
      calls::PrebuiltCheck(plan, call, *routine).check();
    else
      calls::check_kernel(plan.kernel(std::get<calls::KernelCall>(call.callee).id));
  });
}

}  // namespace bf_aot
