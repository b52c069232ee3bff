#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "frontend/graph/graph.h"

// Networks whose every number is known exactly, and what they map boxes to, in exact arithmetic.
// Shares no code with the compiler.
namespace bf_aot::soundness {

using Random = std::mt19937_64;

// One affine layer, then ReLU when `relu`. The true weight is weight + weight_shift, of which the
// compiler learns weight and a bound weight_error >= |weight_shift|: what folding leaves behind.
// Empty errors and shifts are zeros. Biases alike.
struct NetLayer {
  int in = 0, out = 0;
  bool relu = false;
  std::vector<double> weight, bias;  // [out, in], [out]
  std::vector<double> weight_shift, bias_shift;
  std::vector<double> weight_error, bias_error;
};

// Without a bias.
NetLayer dense_layer(int in, int out, std::vector<double> weight, bool relu = false);

// A chain of layers.
struct Net {
  std::string label;
  std::vector<NetLayer> layers;

  int inputs() const { return layers.front().in; }
  int outputs() const { return layers.back().out; }
};

// The operator that an affine layer becomes: a matrix, a convolution of one pixel, compressed rows.
enum class Form : std::uint8_t { kDense, kConv, kSparse };

Graph to_graph(const Net& net, Form form = Form::kDense);

struct FloatBox {
  std::vector<float> lower, upper;
};

// values[i] * 2^exponent.
struct Numbers {
  std::vector<mpz_class> values;
  long exponent = 0;

  mpq_class rational(std::size_t i) const;
};

Numbers exact_numbers(const std::vector<double>& a, const std::vector<double>& b = {});
Numbers exact_numbers(const std::vector<float>& a);

// The sign of x - numbers[i]; x may be infinite.
int compare(double x, const Numbers& numbers, std::size_t i);

struct ExactBox {
  Numbers lower, upper;
};

// What no magnitude of a sound computation exceeds by much: without cancellation and ReLU.
double largest_magnitude(const Net& net, const FloatBox& box);

struct Range {
  mpq_class lower, upper;
};

// Exact maps of a network.
class ExactNet {
 public:
  explicit ExactNet(const Net& net);

  Numbers evaluate(Numbers x) const;

  // The interval method without rounding.
  ExactBox intervals(const FloatBox& box) const;

  // The exact range of each output of a network with one input, from its breakpoints.
  std::vector<Range> ranges(float lower, float upper) const;

  // Multiplications in one evaluation.
  std::int64_t work() const;

 private:
  struct Layer {
    int in = 0, out = 0;
    bool relu = false;
    Numbers weight, bias;
  };
  std::vector<Layer> layers_;
};

}  // namespace bf_aot::soundness
