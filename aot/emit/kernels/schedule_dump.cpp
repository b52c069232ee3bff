#include "aot/emit/kernels/schedule_dump.h"

#include <fmt/format.h>

#include "aot/emit/kernels/kernels.h"
#include "aot/emit/loop/print/dump.h"
#include "planner/network/fusion_classes.h"

namespace bf_aot::emit {

std::string dump_operators(const Graph& graph) {
  std::string text = fmt::format("operators\n  {:<24} {:<14} {:<20} {}\n", "value", "operator",
                                 "class", "in its layer");
  for (const Node& node : graph.nodes) {
    const FusionRule rule = fusion_rule(node.op);
    text += fmt::format("  {:<24} {:<14} {:<20} {}\n", graph.value(node.output).name,
                        op_name(node.op), to_string(rule.kind), rule.why);
  }
  return text;
}

std::string dump_schedules(const Plan& plan) {
  std::string text;
  for (const Kernel& kernel : plan.kernels) {
    text += fmt::format("\nkernel {}\n", kernel.key);
    if (kernel.code != KernelCode::kPrinted) {
      text += "  a routine of the runtime\n";
      continue;
    }
    const KernelNests made = nests_of(kernel);
    text += fmt::format("  {}\n", made.formula) + loop::dump(made.program);
  }
  return text;
}

}  // namespace bf_aot::emit
