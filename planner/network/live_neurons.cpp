#include "planner/network/live_neurons.h"

#include <algorithm>

namespace bf_aot {
namespace {

// A list of fewer neurons costs more than the products that it saves.
constexpr int kLeastNeurons = 16;
// A product with fewer outputs takes about a nanosecond per input, as reading the list does.
constexpr int kLeastOutputs = 128;
// A list for the forward pass alone. In front of 256 outputs ibp took 1.7 of its time on a box on
// which few of 256 neurons are 0, 0.6 where nearly all are.
constexpr int kLeastOutputsAlone = 512;
// ACAS Xu under crown-ibp: 10 rows through 50 x 50 neurons took 10 % longer with lists, where none
// is 0.
constexpr double kLeastProducts = 4096;

bool has_dense_reader(const Plan& plan, LayerId index) {
  return std::ranges::any_of(plan.layers, [&](const Layer& layer) {
    return layer.kind == LayerKind::kDense && layer.input == index;
  });
}

}  // namespace

bool has_lists(const PlannerConfig& config) {
  if (is_of_device(config.language)) return true;
  return uses_vectors(config.lowering) && config.target.vector_bytes > 4;
}

bool pays_forward(int outputs) {
  return outputs >= kLeastOutputs;
}

bool pays_forward_alone(int outputs) {
  return outputs >= kLeastOutputsAlone;
}

bool pays_backward(double products) {
  return products >= kLeastProducts;
}

void list_live_neurons(Plan& plan) {
  // Other scalar code than that of devices is for machines that have room for little else.
  if (!has_lists(plan.config)) return;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    Layer& layer = plan.layers[i];
    layer.live_list =
        layer.relu && layer.out >= kLeastNeurons &&
        (layer.kind == LayerKind::kDense || has_dense_reader(plan, static_cast<int>(i)));
  }
}

}  // namespace bf_aot
