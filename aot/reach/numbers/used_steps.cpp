#include "aot/reach/numbers/used_steps.h"

#include <vector>

namespace bf_aot::reach {
namespace {

using Kind = ScalarStep::Kind;

bool reads_first(const ScalarStep& step) {
  return step.kind != Kind::kInput && step.kind != Kind::kConstant;
}
bool reads_second(const ScalarStep& step) {
  return reads_first(step) && step.kind != Kind::kRelu && step.kind != Kind::kFunction;
}

std::vector<bool> used(const ScalarProgram& program) {
  std::vector<bool> made(program.steps.size(), false);
  for (const std::size_t step : program.outputs) made[step] = true;
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const ScalarStep& step = program.steps[i];
    if (!made[i]) continue;
    if (reads_first(step)) made[step.a] = true;
    if (reads_second(step)) made[step.b] = true;
  }
  return made;
}

}  // namespace

ScalarProgram used_steps(const ScalarProgram& program) {
  const std::vector<bool> keep = used(program);
  std::vector<std::size_t> place(program.steps.size(), 0);
  ScalarProgram made;
  made.inputs = program.inputs;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    ScalarStep step = program.steps[i];
    if (reads_first(step)) step.a = place[step.a];
    if (reads_second(step)) step.b = place[step.b];
    place[i] = made.add(step);
  }
  for (const std::size_t step : program.outputs) made.outputs.push_back(place[step]);
  return made;
}

}  // namespace bf_aot::reach
