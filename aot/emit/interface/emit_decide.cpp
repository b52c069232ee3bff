#include "aot/emit/interface/emit_decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/emit_neurons.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
#include "planner/entries/keep_coefficients.h"

namespace bf_aot::emit {
namespace {

// {0} upper-case name, {1} name, {2} property, {3} bounds' workspace, {4} bytes on top of it,
// {5} open boxes, {6} bytes of one.
constexpr const char* kDeclarations =
    R"(/* Decides the property {2} on a box by branch and bound: as {1}_verify, but boxes that are
 * undecided are split in two, over and over. BF_BUDGET: `budget` is spent, or more than {5} boxes
 * are open at a time; {0}_OPEN_BOX_BYTES more of workspace is room for one more.
 * BF_UNKNOWN: a box that no float divides is left. budget: see bf.h; null: no limit. search: null,
 * or where to write how far the search came. The same result on every run. */
#define {0}_OPEN_BOX_BYTES {6}
#define {0}_DECIDE_WORKSPACE_BYTES ({0}_{3} + {4})
)";

// {0} name, {1} upper-case name, {2} boxes in a round, {3} how to bound them, {4} bounds'
// workspace, {5} split weights, {6} rows, {7} whether there are coefficients.
constexpr const char* kDecide =
    R"(  if (const bf_status status = bf::check_box(lower, upper, {1}_INPUTS{reach})) return status;

  static_assert({1}_OPEN_BOX_BYTES == bf::open_box_bytes({1}_INPUTS)
                    && {1}_DECIDE_WORKSPACE_BYTES - {1}_{4}
                           > bf::round_bytes({1}_INPUTS, {6}, {2}, {7}) + 2 * {1}_OPEN_BOX_BYTES,
                "the workspace is of another version");
{3}  return bf::decide_property(property::tables, {5}, {7}, lower, upper, {2}, budget,
                             result, search, at<float>(workspace, {1}_{4}),
                             workspace_bytes - {1}_{4}, together);
)";

constexpr const char* kTogether =
    R"(  const auto together = [workspace](std::size_t count, const float* low, const float* high,
                                    float* row_low, float* row_high, float*{2},
                                    bf_status* statuses) {{
    return {0}_{3}_batch(count, low, high, row_low, row_high,{4} statuses,
                                 workspace, {1}_BATCH_WORKSPACE_BYTES);
  }};
)";

constexpr const char* kOne =
    R"(  const auto together = [workspace](std::size_t, const float* low, const float* high,
                                    float* row_low, float* row_high, float*{2}, bf_status*) {{
    return {0}_{3}(low, high, row_low, row_high,{4} workspace, {1}_WORKSPACE_BYTES);
  }};
)";

// {0} upper-case name, {1} name, {2} batch suffix.
constexpr const char* kCoefficients =
    R"(/* {1}_spec_bounds{2}, and the lines that bound row y of box i, from below (s = 0: q = y) and
 * above (s = 1: q = -y): {0}_INPUTS + 1 numbers from
 * coefficients[((i {0}_SPEC_ROWS + row) 2 + s) ({0}_INPUTS + 1)] on, a_k and then l, with
 *     q >= l + sum |a_k| d_k,
 * d_k the distance of x_k from that end of the box at which a_k x_k is least; proven as the bounds
 * are. a_k may be infinite or NaN, l is -inf then. null: not wanted. */
)";

const char* bounds_workspace(const Plan& plan) {
  return plan.config.batch > 1 ? "BATCH_WORKSPACE_BYTES" : "WORKSPACE_BYTES";
}

}  // namespace

std::string decide_comment(const Plan& plan, const HeaderBytes& bytes, const Property& property) {
  if (plan.config.splits == Splits::kNeurons) return neurons_comment(plan, bytes, property);
  return fmt::format(fmt::runtime(kDeclarations), upper_case(plan.name), plan.name,
                     property.file_name, bounds_workspace(plan), bytes.decide,
                     plan.decide.open_boxes, bytes.open_box);
}

std::string coefficients_comment(const Plan& plan) {
  return fmt::format(fmt::runtime(kCoefficients), upper_case(plan.name), plan.name,
                     plan.config.batch > 1 ? "_batch" : "");
}

std::string decide_includes(const Plan& plan) {
  if (!plan.config.decide) return {};
  return plan.config.splits == Splits::kNeurons ? "#include \"bf/search/neuron_splits.h\"\n"
                                                : "#include \"bf/search/branch_and_bound.h\"\n";
}

std::string emit_split_weights(const Plan& plan) {
  if (plan.split_weights.empty()) return {};
  std::string text = fmt::format(
      "// What a change of each input can do to the rows at most, by which inputs are\n"
      "// split; the greatest is 1.\nconstexpr float split_weights[{}] = {{",
      plan.split_weights.size());
  for (std::size_t i = 0; i < plan.split_weights.size(); ++i)
    text += (i % 6 == 0 ? "\n    " : " ") + float_literal(plan.split_weights[i]) + ",";
  return text + "\n};\n\n";
}

FunctionBody decide_body(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  if (plan.config.splits == Splits::kNeurons) return neurons_body(lowered);
  const std::string upper = upper_case(plan.name);
  const bool kept = keeps_coefficients(plan);
  const std::string together =
      fmt::format(fmt::runtime(plan.config.batch > 1 ? kTogether : kOne), plan.name, upper,
                  kept ? " coefficients" : "", kept ? "spec_coefficients" : "spec_bounds",
                  kept ? " coefficients," : "");
  return {
      fmt::format(fmt::runtime(kDecide), plan.name, upper, plan.config.batch, together,
                  bounds_workspace(plan), plan.split_weights.empty() ? "nullptr" : "split_weights",
                  std::max(plan.spec_rows, 1), kept, fmt::arg("reach", reach_argument(plan))),
      {}};
}

}  // namespace bf_aot::emit
