#include "aot/interface/emit_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "aot/interface/emit_parallel.h"
#include "frontend/diagnostic.h"
#include "planner/entries/keep_coefficients.h"
#include "runtime/bf/contract/workspace.h"

// Entry points of several boxes: a loop around those of one box, or entries of the plan that
// compute groups of boxes side by side.

namespace bf_aot {
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

/* {1}_bounds of each box. */
bf_status {1}_bounds_batch(size_t count, const float *lower, const float *upper, float *out_lower,
                           float *out_upper, bf_status *statuses, void *workspace,
                           size_t workspace_bytes);

)";

constexpr const char* kSpec = R"(/* {0}_spec_bounds of each box: {1} rows for each. */
bf_status {0}_spec_bounds_batch(size_t count, const float *lower, const float *upper,
                                float *spec_lower, float *spec_upper, bf_status *statuses,
                                void *workspace, size_t workspace_bytes);

)";

constexpr const char* kVerifyBatch = R"(/* {0}_verify of each box. */
#define {1}_VERIFY_BATCH_WORKSPACE_BYTES ({1}_BATCH_WORKSPACE_BYTES + {2})
bf_status {0}_verify_batch(size_t count, const float *lower, const float *upper,
                           bf_result *results, bf_status *statuses, void *workspace,
                           size_t workspace_bytes);

)";

// {0} name, {1} upper-case name, {2} entry, {3} outputs of a box; of the head {3} another
// parameter.
constexpr const char* kBoundsHead =
    R"(bf_status {0}_{2}_batch(std::size_t count, const float* lower, const float* upper,
    float* out_lower, float* out_upper,{3} bf_status* statuses, void* workspace,
    std::size_t workspace_bytes) {{
  if (lower == nullptr || upper == nullptr || out_lower == nullptr || out_upper == nullptr
      || statuses == nullptr) return BF_NULL_ARGUMENT;
  if (count == 0 || count > {1}_BATCH) return BF_BAD_COUNT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   {1}_BATCH_WORKSPACE_BYTES,
                                                   {1}_WORKSPACE_ALIGN))
    return status;
)";

constexpr const char* kWithout =
    R"(bf_status {0}_spec_bounds_batch(std::size_t count, const float* lower, const float* upper,
    float* out_lower, float* out_upper, bf_status* statuses, void* workspace,
    std::size_t workspace_bytes) {{
  return {0}_spec_coefficients_batch(count, lower, upper, out_lower, out_upper, nullptr, statuses,
                                     workspace, workspace_bytes);
}}

)";

constexpr const char* kByTurns = R"(  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {{
    statuses[i] = {0}_{2}(lower + i * {1}_INPUTS, upper + i * {1}_INPUTS,
                          out_lower + i * {3}, out_upper + i * {3},
                          workspace, workspace_bytes);
    if (first == BF_OK) first = statuses[i];
  }}
  return first;
}}

)";

constexpr const char* kVerifyHead =
    R"(bf_status {0}_verify_batch(std::size_t count, const float* lower, const float* upper,
    bf_result* results, bf_status* statuses, void* workspace, std::size_t workspace_bytes) {{
  if (lower == nullptr || upper == nullptr || results == nullptr || statuses == nullptr)
    return BF_NULL_ARGUMENT;
  if (count == 0 || count > {1}_BATCH) return BF_BAD_COUNT;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
                                                   {1}_VERIFY_BATCH_WORKSPACE_BYTES,
                                                   {1}_WORKSPACE_ALIGN))
    return status;
)";

constexpr const char* kVerifyByTurns = R"(  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {{
    statuses[i] = {0}_verify(lower + i * {1}_INPUTS, upper + i * {1}_INPUTS, results + i,
                             workspace, workspace_bytes);
    if (first == BF_OK) first = statuses[i];
  }}
  return first;
}}

)";

constexpr const char* kVerifyTogether =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, {1}_INPUTS, statuses);
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
}}

)";

// What NAME_verify, or a batch of it, asks for besides the bounds' workspace.
std::int64_t verify_scratch_of_one(const Plan& plan) {
  const auto inputs = static_cast<std::size_t>(plan.input_count);
  const auto rows = static_cast<std::size_t>(std::max(plan.spec_rows, 1));
  return static_cast<std::int64_t>(
      plan.batch.side_by_side == 1
          ? bf::verify_bytes(inputs, rows)
          : bf::verify_boxes_bytes(inputs, rows, static_cast<std::size_t>(plan.config.batch)));
}

// Workspaces of several workers follow each other: each is aligned.
std::int64_t verify_scratch(const Plan& plan) {
  const std::int64_t bytes = verify_scratch_of_one(plan), align = plan.config.target.align;
  return has_workers(plan) ? (bytes + align - 1) / align * align : bytes;
}

std::string bounds_function(const Plan& plan, bool spec, const Instruments& instruments) {
  const std::string upper = upper_case(plan.name);
  const char* const kind = spec ? "spec_bounds" : "bounds";
  const char* const outputs = spec ? "_SPEC_ROWS" : "_OUTPUTS";
  const bool kept = spec && keeps_coefficients(plan) && plan.batch.side_by_side > 1;
  std::string text =
      fmt::format(fmt::runtime(kBoundsHead), plan.name, upper, kept ? "spec_coefficients" : kind,
                  kept ? " float* coefficients," : "");
  const Entry* const entry =
      plan.find_entry(spec ? EntryKind::kSpecBoundsBatch : EntryKind::kBoundsBatch);
  if (entry == nullptr)
    return text + fmt::format(fmt::runtime(kByTurns), plan.name, upper, kind, upper + outputs);
  text += fmt::format(
      "  const bf_status first = bf::check_boxes(count, lower, upper, {}_INPUTS, statuses);\n\n",
      upper);
  const std::string steps = emit_steps(plan, *entry, instruments);
  if (!has_workers(plan))
    return text + steps + "  return first;\n}\n\n" +
           (kept ? fmt::format(fmt::runtime(kWithout), plan.name) : "");
  return emit_steps_function(plan, *entry, steps) + text +
         fmt::format(
             "  bf::BoxGroup<{}> group = {{}};\n"
             "  while (bf::next_group(group, count, statuses))\n  ",
             entry->boxes) +
         emit_steps_call(plan, *entry, "workspace") + "  return first;\n}\n\n";
}

}  // namespace

std::string emit_batch_declarations(const Plan& plan, const Property* property) {
  if (plan.config.batch == 1) return {};
  const std::string upper = upper_case(plan.name);
  const std::string groups =
      plan.batch.side_by_side == 1
          ? ""
          : fmt::format("\n * Boxes are computed {} at a time.", plan.batch.side_by_side);
  std::string text = fmt::format(fmt::runtime(kBatchHeader + 1), upper, plan.name,
                                 plan.config.batch, plan.batch_bytes(), groups);
  if (plan.spec_rows > 0) text += fmt::format(fmt::runtime(kSpec), plan.name, plan.spec_rows);
  if (property != nullptr)
    text += fmt::format(fmt::runtime(kVerifyBatch), plan.name, upper, verify_scratch(plan));
  return text;
}

std::string batch_includes(const Plan& plan) {
  return plan.batch.side_by_side == 1 ? "" : "#include \"bf/dense/boxes.h\"\n";
}

std::string emit_batch_functions(const Plan& plan, const Property* property,
                                 const Instruments& instruments) {
  if (plan.config.batch == 1) return {};
  std::string text = bounds_function(plan, false, instruments);
  if (plan.spec_rows > 0) text += bounds_function(plan, true, instruments);
  if (property == nullptr || has_workers(plan)) return text;
  const std::string upper = upper_case(plan.name);
  text += fmt::format(fmt::runtime(kVerifyHead), plan.name, upper);
  const char* const how = plan.batch.side_by_side == 1 ? kVerifyByTurns : kVerifyTogether;
  return text + fmt::format(fmt::runtime(how), plan.name, upper);
}

}  // namespace bf_aot
