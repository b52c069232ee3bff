#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Random quantised networks as ONNX files in text form.
namespace bf_aot::integer_test {

using Random = std::mt19937_64;

// A tensor of codes' values and where they come from.
struct Tensor {
  std::string name;
  std::vector<int> shape;
  double scale = 1;  // of its codes, a float

  int count() const {
    int product = 1;
    for (const int extent : shape) product *= extent;
    return product;
  }
};

// Powers of two make ties of rounding common; so do fractions of small numbers, of sums.
enum class Scales : std::uint8_t { kAny, kPowersOfTwo, kFractions };

class QuantisedModel {
 public:
  QuantisedModel(Random& random, Scales scales) : random_(random), scales_(scales) {}

  // The network's input, rounded to codes.
  Tensor input(std::vector<int> shape);

  // Layers, each rounded to codes again.
  Tensor dense(const Tensor& x, int rows, bool relu);
  Tensor dense_sigmoid(const Tensor& x, int rows);  // rounded behind the function alone
  Tensor dense_sums(const Tensor& x, int rows);     // not rounded: for an output
  Tensor conv(const Tensor& x, int channels, int kernel, int stride, int pad, int groups,
              bool relu);
  Tensor qlinear_matmul(const Tensor& x, int columns);
  Tensor qlinear_conv(const Tensor& x, int channels, int kernel, int pad);
  Tensor add(const Tensor& a, const Tensor& b);
  Tensor concat(const Tensor& a, const Tensor& b, int axis, bool rounded);
  Tensor unary(const Tensor& x, const std::string& op, double low, double high);
  Tensor max_pool(const Tensor& x);
  Tensor average_pool(const Tensor& x, int pad);
  Tensor global_average(const Tensor& x);
  Tensor flatten(const Tensor& x);
  Tensor transpose(const Tensor& x);  // of an image

  // The text, with x as the output; codes themselves where x is of a QLinear operator.
  std::string finish(const Tensor& x) { return finish(std::vector{x}); }
  std::string finish(const std::vector<Tensor>& outputs);

 private:
  int pick(int low, int high);
  double uniform(double low, double high);
  double scale(double low, double high);
  std::string fresh(const std::string& stem);
  std::string initializer(const std::vector<int>& shape, int type, const std::vector<double>& data);
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::string& attributes = "");
  struct Codes {
    std::string codes, scale, zero;
    double step = 1;
  };
  // Codes of numbers between low and high, mostly.
  Codes quantize(const std::string& x, double low, double high);
  Codes parameters(double low, double high, int type);
  Tensor round(const std::string& x, std::vector<int> shape, double low, double high);
  struct Weights {
    std::string name;
    std::vector<double> scales;
  };
  Weights weights(const std::vector<int>& shape, int fan_in);
  std::string bias(int count, double x_scale, const Weights& weights);

  Random& random_;
  const Scales scales_;
  int names_ = 0;
  std::vector<int> input_shape_;
  std::string nodes_, initializers_;
};

// A network of several layers: dense ones, or an image's with convolutions, pools, sums, functions.
std::string random_model(Random& random);

}  // namespace bf_aot::integer_test
