#include <gtest/gtest.h>

#include <string>

#include "aot/emit/kernels/kernels.h"
#include "planner/planner.h"
#include "planner/tuning/schedule_space.h"

// Every schedule that may be tried can be printed: print_kernel() aborts on a nest that does not
// fit, or that rounds more often than the plan accounts for.
namespace bf_aot::emit {
namespace {

Affine zeros(int in, int out) {
  Affine made;
  made.weight.shape = {out, in};
  made.weight.data.assign(static_cast<std::size_t>(in) * static_cast<std::size_t>(out), 0.5);
  made.bias.shape = {out};
  made.bias.data.assign(static_cast<std::size_t>(out), 0);
  return made;
}

Graph chain(const std::vector<int>& widths) {
  Graph graph;
  ValueId value = graph.add_value("x", {1, widths.front()});
  graph.inputs = {value};
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const ValueId z = graph.add_value("z" + std::to_string(i), {1, widths[i]});
    graph.nodes.push_back({zeros(widths[i - 1], widths[i]), {value}, z, "z" + std::to_string(i)});
    value = z;
    if (i + 1 == widths.size()) break;
    const ValueId a = graph.add_value("a" + std::to_string(i), {1, widths[i]});
    graph.nodes.push_back({Relu{}, {z}, a, "a" + std::to_string(i)});
    value = a;
  }
  graph.outputs = {value};
  return graph;
}

// Weights that no cache keeps are asked for ahead of their use, by what reads them first.
TEST(PrintedKernels, AskMemoryAheadForLargeTables) {
  PlannerConfig config;
  config.method = Method::kCrown;
  config.target = find_target("x86-64-v3");
  config.profile = find_profile("x86-64-v3");
  config.profile->levels = {{1 << 10, 2e11}, {1 << 14, 1e11}, {1e300, 1e10}};
  const Plan made = plan(chain({100, 60, 5}), {}, "net", false, config);
  int large = 0, small = 0;
  for (const Kernel& kernel : made.kernels) {
    if (kernel.code != KernelCode::kPrinted) continue;
    loop::Needs needs;
    const std::string text = print_kernel(kernel, needs);
    const bool asks = text.find("BF_PREFETCH(weight") != std::string::npos;
    EXPECT_EQ(asks, kernel.prefetch > 0) << text;
    if (kernel.kind != KernelKind::kCentreAffine) continue;
    EXPECT_EQ(asks, kernel.in == 100) << "24 KB or 1.2 KB of weights, 16 KB of cache\n" << text;
    ++(asks ? large : small);
  }
  EXPECT_EQ(large, 1);
  EXPECT_EQ(small, 1);
}

TEST(TunedKernels, EveryLegalScheduleIsPrinted) {
  std::size_t printed = 0;
  for (const char* target : {"generic", "x86-64", "x86-64-v4"})
    for (const Method method : {Method::kIbp, Method::kCrown})
      for (const int batch : {1, 32}) {
        PlannerConfig config;
        config.target = find_target(target);
        config.method = method;
        config.batch = batch;
        const Plan made = plan(chain({3, 150, 70, 5, 64, 2}), ModelInfo{}, "net", false, config);
        for (Kernel kernel : made.kernels) {
          if (!is_tunable(kernel)) continue;
          for (const Schedule& schedule : legal_schedules(kernel, config.target)) {
            kernel.schedule = schedule;
            loop::Needs needs;
            const std::string text = print_kernel(kernel, needs);
            EXPECT_EQ(text.find("BF_UNROLL_BY(") != std::string::npos, schedule.unroll > 1) << text;
            ++printed;
          }
        }
      }
  EXPECT_GT(printed, 2000U);
}

}  // namespace
}  // namespace bf_aot::emit
