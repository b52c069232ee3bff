#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "aot/emit/calls/c_routines.h"
#include "aot/emit/calls/calls.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"

namespace bf_aot::calls {
namespace {

// The headers in the order in which a file includes them. Headers of other routines are included by
// these, or together with the entry points that call them.
constexpr std::string_view kHeaders[] = {
    "bf/conv/conv_forward.h",
    "bf/conv/conv_interval.h",
    "bf/conv/conv_live.h",
    "bf/conv/conv_slack.h",
    "bf/dense/first_link.h",
    "bf/functions/bind_near.h",
    "bf/functions/functions.h",
    "bf/functions/relax_functions.h",
    "bf/functions/float_functions.h",
    "bf/functions/mixtures.h",
    "bf/sums/balls.h",
    "bf/sums/ball_layers.h",
    "bf/sums/one_hot.h",
    "bf/sums/intervals.h",
    "bf/dense/lines.h",
    "bf/sums/contraction.h",
    "bf/sums/log_softmax.h",
    "bf/sums/planes.h",
    "bf/core/relax.h",
    "bf/sums/row_slack.h",
    "bf/sums/slopes.h",
    "bf/conv/starts.h",
    "bf/sums/terms.h",
    "bf/sums/row_windows.h",
    "bf/sums/mixed_planes.h",
};

// The header that brings another one: bf/conv/starts.h includes both headers of backward sums.
std::string_view included_for(std::string_view header) {
  if (header == "bf/conv/conv_backward.h" || header == "bf/sums/backward.h")
    return "bf/conv/starts.h";
  return header;
}

bool has_convolutions(const Plan& plan) {
  for (const Layer& layer : plan.layers)
    for (const Term& term : layer.terms)
      if (std::holds_alternative<ConvMap>(term.map)) return true;
  return false;
}

}  // namespace

std::string runtime_includes(const Plan& plan, const std::vector<Program>& programs) {
  std::set<std::string_view> called;
  if (has_convolutions(plan)) called.insert("bf/conv/conv_forward.h");  // of their shapes
  for (const Program& program : programs)
    for_each_call(program, [&](const Call& call) {
      if (const auto* const routine = std::get_if<Routine>(&call.callee))
        for (const std::string_view header : signature_of(*routine).headers)
          called.insert(included_for(header));
    });
  std::string text;
  for (const std::string_view header : kHeaders)
    if (called.contains(header)) text += fmt::format("#include \"{}\"\n", header);
  return text;
}

std::string c_includes(const Plan& plan, const std::vector<Program>& programs) {
  const Language language = plan.config.language;
  std::vector<std::string_view> headers = {language == Language::kOpenCl ? "bf/c/words/opencl.h"
                                           : language == Language::kCuda ? "bf/c/words/cuda.h"
                                                                         : "bf/c/checks.h",
                                           "bf/c/core.h", "bf/c/bounds.h"};
  const auto add = [&](std::string_view header) {
    if (std::ranges::find(headers, header) == headers.end()) headers.push_back(header);
  };
  if (has_convolutions(plan)) add("bf/c/conv.h");  // of their shapes
  for (const Program& program : programs)
    for_each_call(program, [&](const Call& call) {
      if (const auto* const routine = std::get_if<Routine>(&call.callee))
        add(find_c_routine(*routine)->header);
    });
  std::string text;
  for (const std::string_view header : headers) text += fmt::format("#include \"{}\"\n", header);
  return text;
}

}  // namespace bf_aot::calls
