#include "aot/interface/emit_parallel.h"

#include <fmt/format.h>

namespace bf_aot {
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

constexpr const char* kRows = R"(/* {0}_bounds; tiles of backward rows are shared. */
bf_status {0}_bounds_parallel(const float *lower, const float *upper, float *out_lower,
                              float *out_upper, void *workspace, size_t workspace_bytes,
                              const bf_executor *executor);

)";

constexpr const char* kSpecRows = R"(/* {0}_spec_bounds. */
bf_status {0}_spec_bounds_parallel(const float *lower, const float *upper, float *spec_lower,
                                   float *spec_upper, void *workspace, size_t workspace_bytes,
                                   const bf_executor *executor);

)";

constexpr const char* kVerifyParallel = R"(/* {1}_verify: as much more workspace for each worker. */
bf_status {1}_verify_parallel(const float *lower, const float *upper, bf_result *result,
                              void *workspace, size_t workspace_bytes,
                              const bf_executor *executor);

)";

// {0} name, {1} upper-case name, {2} what is shared, {3} workers, {4} bytes with all workers.
constexpr const char* kBatch = R"(/* {0}_bounds_batch; {2}.
 * workspace: {1}_BATCH_WORKSPACE_BYTES for each worker. */
#define {1}_BATCH_PARALLEL_WORKSPACE_BYTES {4}
bf_status {0}_bounds_batch_parallel(size_t count, const float *lower, const float *upper,
                                    float *out_lower, float *out_upper, bf_status *statuses,
                                    void *workspace, size_t workspace_bytes,
                                    const bf_executor *executor);

)";

constexpr const char* kBatchSpec = R"(/* {0}_spec_bounds_batch. */
bf_status {0}_spec_bounds_batch_parallel(size_t count, const float *lower, const float *upper,
                                         float *spec_lower, float *spec_upper,
                                         bf_status *statuses, void *workspace,
                                         size_t workspace_bytes, const bf_executor *executor);

)";

constexpr const char* kBatchVerify =
    R"(/* {0}_verify_batch. workspace: {1}_VERIFY_BATCH_WORKSPACE_BYTES for each worker. */
bf_status {0}_verify_batch_parallel(size_t count, const float *lower, const float *upper,
                                    bf_result *results, bf_status *statuses, void *workspace,
                                    size_t workspace_bytes, const bf_executor *executor);

)";

// {0} name, {1} upper-case name, {2} entry.
constexpr const char* kParallelFunction = R"(bf_status {0}_{2}_parallel(const float* lower,
    const float* upper, float* out_lower, float* out_upper, void* workspace,
    std::size_t workspace_bytes, const bf_executor* executor) {{
  if (lower == nullptr || upper == nullptr || out_lower == nullptr || out_upper == nullptr)
    return BF_NULL_ARGUMENT;
  bf::Team team;
  if (const bf_status status = bf::gather_team(executor, {1}_PARALLEL, team)) return status;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
          {1}_WORKSPACE_BYTES + (team.workers - 1) * {1}_WORKER_BYTES, {1}_WORKSPACE_ALIGN))
    return status;
)";

constexpr const char* kVerifyFunctions =
    R"(BF_ONE_COPY static bf_status {0}_verify_with(const float* lower, const float* upper,
    bf_result* result, void* workspace, std::size_t bytes, const bf_executor* executor) {{
  const auto bounds = [workspace, bytes, executor](const float* low, const float* high,
                                                   float* row_low, float* row_high) {{
    return {0}_spec_bounds_parallel(low, high, row_low, row_high, workspace, bytes, executor);
  }};
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, bytes), bounds);
}}

bf_status {0}_verify_parallel(const float* lower, const float* upper, bf_result* result,
    void* workspace, std::size_t workspace_bytes, const bf_executor* executor) {{
  if (lower == nullptr || upper == nullptr || result == nullptr) return BF_NULL_ARGUMENT;
  bf::Team team;
  if (const bf_status status = bf::gather_team(executor, {1}_PARALLEL, team)) return status;
  const std::size_t more = (team.workers - 1) * {1}_WORKER_BYTES;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
          {1}_VERIFY_WORKSPACE_BYTES + more, {1}_WORKSPACE_ALIGN))
    return status;
  if (const bf_status status = bf::check_box(lower, upper, {1}_INPUTS)) return status;
  return {0}_verify_with(lower, upper, result, workspace, {1}_WORKSPACE_BYTES + more, executor);
}}

bf_status {0}_verify(const float* lower, const float* upper, bf_result* result,
    void* workspace, std::size_t workspace_bytes) {{
  return {0}_verify_parallel(lower, upper, result, workspace, workspace_bytes, nullptr);
}}

)";

// The head of a function of several boxes. {0} name, {1} upper-case name, {2} entry, {3} types and
// names of results, {4} the same compared with null, {5} bytes of a worker.
constexpr const char* kBatchHead = R"(bf_status {0}_{2}_batch_parallel(std::size_t count,
    const float* lower, const float* upper, {3}, bf_status* statuses,
    void* workspace, std::size_t workspace_bytes, const bf_executor* executor) {{
  if (lower == nullptr || upper == nullptr || {4}
      || statuses == nullptr) return BF_NULL_ARGUMENT;
  if (count == 0 || count > {1}_BATCH) return BF_BAD_COUNT;
  bf::Team team;
  if (const bf_status status = bf::gather_team(executor, {1}_PARALLEL, team)) return status;
  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,
          team.workers * {5}, {1}_WORKSPACE_ALIGN))
    return status;
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
}}

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
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, {1}_INPUTS, statuses);
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
}}

)";

constexpr const char* kVerifyGroups =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, {1}_INPUTS, statuses);
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
}}

)";

constexpr const char* kVerifyAlone =
    R"(bf_status {0}_verify_batch(std::size_t count, const float* lower, const float* upper,
    bf_result* results, bf_status* statuses, void* workspace, std::size_t workspace_bytes) {{
  return {0}_verify_batch_parallel(count, lower, upper, results, statuses, workspace,
                                   workspace_bytes, nullptr);
}}

)";

bool side_by_side(const Plan& plan) {
  return plan.batch.side_by_side > 1;
}

// "NAME_OUTPUTS": numbers of a box in the caller's arrays.
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

std::string batch_function(const Plan& plan, bool spec) {
  const std::string upper = upper_case(plan.name);
  const std::string entry = spec ? "spec_bounds" : "bounds";
  const std::string bytes = upper + "_BATCH_WORKSPACE_BYTES";
  const std::string text = fmt::format(fmt::runtime(kBatchHead), plan.name, upper, entry,
                                       "float* out_lower, float* out_upper",
                                       "out_lower == nullptr || out_upper == nullptr", bytes);
  if (side_by_side(plan))
    return text +
           fmt::format(fmt::runtime(kGroups), plan.name, upper, entry, plan.batch.side_by_side);
  const std::string outputs = outputs_of(plan, spec);
  return text + boxes(plan, entry, fmt::format("out_lower + i * {0}, out_upper + i * {0}", outputs),
                      bytes);
}

std::string verify_batch_function(const Plan& plan) {
  const std::string upper = upper_case(plan.name);
  const std::string bytes = upper + "_VERIFY_BATCH_WORKSPACE_BYTES";
  const std::string text = fmt::format(fmt::runtime(kBatchHead), plan.name, upper, "verify",
                                       "bf_result* results", "results == nullptr", bytes);
  const std::string body = side_by_side(plan)
                               ? fmt::format(fmt::runtime(kVerifyGroups), plan.name, upper)
                               : boxes(plan, "verify", "results + i", bytes);
  return text + body + fmt::format(fmt::runtime(kVerifyAlone), plan.name);
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

std::string emit_parallel_declarations(const Plan& plan, const Property* property) {
  if (!has_workers(plan)) return {};
  const std::string upper = upper_case(plan.name);
  std::string text = fmt::format(fmt::runtime(kParallelHead + 1), upper, plan.name,
                                 plan.config.workers, plan.worker_bytes(), plan.parallel_bytes());
  if (!shares_rows(plan)) return text + "/* " + plan.parallel.reason + ". */\n\n";
  text += fmt::format(fmt::runtime(kRows), plan.name);
  if (plan.spec_rows > 0) text += fmt::format(fmt::runtime(kSpecRows), plan.name);
  if (property != nullptr) text += fmt::format(fmt::runtime(kVerifyParallel), upper, plan.name);
  return text;
}

std::string emit_parallel_batch_declarations(const Plan& plan, const Property* property) {
  if (!has_workers(plan) || plan.config.batch == 1) return {};
  const std::string upper = upper_case(plan.name);
  std::string shared = "boxes are shared";
  if (side_by_side(plan))
    shared = fmt::format("groups of {} boxes are shared", plan.batch.side_by_side);
  else if (shares_rows(plan))
    shared = "boxes are shared, or with fewer of them than workers the rows of each";
  std::string text = fmt::format(fmt::runtime(kBatch), plan.name, upper, shared,
                                 plan.config.workers, plan.config.workers * plan.batch_bytes());
  if (plan.spec_rows > 0) text += fmt::format(fmt::runtime(kBatchSpec), plan.name);
  if (property != nullptr) text += fmt::format(fmt::runtime(kBatchVerify), plan.name, upper);
  return text;
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
  return fmt::format(
      "  return {}_{}_steps(lower, upper, out_lower, out_upper, workspace{});\n}}\n\n", plan.name,
      to_string(entry.kind), entry.workers > 1 ? ", " + team : "");
}

std::string emit_parallel_function(const Plan& plan, const Entry& entry,
                                   const std::string& checks) {
  if (!shares_rows(plan)) return {};
  return fmt::format(fmt::runtime(kParallelFunction), plan.name, upper_case(plan.name),
                     to_string(entry.kind)) +
         checks + emit_steps_call(plan, entry, "team");
}

std::string emit_parallel_verify(const Plan& plan) {
  if (!shares_rows(plan)) return {};
  return fmt::format(fmt::runtime(kVerifyFunctions), plan.name, upper_case(plan.name));
}

std::string emit_parallel_batch_functions(const Plan& plan, const Property* property) {
  if (!has_workers(plan) || plan.config.batch == 1) return {};
  std::string text = batch_function(plan, false);
  if (plan.spec_rows > 0) text += batch_function(plan, true);
  if (property != nullptr) text += verify_batch_function(plan);
  return text;
}

}  // namespace bf_aot
