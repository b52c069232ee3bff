#include "aot/emit/interface/emit_decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/emit_neurons.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/literals.h"
#include "planner/entries/keep_coefficients.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kDeclarations =
    R"(/* Decides the property @property@ on a box by branch and bound: as @name@_verify, but boxes that are
 * undecided are split in two, over and over. BF_BUDGET: `budget` is spent, or more than @open_boxes@ boxes
 * are open at a time; @NAME@_OPEN_BOX_BYTES more of workspace is room for one more.
 * BF_UNKNOWN: a box that no float divides is left. budget: see bf.h; null: no limit. search: null,
 * or where to write how far the search came. The same result on every run. */
#define @NAME@_OPEN_BOX_BYTES @box_bytes@
#define @NAME@_DECIDE_WORKSPACE_BYTES (@NAME@_@BOUNDS_BYTES@ + @bytes@)
)";

constexpr std::string_view kDecide =
    R"(  if (const bf_status status = bf::check_box(lower, upper, @NAME@_INPUTS@reach@)) return status;

  static_assert(@NAME@_OPEN_BOX_BYTES == bf::open_box_bytes(@NAME@_INPUTS)
                    && @NAME@_DECIDE_WORKSPACE_BYTES - @NAME@_@BOUNDS_BYTES@
                           > bf::round_bytes(@NAME@_INPUTS, @rows@, @round@, @coefficients@) + 2 * @NAME@_OPEN_BOX_BYTES,
                "the workspace is of another version");
@together@  return bf::decide_property(property::tables, @weights@, @coefficients@, lower, upper, @round@, budget,
                             result, search, at<float>(workspace, @NAME@_@BOUNDS_BYTES@),
                             workspace_bytes - @NAME@_@BOUNDS_BYTES@, together);
)";

constexpr std::string_view kTogether =
    R"(  const auto together = [workspace](std::size_t count, const float* low, const float* high,
                                    float* row_low, float* row_high, float*@parameter@,
                                    bf_status* statuses) {
    return @name@_@function@_batch(count, low, high, row_low, row_high,@argument@ statuses,
                                 workspace, @NAME@_BATCH_WORKSPACE_BYTES);
  };
)";

constexpr std::string_view kOne =
    R"(  const auto together = [workspace](std::size_t, const float* low, const float* high,
                                    float* row_low, float* row_high, float*@parameter@, bf_status*) {
    return @name@_@function@(low, high, row_low, row_high,@argument@ workspace, @NAME@_WORKSPACE_BYTES);
  };
)";

constexpr std::string_view kCoefficients =
    R"(/* @name@_spec_bounds@suffix@, and the lines that bound row y of box i, from below (s = 0: q = y) and
 * above (s = 1: q = -y): @NAME@_INPUTS + 1 numbers from
 * coefficients[((i @NAME@_SPEC_ROWS + row) 2 + s) (@NAME@_INPUTS + 1)] on, a_k and then l, with
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
  return fill_in(kDeclarations,
                 {{"property", property.file_name},
                  {"BOUNDS_BYTES", bounds_workspace(plan)},
                  {"bytes", bytes.decide},
                  {"open_boxes", plan.decide.open_boxes},
                  {"box_bytes", bytes.open_box}},
                 names_of(plan));
}

std::string coefficients_comment(const Plan& plan) {
  return fill_in(kCoefficients, {{"suffix", plan.config.batch > 1 ? "_batch" : ""}},
                 names_of(plan));
}

std::string decide_includes(const Plan& plan) {
  if (!plan.config.decide) return {};
  if (plan.config.splits != Splits::kNeurons) return "#include \"bf/search/branch_and_bound.h\"\n";
  const bool functions = std::ranges::any_of(
      plan.decide.network.layers,
      [](const SplitLayerPlan& each) { return each.role == SplitRole::kFunction; });
  std::string text = "#include \"bf/search/neuron_splits.h\"\n";
  if (functions) text += "#include \"bf/search/split_curves.h\"\n";
  return text;
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
  const Arguments names = names_of(plan);
  const bool kept = keeps_coefficients(plan);
  const std::string together = fill_in(plan.config.batch > 1 ? kTogether : kOne,
                                       {{"parameter", kept ? " coefficients" : ""},
                                        {"function", kept ? "spec_coefficients" : "spec_bounds"},
                                        {"argument", kept ? " coefficients," : ""}},
                                       names);
  return {fill_in(kDecide,
                  {{"round", plan.config.batch},
                   {"together", together},
                   {"BOUNDS_BYTES", bounds_workspace(plan)},
                   {"weights", plan.split_weights.empty() ? "nullptr" : "split_weights"},
                   {"rows", std::max(plan.spec_rows, 1)},
                   {"coefficients", kept}},
                  names),
          {}};
}

}  // namespace bf_aot::emit
