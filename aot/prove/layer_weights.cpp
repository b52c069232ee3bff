#include "aot/prove/layer_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace bf_aot::prove {

using bf_check::Kind;
using bf_check::Layer;

namespace {

BiasDigits digits_of(const std::vector<std::int64_t>& biases) {
  BiasDigits made;
  for (const std::int64_t bias : biases) {
    made.small = made.small && std::abs(bias) < std::int64_t{1} << (2 * kDigitBits);
    made.any = made.any || bias != 0;
    made.first.push_back(static_cast<double>(first_digit(bias)));
    made.second.push_back(second_digit(bias));
    made.most_second = std::max(made.most_second, std::fabs(made.second.back()));
  }
  return made.small ? made : BiasDigits{{}, {}, 0, false, true};
}

WeightDigits digits_of(const Layer& layer, double unit) {
  WeightDigits made;
  for (std::size_t i = 0; i < layer.source.size(); ++i) {
    double sum = 0;
    for (std::uint32_t k = layer.reader_start[i]; k < layer.reader_start[i + 1]; ++k) {
      const std::int64_t weight = layer.reader_weight[k];
      made.first.push_back(static_cast<double>(first_digit(weight)));
      made.second.push_back(second_digit(weight));
      made.most_second = std::max(made.most_second, std::fabs(made.second.back()));
      sum += std::fabs(static_cast<double>(weight)) * unit;
    }
    made.most_column = std::max(made.most_column, sum);
    made.most_readers =
        std::max<double>(made.most_readers, layer.reader_start[i + 1] - layer.reader_start[i]);
  }
  return made;
}

// Whether each row reads each source once.
bool all_read_all(const Layer& layer) {
  if (layer.reader.size() != layer.source.size() * layer.count) return false;
  for (std::size_t k = 0; k < layer.reader.size(); ++k)
    if (layer.reader[k] != k % layer.count) return false;
  return true;
}

RowDigits digits_of_rows(const Layer& layer, const std::vector<unsigned char>& in_a_run) {
  constexpr std::uint32_t kLeast = 5;   // below it, integers do as well
  constexpr std::uint32_t kMost = 512;  // above it, memory counts
  RowDigits made;
  const std::uint32_t size = layer.count > 0 ? layer.start[1] : 0;
  for (std::uint32_t row = 0; row < layer.count; ++row)
    if (in_a_run[row] == 0 || layer.start[row + 1] - layer.start[row] != size) return made;
  if (size < kLeast || size > kMost) return made;
  made.width = (size + 7) / 8 * 8;
  made.first.reserve(std::size_t{made.width} * layer.count);
  made.second.reserve(std::size_t{made.width} * layer.count);
  for (std::uint32_t row = 0; row < layer.count; ++row)
    for (std::uint32_t i = 0; i < made.width; ++i) {
      const std::int64_t weight = i < size ? layer.weight[layer.start[row] + i] : 0;
      made.first.push_back(static_cast<double>(first_digit(weight)));
      made.second.push_back(second_digit(weight));
      made.most_second = std::max(made.most_second, std::fabs(made.second.back()));
    }
  return made;
}

LayerWeights weights_of(const Layer& layer, double unit) {
  LayerWeights made;
  if (layer.kind != Kind::kAffine) return made;
  for (const std::int64_t weight : layer.weight)
    made.weight.push_back(static_cast<double>(weight) * unit);
  made.digits = digits_of(layer, unit);
  made.bias = digits_of(layer.bias);
  made.all_read_all = all_read_all(layer);
  made.all_one = std::all_of(layer.weight.begin(), layer.weight.end(),
                             [&](std::int64_t weight) { return weight * unit == 1; });
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
  made.rows = digits_of_rows(layer, made.in_a_run);
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
