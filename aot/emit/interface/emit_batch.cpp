#include "aot/emit/interface/emit_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "aot/emit/interface/emit_parallel.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"

// Entry points of several boxes: a loop around those of one box, or entries of the plan that
// compute groups of boxes side by side.

namespace bf_aot::emit {
namespace {

constexpr const char* kBatchHeader = R"(
/* ---- several boxes in a call
 *
 * count: 1 to {0}_BATCH boxes, else BF_BAD_COUNT. Arrays hold them one after the other: numbers
 * i {0}_INPUTS .. (i + 1) {0}_INPUTS - 1 of lower and upper are box i, and so on. statuses: count
 * of them: what the call for box i alone would have returned. What is wrong with one box does not
 * keep the others from being computed: outputs of the boxes with BF_OK are written, and no others.
 * Returned is BF_OK when all boxes have it, else the status of the first that has not; or, before
 * anything is written, what is wrong with the other arguments.{4}
 * workspace: {0}_BATCH_WORKSPACE_BYTES bytes aligned to {0}_WORKSPACE_ALIGN. */
#define {0}_BATCH {2}
#define {0}_BATCH_WORKSPACE_BYTES {3}

)";

// {0} name, {1} upper-case name, {2} entry, {3} outputs of a box.
constexpr const char* kByTurns = R"(  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {{
    statuses[i] = {0}_{2}(lower + i * {1}_INPUTS, upper + i * {1}_INPUTS,
                          out_lower + i * {3}, out_upper + i * {3},
                          workspace, workspace_bytes);
    if (first == BF_OK) first = statuses[i];
  }}
  return first;
)";

constexpr const char* kVerifyByTurns = R"(  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {{
    statuses[i] = {0}_verify(lower + i * {1}_INPUTS, upper + i * {1}_INPUTS, results + i,
                             workspace, workspace_bytes);
    if (first == BF_OK) first = statuses[i];
  }}
  return first;
)";

constexpr const char* kVerifyTogether =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, {1}_INPUTS, statuses{reach});
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {{
    return {0}_spec_bounds(low, high, row_low, row_high, workspace, {1}_WORKSPACE_BYTES);
  }};
  const auto together = [workspace](std::size_t parts, const float* low, const float* high,
                                    float* row_low, float* row_high, bf_status* part_statuses) {{
    return {0}_spec_bounds_batch(parts, low, high, row_low, row_high, part_statuses, workspace,
                                 {1}_BATCH_WORKSPACE_BYTES);
  }};
  if (const bf_status status =
          bf::verify_boxes(property::tables, count, lower, upper, results, statuses,
                           at<float>(workspace, {1}_BATCH_WORKSPACE_BYTES), together, bounds))
    return status;
  return first;
)";

}  // namespace

std::string batch_section(const Plan& plan, const HeaderBytes& bytes) {
  const std::string groups =
      plan.batch.side_by_side == 1
          ? ""
          : fmt::format("\n * Boxes are computed {} at a time.", plan.batch.side_by_side);
  return fmt::format(fmt::runtime(kBatchHeader + 1), upper_case(plan.name), plan.name,
                     plan.config.batch, bytes.batch, groups);
}

std::string batch_includes(const Plan& plan) {
  return plan.batch.side_by_side == 1 ? "" : "#include \"bf/dense/boxes.h\"\n";
}

FunctionBody batch_bounds_body(const Plan& plan, const ExportedFunction& function,
                               const calls::Bodies& bodies) {
  const std::string upper = upper_case(plan.name);
  if (!function.entry) {
    Signature one = function.signature;
    one.batch = false;
    return {fmt::format(fmt::runtime(kByTurns), plan.name, upper, suffix_of(one),
                        upper + (one.spec ? "_SPEC_ROWS" : "_OUTPUTS")),
            {}};
  }
  const Entry& entry = *plan.find_entry(*function.entry);
  const std::string first = fmt::format(
      "  const bf_status first = bf::check_boxes(count, lower, upper, {}_INPUTS, "
      "statuses{reach});\n\n",
      upper, fmt::arg("reach", reach_argument(plan)));
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
  const char* const how = plan.batch.side_by_side == 1 ? kVerifyByTurns : kVerifyTogether;
  return {fmt::format(fmt::runtime(how), plan.name, upper_case(plan.name),
                      fmt::arg("reach", reach_argument(plan))),
          {}};
}

}  // namespace bf_aot::emit
