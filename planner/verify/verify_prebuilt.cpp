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

int lanes_of(const Plan& plan) {
  return plan.config.target.vector_bytes / 4;
}

class PrebuiltCheck {
 public:
  PrebuiltCheck(const Plan& plan, const Call& call, Routine routine)
      : bytes_(plan.config.target.vector_bytes),
        lanes_(lanes_of(plan)),
        call_(call),
        signature_(signature_of(routine)) {}

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
      known = (name == "rows" && is_prebuilt_routine_rows(lanes_, value)) ||
              (name == "pairs" && is_prebuilt_routine_rows(lanes_, 2 * value)) ||
              (name == "boxes" && (value == 1 || value == prebuilt_boxes(lanes_)));
      require(known, "call of {}: {} = {} is not prebuilt", signature_.name, name, value);
    } else if (const auto* const tile = std::get_if<Tile>(&constant)) {
      known = is_prebuilt_rows(lanes_, wide(), rows()) && *tile == expected_tile();
    }
    require(known, "call of {}: its {} is not prebuilt", signature_.name, name);
  }

  // The tile for the rows and the type of their sums, which are the constants before it.
  Tile expected_tile() const {
    const int lanes = std::min(rows(), bytes_ / (wide() ? 8 : 4));
    const bf::ConvRowTile tile = bf::prebuilt_row_tile(bytes_, rows() / lanes);
    return {tile.columns, tile.pixels, tile.last_columns};
  }
  int rows() const { return static_cast<int>(std::get<Integer>(call_.constants.at(0)).value); }
  bool wide() const { return std::get<Flag>(call_.constants.at(1)).value; }

  const int bytes_, lanes_;
  const Call& call_;
  const Signature& signature_;
};

}  // namespace
}  // namespace calls

void verify_prebuilt(const Plan& plan, const calls::Program& program) {
  calls::for_each_call(program, [&](const calls::Call& call) {
    if (const auto* const routine = std::get_if<calls::Routine>(&call.callee)) {
      calls::PrebuiltCheck(plan, call, *routine).check();
      return;
    }
    const Kernel& kernel = plan.kernel(std::get<calls::KernelCall>(call.callee).id);
    require(is_prebuilt(calls::lanes_of(plan), variant_of(kernel)), "kernel {} is not prebuilt",
            kernel.key);
  });
}

}  // namespace bf_aot
