#include "aot/emit/interface/emit_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "aot/emit/interface/emit_parallel.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/fill_in.h"

// Entry points of several boxes: a loop around those of one box, or entries of the plan that
// compute groups of boxes side by side.

namespace bf_aot::emit {
namespace {

constexpr std::string_view kBatchHeader = R"(
/* ---- several boxes in a call
 *
 * count: 1 to @NAME@_BATCH boxes, else BF_BAD_COUNT. Arrays hold them one after the other: numbers
 * i @NAME@_INPUTS .. (i + 1) @NAME@_INPUTS - 1 of lower and upper are box i, and so on. statuses: count
 * of them: what the call for box i alone would have returned. What is wrong with one box does not
 * keep the others from being computed: outputs of the boxes with BF_OK are written, and no others.
 * Returned is BF_OK when all boxes have it, else the status of the first that has not; or, before
 * anything is written, what is wrong with the other arguments.@together@
 * workspace: @NAME@_BATCH_WORKSPACE_BYTES bytes aligned to @NAME@_WORKSPACE_ALIGN. */
#define @NAME@_BATCH @boxes@
#define @NAME@_BATCH_WORKSPACE_BYTES @bytes@

)";

constexpr std::string_view kByTurns = R"(  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {
    statuses[i] = @name@_@function@(lower + i * @NAME@_INPUTS, upper + i * @NAME@_INPUTS,
                          out_lower + i * @NAME@_@OUTPUTS@, out_upper + i * @NAME@_@OUTPUTS@,
                          workspace, workspace_bytes);
    if (first == BF_OK) first = statuses[i];
  }
  return first;
)";

constexpr std::string_view kVerifyByTurns = R"(  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {
    statuses[i] = @name@_verify(lower + i * @NAME@_INPUTS, upper + i * @NAME@_INPUTS, results + i,
                             workspace, workspace_bytes);
    if (first == BF_OK) first = statuses[i];
  }
  return first;
)";

constexpr std::string_view kVerifyTogether =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, @NAME@_INPUTS, statuses@reach@);
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {
    return @name@_spec_bounds(low, high, row_low, row_high, workspace, @NAME@_WORKSPACE_BYTES);
  };
  const auto together = [workspace](std::size_t parts, const float* low, const float* high,
                                    float* row_low, float* row_high, bf_status* part_statuses) {
    return @name@_spec_bounds_batch(parts, low, high, row_low, row_high, part_statuses, workspace,
                                 @NAME@_BATCH_WORKSPACE_BYTES);
  };
  if (const bf_status status =
          bf::verify_boxes(property::tables, count, lower, upper, results, statuses,
                           at<float>(workspace, @NAME@_BATCH_WORKSPACE_BYTES), together, bounds))
    return status;
  return first;
)";

}  // namespace

std::string batch_section(const Plan& plan, const HeaderBytes& bytes) {
  const std::string groups =
      plan.batch.side_by_side == 1
          ? ""
          : fmt::format("\n * Boxes are computed {} at a time.", plan.batch.side_by_side);
  return fill_in(kBatchHeader.substr(1),
                 {{"boxes", plan.config.batch}, {"bytes", bytes.batch}, {"together", groups}},
                 names_of(plan));
}

std::string batch_includes(const Plan& plan) {
  return plan.batch.side_by_side == 1 ? "" : "#include \"bf/dense/boxes.h\"\n";
}

FunctionBody batch_bounds_body(const Plan& plan, const ExportedFunction& function,
                               const calls::Bodies& bodies) {
  const Arguments names = names_of(plan);
  if (!function.entry) {
    Signature one = function.signature;
    one.batch = false;
    return {fill_in(kByTurns,
                    {{"function", suffix_of(one)}, {"OUTPUTS", one.spec ? "SPEC_ROWS" : "OUTPUTS"}},
                    names),
            {}};
  }
  const Entry& entry = *plan.find_entry(*function.entry);
  const std::string first = fill_in(
      "  const bf_status first = bf::check_boxes(count, lower, upper, @NAME@_INPUTS, "
      "statuses@reach@);\n\n",
      {}, names);
  const std::string steps = bodies.of(entry);
  if (!has_workers(plan)) return {first + steps + "  return first;\n", {}};
  return {first +
              fmt::format("  bf::BoxGroup<{}> group = {{}};\n"
                          "  while (bf::next_group(group, count, statuses))\n  ",
                          entry.boxes) +
              emit_steps_call(plan, entry, "workspace") + "  return first;\n",
          emit_steps_function(plan, entry, steps)};
}

FunctionBody batch_verify_body(const Plan& plan) {
  return {
      fill_in(plan.batch.side_by_side == 1 ? kVerifyByTurns : kVerifyTogether, {}, names_of(plan)),
      {}};
}

}  // namespace bf_aot::emit
