#include "aot/emit/interface/emit_parallel.h"

#include <fmt/format.h>

#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"

namespace bf_aot::emit {
namespace {

// {0} upper-case name, {1} name, {2} workers, {3} bytes of a worker, {4} bytes with all.
constexpr const char* kParallelHead = R"(
/* ---- work of a call shared by several workers
 *
 * executor: the caller's threads, see bf_executor in bf.h. Null: the caller alone. More workers
 * than {0}_PARALLEL: so many of them. Without run or workers: BF_BAD_EXECUTOR. Results are those
 * of the plain functions, to the bit, for any executor and any number of workers.
 * workspace: {0}_WORKSPACE_BYTES, and {0}_WORKER_BYTES more for each worker but the first;
 * {0}_PARALLEL_WORKSPACE_BYTES for all. */
#define {0}_PARALLEL {2}
#define {0}_WORKER_BYTES {3}
#define {0}_PARALLEL_WORKSPACE_BYTES {4}

)";

constexpr const char* kVerifyHelper =
    R"(BF_ONE_COPY static bf_status {0}_verify_with(const float* lower, const float* upper,
    bf_result* result, void* workspace, std::size_t bytes, const bf_executor* executor) {{
  const auto bounds = [workspace, bytes, executor](const float* low, const float* high,
                                                   float* row_low, float* row_high) {{
    return {0}_spec_bounds_parallel(low, high, row_low, row_high, workspace, bytes, executor);
  }};
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, bytes), bounds);
}}

)";

constexpr const char* kVerify =
    R"(  const std::size_t more = (team.workers - 1) * {1}_WORKER_BYTES;
  if (const bf_status status = bf::check_box(lower, upper, {1}_INPUTS{reach})) return status;
  return {0}_verify_with(lower, upper, result, workspace, {1}_WORKSPACE_BYTES + more, executor);
)";

// {0} call for box i in `own`, {1} bytes of a worker.
constexpr const char* kBoxes = R"(  const auto box = [&](int index, unsigned char* own) {{
    const auto i = static_cast<std::size_t>(index);
    statuses[i] = {0};
  }};
  const bf::Scratch scratch = {{static_cast<unsigned char*>(workspace), {1}}};
  if (const bf_status status = bf::run_tiles(team, scratch, static_cast<int>(count), box))
    return bf::fail_boxes(status, 0, count, statuses);
  return bf::first_failure(count, statuses);
)";

// Fewer boxes than workers: these share the rows of one box after the other.
constexpr const char* kTurns = R"(  if (count < team.workers) {{
    for (std::size_t i = 0; i < count; ++i) {{
      statuses[i] = {0};
      if (statuses[i] == BF_BAD_EXECUTOR || statuses[i] == BF_FLOAT_ENVIRONMENT)
        return bf::fail_boxes(statuses[i], i, count, statuses);
    }}
    return bf::first_failure(count, statuses);
  }}
)";

// {0} name, {1} upper-case name, {2} entry, {3} boxes of a group.
constexpr const char* kGroups =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, {1}_INPUTS, statuses{reach});
  const auto group_of_boxes = [&](int index, unsigned char* own) {{
    bf::BoxGroup<{3}> group;
    bf::find_group(group, index, count, statuses);
    {0}_{2}_group(group, lower, upper, out_lower, out_upper, own);
  }};
  const bf::Scratch scratch = {{static_cast<unsigned char*>(workspace),
                               {1}_BATCH_WORKSPACE_BYTES}};
  const int groups = bf::count_groups<{3}>(count, statuses);
  if (const bf_status status = bf::run_tiles(team, scratch, groups, group_of_boxes))
    return bf::fail_boxes(status, 0, count, statuses);
  return first;
)";

constexpr const char* kVerifyGroups =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, {1}_INPUTS, statuses{reach});
  const std::size_t bytes = team.workers * {1}_BATCH_WORKSPACE_BYTES;
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {{
    return {0}_spec_bounds(low, high, row_low, row_high, workspace, {1}_WORKSPACE_BYTES);
  }};
  const auto together = [workspace, bytes, executor](std::size_t parts, const float* low,
      const float* high, float* row_low, float* row_high, bf_status* part_statuses) {{
    return {0}_spec_bounds_batch_parallel(parts, low, high, row_low, row_high, part_statuses,
                                          workspace, bytes, executor);
  }};
  if (const bf_status status =
          bf::verify_boxes(property::tables, count, lower, upper, results, statuses,
                           at<float>(workspace, bytes), together, bounds))
    return status;
  return first;
)";

bool side_by_side(const Plan& plan) {
  return plan.batch.side_by_side > 1;
}

// The size of a box's results in the caller's arrays: "NAME_OUTPUTS".
std::string outputs_of(const Plan& plan, bool spec) {
  return upper_case(plan.name) + (spec ? "_SPEC_ROWS" : "_OUTPUTS");
}

std::string one_box(const Plan& plan, const std::string& entry, const std::string& results,
                    const std::string& rest) {
  return fmt::format("{0}_{2}(lower + i * {1}_INPUTS,\n        upper + i * {1}_INPUTS, {3}, {4})",
                     plan.name, upper_case(plan.name), entry, results, rest);
}

// Boxes by turns.
std::string boxes(const Plan& plan, const std::string& entry, const std::string& results,
                  const std::string& bytes) {
  std::string text;
  if (shares_rows(plan))
    text += fmt::format(fmt::runtime(kTurns), one_box(plan, entry + "_parallel", results,
                                                      "workspace, workspace_bytes, executor"));
  return text +
         fmt::format(fmt::runtime(kBoxes), one_box(plan, entry, results, "own, " + bytes), bytes);
}

}  // namespace

bool has_workers(const Plan& plan) {
  return plan.config.workers > 1;
}

bool shares_rows(const Plan& plan) {
  return plan.parallel.workers > 1;
}

std::string parallel_includes(const Plan& plan) {
  return has_workers(plan) ? "#include \"bf/core/parallel.h\"\n" : "";
}

std::string parallel_section(const Plan& plan) {
  const std::string text =
      fmt::format(fmt::runtime(kParallelHead + 1), upper_case(plan.name), plan.name,
                  plan.config.workers, plan.worker_bytes(), plan.parallel_bytes());
  return shares_rows(plan) ? text : text + "/* " + plan.parallel.reason + ". */\n\n";
}

std::string what_is_shared(const Plan& plan) {
  if (side_by_side(plan))
    return fmt::format("groups of {} boxes are shared", plan.batch.side_by_side);
  if (shares_rows(plan))
    return "boxes are shared, or with fewer of them than workers the rows of each";
  return "boxes are shared";
}

std::string emit_steps_function(const Plan& plan, const Entry& entry, const std::string& steps) {
  if (is_batch(entry.kind)) {
    const std::string bounds = is_spec(entry.kind) ? "spec_bounds" : "bounds";
    return fmt::format(
        "BF_ONE_COPY static void {}_{}_group(const bf::BoxGroup<{}>& group, const float* lower,\n"
        "    const float* upper, float* out_lower, float* out_upper, void* workspace) {{\n{}}}\n\n",
        plan.name, bounds, entry.boxes, steps);
  }
  return fmt::format(
      "BF_ONE_COPY static bf_status {}_{}_steps(const float* lower, const float* upper,\n"
      "    float* out_lower, float* out_upper, void* workspace{}) {{\n{}  return BF_OK;\n}}\n\n",
      plan.name, to_string(entry.kind), entry.workers > 1 ? ", const bf::Team& team" : "", steps);
}

std::string emit_steps_call(const Plan& plan, const Entry& entry, const std::string& team) {
  if (is_batch(entry.kind))
    return fmt::format("  {}_{}_group(group, lower, upper, out_lower, out_upper, {});\n", plan.name,
                       is_spec(entry.kind) ? "spec_bounds" : "bounds", team);
  return fmt::format("  return {}_{}_steps(lower, upper, out_lower, out_upper, workspace{});\n",
                     plan.name, to_string(entry.kind), entry.workers > 1 ? ", " + team : "");
}

FunctionBody parallel_verify_body(const Plan& plan) {
  const std::string upper = upper_case(plan.name);
  return {
      fmt::format(fmt::runtime(kVerify), plan.name, upper, fmt::arg("reach", reach_argument(plan))),
      fmt::format(fmt::runtime(kVerifyHelper), plan.name)};
}

FunctionBody parallel_batch_body(const Plan& plan, const ExportedFunction& function) {
  const std::string upper = upper_case(plan.name);
  const std::string bytes = upper + "_" + function.workspace.worker_macro;
  Signature one = function.signature;
  one.batch = one.parallel = false;
  const bool verify = one.purpose == Purpose::kVerify;
  if (side_by_side(plan))
    return {fmt::format(fmt::runtime(verify ? kVerifyGroups : kGroups), plan.name, upper,
                        suffix_of(one), plan.batch.side_by_side,
                        fmt::arg("reach", reach_argument(plan))),
            {}};
  const std::string results =
      verify ? "results + i"
             : fmt::format("out_lower + i * {0}, out_upper + i * {0}", outputs_of(plan, one.spec));
  return {boxes(plan, suffix_of(one), results, bytes), {}};
}

}  // namespace bf_aot::emit
