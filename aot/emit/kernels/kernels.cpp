#include "aot/emit/kernels/kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/diagnostic.h"

namespace bf_aot::emit {

KernelNests nests_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kIntervalAffine:
      return interval_affine_nests(kernel);
    case KernelKind::kCentreAffine:
      return centre_affine_nests(kernel);
    case KernelKind::kEvaluateAffine:
      return evaluate_affine_nests(kernel);
    case KernelKind::kBackwardAffine:
      return backward_affine_nests(kernel);
    case KernelKind::kConcretize:
      return concretize_nests(kernel);
    case KernelKind::kForwardLines:
      return forward_lines_nests(kernel);
    case KernelKind::kBindFloat:
    case KernelKind::kBindDouble:
    case KernelKind::kRelax:
    case KernelKind::kStartRows:
    case KernelKind::kFirstLink:
    case KernelKind::kTermInterval:
    case KernelKind::kIntervalMax:
    case KernelKind::kTermCentre:
    case KernelKind::kTermStart:
    case KernelKind::kTermBackward:
    case KernelKind::kRelaxRows:
    case KernelKind::kRelaxProduct:
    case KernelKind::kRelaxMax:
    case KernelKind::kRelaxLogSoftmax:
    case KernelKind::kRelaxContraction:
    case KernelKind::kForwardRows:
    case KernelKind::kStepSlopes:
    case KernelKind::kStartLines:
    case KernelKind::kRelaxLines:
      break;
  }
  BF_CHECK(false);
  return {};
}

namespace {

// Checks that no float32 sum is longer than the plan says, on which the plan's error terms rest.
void check_depth(const Kernel& kernel, const KernelNests& made) {
  for (const loop::Program::Placed& each : made.program.nests())
    if (each.nest.sums_in_float()) BF_CHECK(each.nest.summation_depth() <= kernel.depth);
}

}  // namespace

std::int64_t staged_floats(const Kernel& kernel) {
  return kernel.schedule.staged > 0 ? nests_of(kernel).program.staged() : 0;
}

std::string print_kernel(const Kernel& kernel, loop::Needs& needs, const Dialect& dialect) {
  BF_CHECK(!dialect.is_c() || kernel.schedule.lanes == 1);
  const KernelNests made = nests_of(kernel);
  check_depth(kernel, made);
  std::string text = fmt::format("// {}\n//   {}\n", kernel.key, made.formula);
  const Schedule& schedule = kernel.schedule;
  text += fmt::format("//   schedule: {} lanes x {} vectors", schedule.lanes, schedule.vectors);
  if (schedule.columns > 1) text += fmt::format(" x {} columns", schedule.columns);
  if (schedule.chunk > 0) text += fmt::format(", chunks of {}", schedule.chunk);
  if (schedule.unroll > 1) text += fmt::format(", unrolled by {}", schedule.unroll);
  if (schedule.staged > 0)
    text += fmt::format(", weights of {} columns in the group's memory", schedule.staged);
  if (kernel.rolled) text += ", ends of tiles in a loop";
  if (kernel.prefetch > 0) text += fmt::format(", weights {} bytes ahead", kernel.prefetch);
  text += fmt::format("; longest sum: {} roundings\n", kernel.depth);
  std::vector<std::string> parameters = made.parameters;
  constexpr std::string_view kList = "std::int32_t";
  for (std::string& each : parameters) {
    if (const std::size_t list = each.find(kList); list != std::string::npos)
      each.replace(list, kList.size(), dialect.integer("int32"));
    if (each.find('*') != std::string::npos) each.insert(0, dialect.shared());
  }
  if (made.program.staged() > 0) parameters.emplace_back("BF_LOCAL bf_team* team");
  text += fmt::format("BF_KERNEL {}({}) {{\n", kernel.function, fmt::join(parameters, ", "));
  text += loop::print(made.program, needs, dialect);
  text += "}\n";
  return text;
}

}  // namespace bf_aot::emit
