#pragma once

#include <random>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::testing {

// A dense chain x -> layer 0 -> ... -> the last, which is the head: weights[i] is [out][in], row by
// row; all but the last have a ReLU.
struct ToyLayer {
  std::vector<std::vector<float>> weight;
  std::vector<double> bias;
};

// A whole plan built by hand, without the planner: entries bounds and evaluate, one task per step.
Plan toy_plan(Method method, const std::vector<ToyLayer>& chain);

// x [2] -> 3 ReLU -> 3 ReLU -> y [2], fixed weights.
Plan toy_plan(Method method);

// Weights in [-1, 1] with few bits, so that exact runs stay small.
std::vector<ToyLayer> random_chain(const std::vector<int>& widths, std::mt19937& random);

// A kernel of this kind and extents: one that is there, or a new one.
KernelId toy_kernel(Plan& plan, Kernel made);

BufferId toy_buffer(Entry& entry, std::string name, Element element, std::int64_t count);

// Makes the tasks of an entry anew: one per step, with the edges that its buffers need.
void make_tasks(Entry& entry);

}  // namespace bf_aot::testing
