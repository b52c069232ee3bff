#include "aot/decide/neurons/split_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "aot/decide/neurons/lanes/function_lanes.h"
#include "frontend/functions/function_facts.h"
#include "frontend/graph/conv_loops.h"

namespace bf_aot::decide {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();

// A number >= the exact x, where x >= 0 was computed by at most 2^20 operations rounded to nearest.
double raised(double x) {
  return x * (1 + 0x1p-30);
}

// Calls visit(row, weight, column) for all products of a layer's term, row by row.
template <class Visit>
void for_each_product_of(const Term& term, int rows, const Visit& visit) {
  const std::vector<float>& weight = term.weight;
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    for_each_product(conv->geometry, [&](std::int64_t o, std::int64_t w, std::int64_t i) {
      visit(o, weight[static_cast<std::size_t>(w)], i);
    });
  } else if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
    for (std::int64_t o = 0; o < rows; ++o) {
      const auto row = static_cast<std::size_t>(o);
      for (std::int32_t k = sparse->row_start[row]; k < sparse->row_start[row + 1]; ++k)
        visit(o, weight[static_cast<std::size_t>(k)],
              std::int64_t{sparse->column[static_cast<std::size_t>(k)]});
    }
  } else {
    const auto& gather = std::get<GatherMap>(term.map);
    for (std::int64_t o = 0; o < rows; ++o) {
      const std::int64_t i = gather.source.empty() ? o : gather.source[static_cast<std::size_t>(o)];
      if (i >= 0) visit(o, 1.0F, i);
    }
  }
}

// Calls visit(source, visit_products) for each tensor that a layer reads, where
// visit_products(visit) visits products as for_each_product_of() does.
template <class Visit>
void for_each_source(const Layer& layer, const Visit& visit) {
  if (layer.kind == LayerKind::kDense) {
    visit(layer.input, [&](const auto& each) {
      for (int r = 0; r < layer.out; ++r)
        for (int k = 0; k < layer.in; ++k)
          if (const float weight = layer.weight_at(r, k); weight != 0)
            each(std::int64_t{r}, weight, std::int64_t{k});
    });
    return;
  }
  for (const Term& term : layer.terms)
    visit(term.input, [&](const auto& each) { for_each_product_of(term, layer.out, each); });
}

// The identity as a function, for neurons that are factors of products.
constexpr Function kItself = {FunctionKind::kLeakyRelu, 1, 0};

// Returns whether each layer is affine, has no activation and is read by products. Layers of rows
// are left out.
std::vector<bool> factor_layers(const Plan& plan) {
  std::vector<bool> found(plan.layers.size());
  for (const Layer& layer : plan.layers) {
    if (layer.kind != LayerKind::kProduct) continue;
    for (const Term& term : layer.terms) {
      if (!term.input.is_layer()) continue;
      const Layer& factor = plan.layer(term.input);
      found[static_cast<std::size_t>(term.input.number())] =
          factor.is_affine() && !factor.relu && !factor.function && !plan.is_head(term.input);
    }
  }
  return found;
}

// An estimate of the memory of a SplitNetwork, with the list of products that it is made from, and
// of one thread's lanes.
double estimated_bytes(const Plan& plan) {
  double products = 0, numbers = 0, functions = 0;
  const auto count_term = [&](const Term& term, int rows) {
    if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
      const ConvGeometry& g = conv->geometry;
      const double places = static_cast<double>(g.transposed ? term.in : rows);
      products +=
          places * static_cast<double>((g.transposed ? g.out_group() : g.in_group()) * g.taps());
    } else if (std::holds_alternative<SparseMap>(term.map)) {
      products += static_cast<double>(term.weight.size());
    } else {
      products += rows;
    }
  };
  const std::vector<bool> is_factor = factor_layers(plan);
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[LayerId(static_cast<int>(i))];
    products += static_cast<double>(layer.weight.size());
    for (const Term& term : layer.terms) count_term(term, layer.out);
    if (layer.kind == LayerKind::kProduct) numbers += layer.out;  // for its two planes
    numbers += layer.out;
    if (layer.function || is_factor[i]) functions += layer.out;
  }
  constexpr double kInLanes = 4 * sizeof(float) + sizeof(double);
  return products * static_cast<double>(2 * sizeof(Product) + 16) +
         static_cast<double>(kLanes) *
             (numbers * kInLanes + functions * static_cast<double>(2 * sizeof(FunctionState)));
}

// A tensor as layers are read: the place of each live element, the range of a, and the largest |a|.
struct Tensor {
  std::vector<int> place;  // -1: it is 0
  std::vector<double> lower, upper, magnitude;
  std::size_t live = 0;

  explicit Tensor(std::size_t size = 0)
      : place(size, -1), lower(size), upper(size), magnitude(size) {}

  void set(std::size_t element, double low, double high) {
    lower[element] = low;
    upper[element] = high;
    magnitude[element] = std::max(std::fabs(low), std::fabs(high));
  }
};

// The element of a factor's tensor that a row of a layer of products multiplies.
std::size_t source_of(const Layer& layer, int factor, std::size_t row) {
  const auto& gather = std::get<GatherMap>(layer.term(factor).map);
  return gather.source.empty() ? row : static_cast<std::size_t>(gather.source[row]);
}

using Factor = SplitNetwork::Factor;

double magnitude_of(const Factor& factor) {
  return std::max(std::fabs(factor.lower), std::fabs(factor.upper));
}

// The factors of an element of a layer of products; none where one of them is 0.
std::optional<std::array<Factor, 2>> factors_of(const Layer& layer, const Tensor& first,
                                                const Tensor& second, std::size_t row) {
  std::array<Factor, 2> made;
  for (const int k : {0, 1}) {
    const Tensor& from = k == 0 ? first : second;
    const std::size_t element = source_of(layer, k, row);
    if (from.place[element] < 0) return std::nullopt;
    made.at(static_cast<std::size_t>(k)) = {static_cast<std::size_t>(from.place[element]),
                                            from.lower[element], from.upper[element]};
  }
  return made;
}

// The largest number of products that read one element of a factor's tensor.
std::size_t most_reads(const std::vector<std::array<Factor, 2>>& factors, int factor,
                       std::size_t elements) {
  std::vector<std::size_t> reads(elements);
  for (const auto& each : factors) ++reads[each.at(static_cast<std::size_t>(factor)).place];
  return reads.empty() ? 0 : std::ranges::max(reads);
}

struct Interval {
  double low = 0, high = 0;
};

// An interval around x y.
Interval product_of(const Factor& x, const Factor& y) {
  const std::array<double, 4> ends = {x.lower * y.lower, x.lower * y.upper, x.upper * y.lower,
                                      x.upper * y.upper};
  const double room = raised(magnitude_of(x) * magnitude_of(y)) * 0x1p-40 + 0x1p-1000;
  return {std::ranges::min(ends) - room, std::ranges::max(ends) + room};
}

}  // namespace

FunctionInterval SplitNetwork::SplitLayer::interval(double low, double high) const {
  FunctionInterval made = interval_of(*function, low, high);
  if (!is_factor) return made;
  const double middle = low / 2 + high / 2;
  made.point = low < middle && middle < high ? std::optional(middle) : std::nullopt;
  made.value = middle;
  return made;
}

bool SplitNetwork::covers(const Plan& plan) {
  return covers_but_for_maxima(plan) && std::ranges::all_of(plan.layers, [](const Layer& layer) {
           return layer.kind != LayerKind::kMax;
         });
}

bool SplitNetwork::covers_but_for_maxima(const Plan& plan) {
  bool bends = false;
  for (const Layer& layer : plan.layers) {
    const bool maxima = layer.kind == LayerKind::kMax;
    if (layer.function && is_staircase(layer.function->kind)) return false;
    bends = bends || layer.relu || layer.function || maxima;
  }
  return bends && plan.spec_rows > 0 && std::ranges::none_of(plan.spec_heads, [&](LayerId id) {
           const Layer& head = plan.layer(id);
           return !head.is_affine() || head.relu || head.function;
         });
}

std::unique_ptr<const SplitNetwork> SplitNetwork::make(const Plan& plan,
                                                       const std::vector<float>& lower,
                                                       const std::vector<float>& upper,
                                                       const std::vector<engine::Ranges>& ranges,
                                                       std::size_t most_bytes) {
  std::unique_ptr<SplitNetwork> made(new SplitNetwork);
  made->lower_ = lower;
  made->upper_ = upper;
  std::vector<Tensor> tensors(plan.layers.size() + 1);  // the inputs first
  const auto tensor = [&](LayerId id) -> Tensor& {
    return tensors[static_cast<std::size_t>(id.number() + 1)];
  };
  Tensor& inputs = tensor(kNetworkInput);
  inputs = Tensor(lower.size());
  for (std::size_t i = 0; i < lower.size(); ++i) {
    inputs.place[i] = static_cast<int>(i);
    inputs.set(i, static_cast<double>(lower[i]), static_cast<double>(upper[i]));
  }
  inputs.live = lower.size();
  if (estimated_bytes(plan) > static_cast<double>(most_bytes)) return nullptr;

  const std::vector<bool> is_factor = factor_layers(plan);
  std::size_t numbers = 64, most_products = 0;
  double products = 0, largest = 1;
  for (const double each : inputs.magnitude) largest = std::max(largest, each);
  for (const LayerId id : plan.layer_ids()) {
    const Layer& layer = plan.layer(id);
    SplitLayer& split = made->layers_.emplace_back();
    const auto out = static_cast<std::size_t>(layer.out);
    // Intervals of z follow from those of what the layer reads; layers that are not relaxed have no
    // others.
    std::vector<double> reach(out);
    const bool multiplies = layer.kind == LayerKind::kProduct;
    if (!multiplies)
      for_each_source(layer, [&](LayerId source, const auto& products_of) {
        const Tensor& from = tensor(source);
        products_of([&](std::int64_t r, float weight, std::int64_t k) {
          reach[static_cast<std::size_t>(r)] +=
              std::fabs(static_cast<double>(weight)) * from.magnitude[static_cast<std::size_t>(k)];
        });
      });
    split.weight_error = layer.errors.weight_relative;
    split.bias_error = layer.errors.bias_double;
    split.is_factor = is_factor[static_cast<std::size_t>(id.number())];
    if (layer.function || split.is_factor)
      split.function = made->views_.of(split.is_factor ? kItself : *layer.function);
    const engine::Ranges& known = ranges[static_cast<std::size_t>(id.number())];
    Tensor& own = tensor(id);
    own = Tensor(out);
    for (std::size_t j = 0; j < out; ++j) {
      const double bias = layer.bias.empty() ? 0 : layer.bias[j];
      Interval of_product;
      if (multiplies) {
        const auto factors =
            factors_of(layer, tensor(layer.term(0).input), tensor(layer.term(1).input), j);
        if (!factors) continue;
        const auto& [x, y] = *factors;
        reach[j] = 4 * magnitude_of(x) * magnitude_of(y);
        if (!std::isfinite(reach[j])) return nullptr;
        of_product = product_of(x, y);
        split.factors.push_back(*factors);
        for (const int k : {0, 1}) {
          const LayerId source = layer.term(k).input;
          if (!source.is_layer()) continue;
          const SplitLayer& from = made->layers_[static_cast<std::size_t>(source.number())];
          Factor& factor = split.factors.back().at(static_cast<std::size_t>(k));
          if (from.is_factor) factor.open = from.first_open + factor.place;
        }
      }
      reach[j] = raised(reach[j]);
      const double most =
          raised(reach[j] * (1 + split.weight_error) + std::fabs(bias) + split.bias_error);
      double least = multiplies ? of_product.low : -most;
      double greatest = multiplies ? of_product.high : most;
      if (!known.lower.empty()) {
        least = std::max(least, known.lower[j]);
        greatest = std::min(greatest, known.upper[j]);
      }
      if (layer.relu && greatest <= 0) continue;
      const auto place = static_cast<int>(split.neurons.size());
      own.place[j] = place;
      own.set(j, layer.relu ? std::max(least, 0.0) : least, greatest);
      largest = std::max(largest, std::max(std::fabs(least), std::fabs(greatest)));
      Phase phase = layer.relu && !(least >= 0) ? Phase::kOpen : Phase::kLinear;
      if (split.function != nullptr) {
        phase = Phase::kFunction;
        const FunctionValues values = values_on(*split.function, least, greatest);
        own.set(j, values.low, values.high);
        largest = std::max(largest, own.magnitude[j]);
      }
      if (phase != Phase::kLinear) {
        split.open.push_back(place);
        made->places_.emplace_back(id.number(), place);
        made->is_function_.push_back(phase == Phase::kFunction);
      }
      split.neurons.push_back(static_cast<int>(j));
      split.phase.push_back(phase);
      split.lower.push_back(least);
      split.upper.push_back(greatest);
      split.bias.push_back(bias);
      split.reach.push_back(reach[j]);
    }
    own.live = split.size();
    split.first_open = made->open_;
    made->open_ += split.open.size();
    split.first_function = made->functions_;
    if (split.function != nullptr) made->functions_ += split.size();
    // Each neuron adds an upper bound of the roundings that its coefficient meets and of the
    // numbers that it adds to the sum: an offset for a ReLU, three for a function.
    numbers += (multiplies ? 12 : split.function != nullptr ? 8 : 3) * split.size();
    if (multiplies) {
      split.first_product = made->products_;
      made->products_ += split.size();
      for (const int factor : {0, 1}) {
        const LayerId source = layer.term(factor).input;
        split.factor_sources.at(static_cast<std::size_t>(factor)) = source.number();
        if (source.is_layer())
          made->layers_[static_cast<std::size_t>(source.number())].is_read = true;
        most_products += most_reads(split.factors, factor, tensor(source).live);
      }
      continue;
    }

    std::vector<Product> list, turned;
    for_each_source(layer, [&](LayerId source, const auto& products_of) {
      const Tensor& from = tensor(source);
      Part part;
      part.source = source.number();
      if (source.is_layer())
        made->layers_[static_cast<std::size_t>(source.number())].is_read = true;
      list.clear();
      products_of([&](std::int64_t r, float weight, std::int64_t k) {
        const int row = own.place[static_cast<std::size_t>(r)];
        const int column = from.place[static_cast<std::size_t>(k)];
        if (row >= 0 && column >= 0) list.push_back({row, column, weight});
      });
      products += static_cast<double>(list.size());
      turned.clear();
      for (const Product& each : list) turned.push_back({each.column, each.row, each.weight});
      part.forward = LaneMatrix(split.size(), from.live, list);
      part.backward = LaneMatrix(from.live, split.size(), turned);
      // A coefficient is the sum of its products and of partial sums, which are added to each other
      // and to what is there.
      most_products += part.backward.most_products() + 4;
      split.parts.push_back(std::move(part));
    });
  }
  for (const LayerId head : plan.spec_heads)
    for (int j = 0; j < plan.layer(head).out; ++j)
      made->rows_.push_back({head.number(), tensor(head).place[static_cast<std::size_t>(j)]});
  made->roundings_ =
      static_cast<double>(numbers + 3 * lower.size() + most_products + made->rows_.size());
  // Every product, of coefficients and of numbers, loses at most 2^-1074, times what it is
  // multiplied by afterwards.
  made->underflow_ = raised((products + 4 * made->roundings_) * (1 + largest) * 0x1p-1074);
  return made;
}

}  // namespace bf_aot::decide
