#include "aot/emit/interface/emit_parallel.h"

#include <fmt/format.h>

#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kParallelHead = R"(
/* ---- work of a call shared by several workers
 *
 * executor: the caller's threads, see bf_executor in bf.h. Null: the caller alone. More workers
 * than @NAME@_PARALLEL: so many of them. Without run or workers: BF_BAD_EXECUTOR. Results are those
 * of the plain functions, to the bit, for any executor and any number of workers.
 * workspace: @NAME@_WORKSPACE_BYTES, and @NAME@_WORKER_BYTES more for each worker but the first;
 * @NAME@_PARALLEL_WORKSPACE_BYTES for all. */
#define @NAME@_PARALLEL @workers@
#define @NAME@_WORKER_BYTES @worker_bytes@
#define @NAME@_PARALLEL_WORKSPACE_BYTES @all_bytes@

)";

constexpr std::string_view kVerifyHelper =
    R"(BF_ONE_COPY static bf_status @name@_verify_with(const float* lower, const float* upper,
    bf_result* result, void* workspace, std::size_t bytes, const bf_executor* executor) {
  const auto bounds = [workspace, bytes, executor](const float* low, const float* high,
                                                   float* row_low, float* row_high) {
    return @name@_spec_bounds_parallel(low, high, row_low, row_high, workspace, bytes, executor);
  };
  return bf::verify_property(property::tables, lower, upper, result,
                             at<float>(workspace, bytes), bounds);
}

)";

constexpr std::string_view kParallelVerify =
    R"(  const std::size_t more = (team.workers - 1) * @NAME@_WORKER_BYTES;
  if (const bf_status status = bf::check_box(lower, upper, @NAME@_INPUTS@reach@)) return status;
  return @name@_verify_with(lower, upper, result, workspace, @NAME@_WORKSPACE_BYTES + more, executor);
)";

// The call is for box i in `own`.
constexpr std::string_view kBoxes = R"(  const auto box = [&](int index, unsigned char* own) {
    const auto i = static_cast<std::size_t>(index);
    statuses[i] = @call@;
  };
  const bf::Scratch scratch = {static_cast<unsigned char*>(workspace), @BYTES@};
  if (const bf_status status = bf::run_tiles(team, scratch, static_cast<int>(count), box))
    return bf::fail_boxes(status, 0, count, statuses);
  return bf::first_failure(count, statuses);
)";

// Fewer boxes than workers: these share the rows of one box after the other.
constexpr std::string_view kTurns = R"(  if (count < team.workers) {
    for (std::size_t i = 0; i < count; ++i) {
      statuses[i] = @call@;
      if (statuses[i] == BF_BAD_EXECUTOR || statuses[i] == BF_FLOAT_ENVIRONMENT)
        return bf::fail_boxes(statuses[i], i, count, statuses);
    }
    return bf::first_failure(count, statuses);
  }
)";

constexpr std::string_view kGroups =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, @NAME@_INPUTS, statuses@reach@);
  const auto group_of_boxes = [&](int index, unsigned char* own) {
    bf::BoxGroup<@boxes@> group;
    bf::find_group(group, index, count, statuses);
    @name@_@function@_group(group, lower, upper, out_lower, out_upper, own);
  };
  const bf::Scratch scratch = {static_cast<unsigned char*>(workspace),
                               @NAME@_BATCH_WORKSPACE_BYTES};
  const int groups = bf::count_groups<@boxes@>(count, statuses);
  if (const bf_status status = bf::run_tiles(team, scratch, groups, group_of_boxes))
    return bf::fail_boxes(status, 0, count, statuses);
  return first;
)";

constexpr std::string_view kVerifyGroups =
    R"(  const bf_status first = bf::check_boxes(count, lower, upper, @NAME@_INPUTS, statuses@reach@);
  const std::size_t bytes = team.workers * @NAME@_BATCH_WORKSPACE_BYTES;
  const auto bounds = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {
    return @name@_spec_bounds(low, high, row_low, row_high, workspace, @NAME@_WORKSPACE_BYTES);
  };
  const auto together = [workspace, bytes, executor](std::size_t parts, const float* low,
      const float* high, float* row_low, float* row_high, bf_status* part_statuses) {
    return @name@_spec_bounds_batch_parallel(parts, low, high, row_low, row_high, part_statuses,
                                          workspace, bytes, executor);
  };
  if (const bf_status status =
          bf::verify_boxes(property::tables, count, lower, upper, results, statuses,
                           at<float>(workspace, bytes), together, bounds))
    return status;
  return first;
)";

constexpr std::string_view kGroupFunction =
    R"(BF_ONE_COPY static void @name@_@bounds@_group(const bf::BoxGroup<@boxes@>& group, const float* lower,
    const float* upper, float* out_lower, float* out_upper, void* workspace) {
@steps@}

)";

constexpr std::string_view kStepsFunction =
    R"(BF_ONE_COPY static bf_status @name@_@entry@_steps(const float* lower, const float* upper,
    float* out_lower, float* out_upper, void* workspace@team@) {
@steps@  return BF_OK;
}

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
  return fill_in(
      "@name@_@entry@(lower + i * @NAME@_INPUTS,\n"
      "        upper + i * @NAME@_INPUTS, @results@, @rest@)",
      {{"entry", entry}, {"results", results}, {"rest", rest}}, names_of(plan));
}

// Boxes by turns.
std::string boxes(const Plan& plan, const std::string& entry, const std::string& results,
                  const std::string& bytes) {
  std::string text;
  if (shares_rows(plan))
    text += fill_in(kTurns, {{"call", one_box(plan, entry + "_parallel", results,
                                              "workspace, workspace_bytes, executor")}});
  return text + fill_in(kBoxes, {{"call", one_box(plan, entry, results, "own, " + bytes)},
                                 {"BYTES", bytes}});
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

std::string parallel_section(const Plan& plan, const HeaderBytes& bytes) {
  const std::string text = fill_in(kParallelHead.substr(1),
                                   {{"workers", plan.config.workers},
                                    {"worker_bytes", bytes.worker},
                                    {"all_bytes", bytes.parallel}},
                                   names_of(plan));
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
    return fill_in(kGroupFunction, {{"bounds", bounds}, {"boxes", entry.boxes}, {"steps", steps}},
                   names_of(plan));
  }
  return fill_in(kStepsFunction,
                 {{"entry", to_string(entry.kind)},
                  {"team", entry.workers > 1 ? ", const bf::Team& team" : ""},
                  {"steps", steps}},
                 names_of(plan));
}

std::string emit_steps_call(const Plan& plan, const Entry& entry, const std::string& team) {
  if (is_batch(entry.kind))
    return fmt::format("  {}_{}_group(group, lower, upper, out_lower, out_upper, {});\n", plan.name,
                       is_spec(entry.kind) ? "spec_bounds" : "bounds", team);
  return fmt::format("  return {}_{}_steps(lower, upper, out_lower, out_upper, workspace{});\n",
                     plan.name, to_string(entry.kind), entry.workers > 1 ? ", " + team : "");
}

FunctionBody parallel_verify_body(const Plan& plan) {
  const Arguments names = names_of(plan);
  return {fill_in(kParallelVerify, {}, names), fill_in(kVerifyHelper, {}, names)};
}

FunctionBody parallel_batch_body(const Plan& plan, const ExportedFunction& function) {
  const std::string bytes = upper_case(plan.name) + "_" + function.workspace.worker_macro;
  Signature one = function.signature;
  one.batch = one.parallel = false;
  const bool verify = one.purpose == Purpose::kVerify;
  if (side_by_side(plan))
    return {verify ? fill_in(kVerifyGroups, {}, names_of(plan))
                   : fill_in(kGroups,
                             {{"function", suffix_of(one)}, {"boxes", plan.batch.side_by_side}},
                             names_of(plan)),
            {}};
  const std::string results =
      verify ? "results + i"
             : fmt::format("out_lower + i * {0}, out_upper + i * {0}", outputs_of(plan, one.spec));
  return {boxes(plan, suffix_of(one), results, bytes), {}};
}

}  // namespace bf_aot::emit
