#include "tests/soundness/net.h"

#include <algorithm>
#include <cmath>

namespace bf_aot::soundness {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

mpz_class shifted(const mpz_class& x, long bits) {
  return bits >= 0 ? mpz_class(x << static_cast<unsigned long>(bits))
                   : mpz_class(x >> static_cast<unsigned long>(-bits));
}

// x = mantissa * 2^exponent with an odd mantissa; 0 for 0.
struct Odd {
  std::int64_t mantissa = 0;
  long exponent = 0;

  explicit Odd(double x) {
    if (x == 0) return;
    int shift = 0;
    mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &shift), 53));
    exponent = shift - 53L;
    while (mantissa % 2 == 0) {
      mantissa /= 2;
      ++exponent;
    }
  }
};

long least_exponent(const std::vector<double>& numbers, long least) {
  for (const double x : numbers)
    if (x != 0) least = std::min(least, Odd(x).exponent);
  return least;
}

mpz_class scaled(double x, long exponent) {
  const Odd odd(x);
  return odd.mantissa == 0 ? mpz_class(0)
                           : shifted(mpz_class(odd.mantissa), odd.exponent - exponent);
}

// Brings both to one exponent.
void align(Numbers& a, Numbers& b) {
  const long exponent = std::min(a.exponent, b.exponent);
  for (Numbers* numbers : {&a, &b}) {
    for (mpz_class& value : numbers->values) value = shifted(value, numbers->exponent - exponent);
    numbers->exponent = exponent;
  }
}

Constant constant(Shape shape, const std::vector<double>& data, const std::vector<double>& error) {
  return {std::move(shape), data, error};
}

// A piece of the graph of a network with one input: slope x + offset per neuron, x in [from, to].
struct Piece {
  mpq_class from, to;
  std::vector<mpq_class> slope, offset;
};

Op affine_op(const NetLayer& layer, Form form) {
  const Constant bias = constant({layer.out}, layer.bias, layer.bias_error);
  if (form == Form::kConv) {
    ConvGeometry g;
    g.in_channels = layer.in;
    g.out_channels = layer.out;
    g.in = dense_layout(layer.in, g.in_size);
    g.out = dense_layout(layer.out, g.out_size);
    return Conv{g, constant({layer.out, layer.in, 1}, layer.weight, layer.weight_error), bias};
  }
  if (form == Form::kDense)
    return Affine{constant({layer.out, layer.in}, layer.weight, layer.weight_error), bias};
  SparseAffine sparse;
  sparse.row_start.push_back(0);
  for (int j = 0; j < layer.out; ++j) {
    for (int k = 0; k < layer.in; ++k) sparse.column.push_back(k);
    sparse.row_start.push_back(static_cast<std::int64_t>(sparse.column.size()));
  }
  sparse.value = constant({layer.out * layer.in}, layer.weight, layer.weight_error);
  sparse.bias = bias;
  return sparse;
}

}  // namespace

NetLayer dense_layer(int in, int out, std::vector<double> weight, bool relu) {
  NetLayer layer;
  layer.in = in;
  layer.out = out;
  layer.relu = relu;
  layer.weight = std::move(weight);
  layer.bias.assign(static_cast<std::size_t>(out), 0);
  return layer;
}

Graph to_graph(const Net& net, Form form) {
  Graph graph;
  graph.name = net.label;
  ValueId last = graph.add_value("x", {net.inputs()});
  graph.inputs = {last};
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const NetLayer& layer = net.layers[i];
    const std::string number = std::to_string(i + 1);
    const ValueId z = graph.add_value("z" + number, {layer.out});
    graph.nodes.push_back({affine_op(layer, form), {last}, z, "Gemm 'fc" + number + "'"});
    last = z;
    if (!layer.relu) continue;
    const ValueId a = graph.add_value("a" + number, {layer.out});
    graph.nodes.push_back({Relu{}, {last}, a, "Relu 'relu" + number + "'"});
    last = a;
  }
  graph.outputs = {last};
  return graph;
}

mpq_class Numbers::rational(std::size_t i) const {
  mpq_class x(values[i]);
  if (exponent >= 0) return x << static_cast<unsigned long>(exponent);
  return x >> static_cast<unsigned long>(-exponent);
}

Numbers exact_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  Numbers numbers;
  numbers.exponent = least_exponent(b, least_exponent(a, 0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    numbers.values.push_back(scaled(a[i], numbers.exponent));
    if (!b.empty()) numbers.values.back() += scaled(b[i], numbers.exponent);
  }
  return numbers;
}

Numbers exact_numbers(const std::vector<float>& a) {
  return exact_numbers(std::vector<double>(a.begin(), a.end()));
}

int compare(double x, const Numbers& numbers, std::size_t i) {
  if (std::isinf(x)) return x > 0 ? 1 : -1;
  const Odd odd(x);
  const long shift = odd.exponent - numbers.exponent;
  if (odd.mantissa == 0 || shift >= 0)
    return cmp(shifted(mpz_class(odd.mantissa), std::max(0L, shift)), numbers.values[i]);
  return cmp(mpz_class(odd.mantissa), shifted(numbers.values[i], -shift));
}

double largest_magnitude(const Net& net, const FloatBox& box) {
  double largest = 0;
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    largest = std::max({largest, std::abs(static_cast<double>(box.lower[i])),
                        std::abs(static_cast<double>(box.upper[i]))});
  for (const NetLayer& layer : net.layers) {
    double next = 0;
    for (int j = 0; j < layer.out; ++j) {
      double sum = std::abs(layer.bias[at(j)]);
      for (int k = 0; k < layer.in; ++k)
        sum += std::abs(layer.weight[at(j) * at(layer.in) + at(k)]) * largest;
      next = std::max(next, sum);
    }
    largest = std::max(largest, next);
  }
  return largest;
}

ExactNet::ExactNet(const Net& net) {
  for (const NetLayer& layer : net.layers)
    layers_.push_back({layer.in, layer.out, layer.relu,
                       exact_numbers(layer.weight, layer.weight_shift),
                       exact_numbers(layer.bias, layer.bias_shift)});
}

std::int64_t ExactNet::work() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers_) sum += std::int64_t{layer.in} * layer.out;
  return sum;
}

Numbers ExactNet::evaluate(Numbers x) const {
  for (const Layer& layer : layers_) {
    Numbers z;
    z.exponent = x.exponent + layer.weight.exponent;
    z.values.resize(at(layer.out));
    const mpz_class* w = layer.weight.values.data();
    for (mpz_class& sum : z.values)
      for (const mpz_class& value : x.values)
        mpz_addmul(sum.get_mpz_t(), (w++)->get_mpz_t(), value.get_mpz_t());
    Numbers bias = layer.bias;
    align(z, bias);
    for (std::size_t j = 0; j < z.values.size(); ++j) {
      z.values[j] += bias.values[j];
      if (layer.relu && z.values[j] < 0) z.values[j] = 0;
    }
    x = std::move(z);
  }
  return x;
}

ExactBox ExactNet::intervals(const FloatBox& box) const {
  ExactBox x{exact_numbers(box.lower), exact_numbers(box.upper)};
  for (const Layer& layer : layers_) {
    align(x.lower, x.upper);
    ExactBox z;
    z.lower.exponent = z.upper.exponent = x.lower.exponent + layer.weight.exponent;
    z.lower.values.resize(at(layer.out));
    z.upper.values.resize(at(layer.out));
    for (int j = 0; j < layer.out; ++j)
      for (int k = 0; k < layer.in; ++k) {
        const mpz_class& w = layer.weight.values[at(j) * at(layer.in) + at(k)];
        const bool up = w > 0;
        mpz_addmul(z.lower.values[at(j)].get_mpz_t(), w.get_mpz_t(),
                   (up ? x.lower : x.upper).values[at(k)].get_mpz_t());
        mpz_addmul(z.upper.values[at(j)].get_mpz_t(), w.get_mpz_t(),
                   (up ? x.upper : x.lower).values[at(k)].get_mpz_t());
      }
    for (Numbers* end : {&z.lower, &z.upper}) {
      Numbers bias = layer.bias;
      align(*end, bias);
      for (std::size_t j = 0; j < end->values.size(); ++j) {
        end->values[j] += bias.values[j];
        if (layer.relu && end->values[j] < 0) end->values[j] = 0;
      }
    }
    x = std::move(z);
  }
  return x;
}

std::vector<Range> ExactNet::ranges(float lower, float upper) const {
  const Numbers ends = exact_numbers(std::vector<float>{lower, upper});
  std::vector<Piece> pieces = {{ends.rational(0), ends.rational(1), {1}, {0}}};
  for (const Layer& layer : layers_) {
    std::vector<Piece> next;
    for (const Piece& piece : pieces) {
      Piece z{piece.from, piece.to, {}, {}};
      std::vector<mpq_class> cuts = {piece.from, piece.to};
      for (int j = 0; j < layer.out; ++j) {
        mpq_class slope = 0, offset = layer.bias.rational(at(j));
        for (int k = 0; k < layer.in; ++k) {
          const mpq_class w = layer.weight.rational(at(j) * at(layer.in) + at(k));
          slope += w * piece.slope[at(k)];
          offset += w * piece.offset[at(k)];
        }
        if (layer.relu && slope != 0) {
          const mpq_class zero = -offset / slope;
          if (zero > piece.from && zero < piece.to) cuts.push_back(zero);
        }
        z.slope.push_back(slope);
        z.offset.push_back(offset);
      }
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
      if (cuts.size() == 1) cuts.push_back(cuts.front());
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        Piece part{cuts[i], cuts[i + 1], z.slope, z.offset};
        const mpq_class middle = (part.from + part.to) / 2;
        for (std::size_t j = 0; layer.relu && j < part.slope.size(); ++j)
          if (part.slope[j] * middle + part.offset[j] < 0) part.slope[j] = part.offset[j] = 0;
        next.push_back(std::move(part));
      }
    }
    pieces = std::move(next);
  }
  std::vector<Range> ranges(at(layers_.back().out));
  for (std::size_t j = 0; j < ranges.size(); ++j) {
    bool first = true;
    for (const Piece& piece : pieces)
      for (const mpq_class& x : {piece.from, piece.to}) {
        const mpq_class y = piece.slope[j] * x + piece.offset[j];
        if (first || y < ranges[j].lower) ranges[j].lower = y;
        if (first || y > ranges[j].upper) ranges[j].upper = y;
        first = false;
      }
  }
  return ranges;
}

}  // namespace bf_aot::soundness
