#include "aot/prove/layer_weights.h"

#include <cmath>
#include <cstdint>

namespace bf_aot::prove {

using bf_check::Kind;
using bf_check::Layer;

namespace {

LayerWeights weights_of(const Layer& layer, double unit) {
  LayerWeights made;
  if (layer.kind != Kind::kAffine) return made;
  for (const std::int64_t weight : layer.weight)
    made.weight.push_back(static_cast<double>(weight) * unit);
  for (const std::int64_t weight : layer.reader_weight)
    made.reader_weight.push_back(static_cast<double>(weight) * unit);
  made.dense = layer.weight.size() == layer.source.size() * layer.count;
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t first = layer.start[row], end = layer.start[row + 1];
    bool run = first < end;
    for (std::uint32_t i = first; i < end; ++i)
      run = run && layer.column[i] == layer.column[first] + (i - first);
    made.in_a_run.push_back(run);
  }
  return made;
}

}  // namespace

NetworkWeights weights_of(const bf_check::Network& network) {
  const double unit = std::ldexp(1.0, -static_cast<int>(network.grid.weight_bits));
  auto made = std::make_shared<std::vector<LayerWeights>>();
  std::vector<unsigned char> by_others(network.elements);  // read by more than ReLUs
  for (const std::uint32_t element : network.outputs) by_others[element] = 1;
  for (const Layer& layer : network.layers)
    for (const std::uint32_t element : layer.column)
      if (layer.kind != Kind::kRelu) by_others[element] = 1;
  for (const Layer& layer : network.layers) {
    made->push_back(weights_of(layer, unit));
    for (std::uint32_t row = 0; row < layer.count; ++row)
      made->back().for_relus_alone.push_back(by_others[layer.first + row] == 0);
  }
  return made;
}

}  // namespace bf_aot::prove
