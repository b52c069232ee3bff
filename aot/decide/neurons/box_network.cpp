#include "aot/decide/neurons/box_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "aot/decide/neurons/lanes/function_lanes.h"
#include "aot/engine/run/function_views.h"
#include "frontend/graph/conv_loops.h"
#include "planner/network/error_terms.h"
#include "planner/network/split_network.h"
#include "planner/plan/plan.h"

namespace bf_aot::decide {

// A tensor while layers are read: the place of each live element, the range of a, and the largest
// |a|.
struct BoxTensor {
  std::vector<int> place;  // -1: it is 0
  std::vector<double> lower, upper, magnitude;
  std::size_t live = 0;

  explicit BoxTensor(std::size_t size = 0)
      : place(size, -1), lower(size), upper(size), magnitude(size) {}

  void set(std::size_t element, double low, double high) {
    lower[element] = low;
    upper[element] = high;
    magnitude[element] = std::max(std::fabs(low), std::fabs(high));
  }
};

namespace {

// >= x, if x >= 0 comes from at most 2^20 operations rounded to nearest.
double raised(double x) {
  return x * (1 + 0x1p-30);
}

// visit(row, weight, column) for all products of a layer's term, row by row.
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

// visit(source, visit_products) for what a layer reads, where visit_products(visit) is as above.
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

// z as one of the functions.
constexpr Function kItself = {FunctionKind::kLeakyRelu, 1, 0};

// Products of a map, at most.
double listed_products(const Term& term, int rows) {
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    const ConvGeometry& g = conv->geometry;
    const double places = static_cast<double>(g.transposed ? term.in : rows);
    return places * static_cast<double>((g.transposed ? g.out_group() : g.in_group()) * g.taps());
  }
  if (std::holds_alternative<SparseMap>(term.map)) return static_cast<double>(term.weight.size());
  return rows;
}

// Estimates the bytes of all products, forward and backward, while they are listed, and of the
// numbers that a thread's lanes hold.
double estimated_bytes(const Plan& plan, const SplitNetworkPlan& network) {
  double products = 0, numbers = 0, functions = 0;
  for (const SplitLayerPlan& each : network.layers) {
    const Layer& layer = plan.layer(each.layer);
    products += static_cast<double>(layer.weight.size());
    for (const Term& term : layer.terms) products += listed_products(term, layer.out);
    // Two choices more of a product.
    numbers += (each.role == SplitRole::kProduct ? 2 : 1) * layer.out;
    if (each.role == SplitRole::kFunction || each.role == SplitRole::kFactor)
      functions += layer.out;
  }
  constexpr double kInLanes = 4 * sizeof(float) + sizeof(double);
  return products * static_cast<double>(2 * sizeof(Product) + 16) +
         static_cast<double>(kLanes) *
             (numbers * kInLanes + functions * static_cast<double>(2 * sizeof(FunctionState)));
}

// The elements that a factor of a layer's products is made of.
std::size_t source_of(const Layer& layer, int factor, std::size_t row) {
  const auto& gather = std::get<GatherMap>(layer.term(factor).map);
  return gather.source.empty() ? row : static_cast<std::size_t>(gather.source[row]);
}

using Factor = BoxNetwork::Factor;
using BoxLayer = BoxNetwork::BoxLayer;
using Phase = BoxNetwork::Phase;

double magnitude_of(const Factor& factor) {
  return std::max(std::fabs(factor.lower), std::fabs(factor.upper));
}

// The factors of an element of a layer of products; nothing where one of them is 0.
std::optional<std::array<Factor, 2>> factors_of(const Layer& layer, const BoxTensor& first,
                                                const BoxTensor& second, std::size_t row) {
  std::array<Factor, 2> made;
  for (const int k : {0, 1}) {
    const BoxTensor& from = k == 0 ? first : second;
    const std::size_t element = source_of(layer, k, row);
    if (from.place[element] < 0) return std::nullopt;
    made.at(static_cast<std::size_t>(k)) = {static_cast<std::size_t>(from.place[element]),
                                            from.lower[element], from.upper[element]};
  }
  return made;
}

// Products that read one element of a factor's tensor, at most.
std::size_t most_reads(const std::vector<std::array<Factor, 2>>& factors, int factor,
                       std::size_t elements) {
  std::vector<std::size_t> reads(elements);
  for (const auto& each : factors) ++reads[each.at(static_cast<std::size_t>(factor)).place];
  return reads.empty() ? 0 : std::ranges::max(reads);
}

struct Interval {
  double low = 0, high = 0;
};

// Cut to what is known of neuron j.
Interval clipped(const Interval& z, const engine::Ranges& known, std::size_t j) {
  if (known.lower.empty()) return z;
  return {std::max(z.low, known.lower[j]), std::min(z.high, known.upper[j])};
}

// Around x y.
Interval product_of(const Factor& x, const Factor& y) {
  const std::array<double, 4> ends = {x.lower * y.lower, x.lower * y.upper, x.upper * y.lower,
                                      x.upper * y.upper};
  const double room = raised(magnitude_of(x) * magnitude_of(y)) * 0x1p-40 + 0x1p-1000;
  return {std::ranges::min(ends) - room, std::ranges::max(ends) + room};
}

}  // namespace

FunctionInterval BoxNetwork::BoxLayer::interval(double low, double high) const {
  FunctionInterval made = interval_of(*function, low, high);
  if (!is_factor) return made;
  const double middle = low / 2 + high / 2;
  made.point = low < middle && middle < high ? std::optional(middle) : std::nullopt;
  made.value = middle;
  return made;
}

// Makes layer by layer what the box leaves of them.
class BoxNetwork::Builder {
 public:
  Builder(const Plan& plan, BoxNetwork& made)
      : plan_(plan),
        made_(made),
        tensors_(plan.layers.size(), BoxTensor()),
        counts_(static_cast<double>(made.inputs()), plan.spec_rows) {
    BoxTensor& inputs = tensors_[kNetworkInput];
    inputs = BoxTensor(made.inputs());
    for (std::size_t i = 0; i < made.inputs(); ++i) {
      inputs.place[i] = static_cast<int>(i);
      inputs.set(i, static_cast<double>(made.lower_[i]), static_cast<double>(made.upper_[i]));
      largest_ = std::max(largest_, inputs.magnitude[i]);
    }
    inputs.live = made.inputs();
  }

  // known: where z lies, of a relaxed layer. False where numbers are too large.
  bool add_layer(const SplitLayerPlan& planned, const engine::Ranges& known) {
    const Layer& layer = plan_.layer(planned.layer);
    begin_layer(planned, layer);
    tensors_[planned.layer] = BoxTensor(static_cast<std::size_t>(layer.out));
    if (planned.role != SplitRole::kProduct)
      add_sums(planned, layer, known);
    else if (!add_products(planned, layer, known))
      return false;
    number_layer(planned);
    if (planned.role == SplitRole::kProduct)
      count_reads(layer);
    else
      for_each_source(layer, [&](LayerId source, const auto& products_of) {
        add_part(planned.layer, source, products_of);
      });
    return true;
  }

  // Adds the rows and the errors once all layers are there.
  void finish() {
    for (const LayerId head : plan_.spec_heads)
      for (const int place : tensors_[head].place) made_.rows_.push_back({head.number(), place});
    const SplitErrors errors = split_errors(plan_.config, counts_, largest_);
    made_.errors_ = {errors.coefficient, errors.row, errors.sum, errors.underflow};
    made_.roundings_ = counts_.roundings();
  }

 private:
  BoxLayer& last() { return made_.layers_.back(); }

  void begin_layer(const SplitLayerPlan& planned, const Layer& layer) {
    BoxLayer& made = made_.layers_.emplace_back();
    made.weight_error = term(plan_.config, ErrorTerm::kNodeWeight, layer.errors.weight_relative);
    made.bias_error = term(plan_.config, ErrorTerm::kNodeBias, layer.errors.bias_double);
    made.is_factor = planned.role == SplitRole::kFactor;
    made.is_product = planned.role == SplitRole::kProduct;
    made.is_read = planned.is_read;
    if (planned.role == SplitRole::kFunction)
      made.function = made_.views_->of(*layer.function);
    else if (made.is_factor)
      made.function = made_.views_->of(kItself);
  }

  // sum |w_jk| max |a_k| of each neuron.
  std::vector<double> reaches_of(const Layer& layer) {
    std::vector<double> reach(static_cast<std::size_t>(layer.out));
    for_each_source(layer, [&](LayerId source, const auto& products_of) {
      const BoxTensor& from = tensors_[source];
      products_of([&](std::int64_t r, float weight, std::int64_t k) {
        reach[static_cast<std::size_t>(r)] +=
            std::fabs(static_cast<double>(weight)) * from.magnitude[static_cast<std::size_t>(k)];
      });
    });
    for (double& each : reach) each = raised(each);
    return reach;
  }

  void add_sums(const SplitLayerPlan& planned, const Layer& layer, const engine::Ranges& known) {
    const std::vector<double> reach = reaches_of(layer);
    const BoxLayer& made = last();
    for (std::size_t j = 0; j < reach.size(); ++j) {
      const double bias = layer.bias.empty() ? 0 : layer.bias[j];
      const double most =
          raised(reach[j] * (1 + made.weight_error) + std::fabs(bias) + made.bias_error);
      add_neuron(planned, {j, reach[j], bias}, clipped({-most, most}, known, j));
    }
  }

  bool add_products(const SplitLayerPlan& planned, const Layer& layer,
                    const engine::Ranges& known) {
    const BoxTensor& first = tensors_[layer.term(0).input];
    const BoxTensor& second = tensors_[layer.term(1).input];
    for (std::size_t j = 0; j < static_cast<std::size_t>(layer.out); ++j) {
      auto factors = factors_of(layer, first, second, j);
      if (!factors) continue;
      const auto& [x, y] = *factors;
      const double reach = 4 * magnitude_of(x) * magnitude_of(y);
      if (!std::isfinite(reach)) return false;
      for (const int k : {0, 1})
        name_factor(layer.term(k).input, factors->at(static_cast<std::size_t>(k)));
      last().factors.push_back(*factors);
      add_neuron(planned, {j, raised(reach), 0}, clipped(product_of(x, y), known, j));
    }
    return true;
  }

  // The open neuron that a factor is, if it may be split.
  void name_factor(LayerId source, Factor& factor) const {
    if (!source.is_layer()) return;
    const BoxLayer& from = made_.layers_[static_cast<std::size_t>(source.number())];
    if (from.is_factor) factor.open = from.first_open + factor.place;
  }

  struct Neuron {
    std::size_t number = 0;  // of the plan's layer
    double reach = 0, bias = 0;
  };

  // Unless it is 0 on the whole box. z: where it lies.
  void add_neuron(const SplitLayerPlan& planned, const Neuron& neuron, const Interval& z) {
    const bool relu = planned.role == SplitRole::kRelu;
    if (relu && z.high <= 0) return;
    BoxLayer& made = last();
    BoxTensor& own = tensors_[planned.layer];
    const auto place = static_cast<int>(made.size());
    own.place[neuron.number] = place;
    own.set(neuron.number, relu ? std::max(z.low, 0.0) : z.low, z.high);
    largest_ = std::max(largest_, std::max(std::fabs(z.low), std::fabs(z.high)));
    Phase phase = relu && !(z.low >= 0) ? Phase::kOpen : Phase::kLinear;
    if (made.function != nullptr) {
      phase = Phase::kFunction;
      const FunctionValues values = values_on(*made.function, z.low, z.high);
      own.set(neuron.number, values.low, values.high);
      largest_ = std::max(largest_, own.magnitude[neuron.number]);
    }
    if (phase != Phase::kLinear) {
      made.open.push_back(place);
      made_.places_.emplace_back(planned.layer.number(), place);
      made_.is_function_.push_back(phase == Phase::kFunction);
    }
    made.neurons.push_back(static_cast<int>(neuron.number));
    made.phase.push_back(phase);
    made.lower.push_back(z.low);
    made.upper.push_back(z.high);
    made.bias.push_back(neuron.bias);
    made.reach.push_back(neuron.reach);
  }

  // The numbers of its first neurons among those of all layers.
  void number_layer(const SplitLayerPlan& planned) {
    BoxLayer& made = last();
    tensors_[planned.layer].live = made.size();
    made.first_open = made_.open_;
    made_.open_ += made.open.size();
    made.first_function = made_.functions_;
    if (made.function != nullptr) made_.functions_ += made.size();
    made.first_product = made_.products_;
    if (made.is_product) made_.products_ += made.size();
    counts_.add_neurons(planned.role, static_cast<double>(made.size()));
  }

  void count_reads(const Layer& layer) {
    for (const int k : {0, 1}) {
      const LayerId source = layer.term(k).input;
      last().factor_sources.at(static_cast<std::size_t>(k)) = source.number();
      counts_.add_factor(static_cast<double>(most_reads(last().factors, k, tensors_[source].live)));
    }
  }

  // Adds the products by which the live neurons of the layer read the live elements of a tensor.
  template <class ProductsOf>
  void add_part(LayerId layer, LayerId source, const ProductsOf& products_of) {
    const BoxTensor& own = tensors_[layer];
    const BoxTensor& from = tensors_[source];
    std::vector<Product> list, turned;
    products_of([&](std::int64_t r, float weight, std::int64_t k) {
      const int row = own.place[static_cast<std::size_t>(r)];
      const int column = from.place[static_cast<std::size_t>(k)];
      if (row < 0 || column < 0) return;
      list.push_back({row, column, weight});
      turned.push_back({column, row, weight});
    });
    Part part;
    part.source = source.number();
    part.forward = LaneMatrix(own.live, from.live, list);
    part.backward = LaneMatrix(from.live, own.live, turned);
    counts_.add_map(static_cast<double>(list.size()),
                    static_cast<double>(part.backward.most_products()));
    last().parts.push_back(std::move(part));
  }

  const Plan& plan_;
  BoxNetwork& made_;
  PerTensor<BoxTensor> tensors_;
  SplitCounts counts_;
  double largest_ = 1;  // magnitude that a number has, at least 1
};

BoxNetwork::BoxNetwork(std::vector<float> lower, std::vector<float> upper)
    : lower_(std::move(lower)),
      upper_(std::move(upper)),
      views_(std::make_unique<engine::FunctionViews>()) {}

BoxNetwork::~BoxNetwork() = default;

std::unique_ptr<const BoxNetwork> BoxNetwork::make(const Plan& plan,
                                                   const SplitNetworkPlan& network,
                                                   const std::vector<float>& lower,
                                                   const std::vector<float>& upper,
                                                   const std::vector<engine::Ranges>& ranges,
                                                   std::size_t most_bytes) {
  if (estimated_bytes(plan, network) > static_cast<double>(most_bytes)) return nullptr;
  std::unique_ptr<BoxNetwork> made(new BoxNetwork(lower, upper));
  made->norm_ = plan.config.norm;
  Builder builder(plan, *made);
  for (const SplitLayerPlan& each : network.layers)
    if (!builder.add_layer(each, ranges[static_cast<std::size_t>(each.layer.number())]))
      return nullptr;
  builder.finish();
  return made;
}

}  // namespace bf_aot::decide
