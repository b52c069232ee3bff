#include "aot/prove/layer_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace bf_aot::prove {

using bf_check::Kind;
using bf_check::Layer;

namespace {

WeightDigits digits_of(const Layer& layer, double unit) {
  constexpr std::int64_t kHalf = std::int64_t{1} << (kDigitBits - 1);
  WeightDigits made;
  for (std::size_t i = 0; i < layer.source.size(); ++i) {
    double sum = 0;
    for (std::uint32_t k = layer.reader_start[i]; k < layer.reader_start[i + 1]; ++k) {
      const std::int64_t weight = layer.reader_weight[k];
      const std::int64_t first = ((weight + kHalf) & (2 * kHalf - 1)) - kHalf;
      made.first.push_back(static_cast<double>(first));
      made.second.push_back(static_cast<double>((weight - first) >> kDigitBits));
      made.most_second = std::max(made.most_second, std::fabs(made.second.back()));
      sum += std::fabs(static_cast<double>(weight)) * unit;
    }
    made.most_column = std::max(made.most_column, sum);
    made.most_readers =
        std::max<double>(made.most_readers, layer.reader_start[i + 1] - layer.reader_start[i]);
  }
  return made;
}

LayerWeights weights_of(const Layer& layer, double unit) {
  LayerWeights made;
  if (layer.kind != Kind::kAffine) return made;
  for (const std::int64_t weight : layer.weight)
    made.weight.push_back(static_cast<double>(weight) * unit);
  made.digits = digits_of(layer, unit);
  for (const std::uint32_t element : layer.column) {
    const auto at = std::lower_bound(layer.source.begin(), layer.source.end(), element);
    made.place.push_back(static_cast<std::uint32_t>(at - layer.source.begin()));
  }
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
