#include "tests/integer/quantised_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bf_aot::integer_test {
namespace {

// TensorProto.DataType
constexpr int kFloat = 1;
constexpr int kUint8 = 2;
constexpr int kInt8 = 3;
constexpr int kInt32 = 6;

std::string ints(const std::string& name, const std::vector<int>& values) {
  std::string text = fmt::format("attribute {{ name: \"{}\" type: INTS", name);
  for (const int value : values) text += fmt::format(" ints: {}", value);
  return text + " } ";
}

std::string number(const std::string& name, int value) {
  return fmt::format("attribute {{ name: \"{}\" type: INT i: {} }} ", name, value);
}

std::string value_info(const std::string& name, const std::vector<int>& shape) {
  std::string dims;
  for (const int extent : shape) dims += fmt::format(" dim {{ dim_value: {} }}", extent);
  return fmt::format("{{ name: \"{}\" type {{ tensor_type {{ elem_type: 1 shape {{{} }} }} }} }}",
                     name, dims);
}

double to_float(double x) {
  return static_cast<double>(static_cast<float>(x));
}

}  // namespace

int QuantisedModel::pick(int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random_);
}

double QuantisedModel::uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_);
}

double QuantisedModel::scale(double low, double high) {
  const double any = uniform(low, high);
  if (scales_ == Scales::kFractions) return to_float(1 / (30 * std::ceil(1 / (30 * any))));
  return scales_ == Scales::kAny ? to_float(any) : std::exp2(std::round(std::log2(any)));
}

std::string QuantisedModel::fresh(const std::string& stem) {
  return fmt::format("{}{}", stem, ++names_);
}

std::string QuantisedModel::initializer(const std::vector<int>& shape, int type,
                                        const std::vector<double>& data) {
  const std::string name = fresh("c");
  initializers_ += fmt::format("initializer {{ name: \"{}\" data_type: {}", name, type);
  for (const int extent : shape) initializers_ += fmt::format(" dims: {}", extent);
  for (const double value : data)
    initializers_ += type == kFloat ? fmt::format(" float_data: {}", static_cast<float>(value))
                                    : fmt::format(" int32_data: {}", static_cast<int>(value));
  initializers_ += " }\n";
  return name;
}

std::string QuantisedModel::node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::string& attributes) {
  const std::string name = fresh("t");
  nodes_ += fmt::format("node {{ op_type: \"{}\" name: \"n_{}\" output: \"{}\"", op, name, name);
  for (const std::string& input : inputs) nodes_ += fmt::format(" input: \"{}\"", input);
  nodes_ += fmt::format(" {} }}\n", attributes);
  return name;
}

QuantisedModel::Codes QuantisedModel::parameters(double low, double high, int type) {
  const double step = scale((high - low) / 300, (high - low) / 200);
  const double least = type == kUint8 ? 0 : -128;
  const double zero = std::clamp(std::round(least - low / step), least, least + 255);
  return {"", initializer({}, kFloat, {step}), initializer({}, type, {zero}), step};
}

QuantisedModel::Codes QuantisedModel::quantize(const std::string& x, double low, double high) {
  Codes codes = parameters(low, high, pick(0, 1) == 0 ? kUint8 : kInt8);
  codes.codes = node("QuantizeLinear", {x, codes.scale, codes.zero});
  return codes;
}

Tensor QuantisedModel::round(const std::string& x, std::vector<int> shape, double low,
                             double high) {
  const Codes codes = quantize(x, low, high);
  return {node("DequantizeLinear", {codes.codes, codes.scale, codes.zero}), std::move(shape),
          codes.step};
}

Tensor QuantisedModel::input(std::vector<int> shape) {
  input_shape_ = shape;
  return round("x", std::move(shape), pick(0, 1) == 0 ? 0 : -1, 1);
}

QuantisedModel::Weights QuantisedModel::weights(const std::vector<int>& shape, int fan_in) {
  Weights result;
  const bool each = pick(0, 1) == 0;
  int count = 1;
  for (const int extent : shape) count *= extent;
  std::vector<double> codes;
  for (int i = 0; i < count; ++i) codes.push_back(pick(-127, 127));
  const double size = 1 / (80 * std::sqrt(static_cast<double>(fan_in)));
  for (int c = 0; c < (each ? shape[0] : 1); ++c)
    result.scales.push_back(scale(0.6 * size, 1.6 * size));
  const std::vector<int> of = each ? std::vector<int>{shape[0]} : std::vector<int>{};
  // Without an axis of their own all zero points are 0.
  const double zero = each || pick(0, 1) == 0 ? 0 : pick(-20, 20);
  result.name = node("DequantizeLinear",
                     {initializer(shape, kInt8, codes), initializer(of, kFloat, result.scales),
                      initializer(of, kInt8, std::vector<double>(result.scales.size(), zero))},
                     number("axis", 0));
  return result;
}

std::string QuantisedModel::bias(int count, double x_scale, const Weights& weights) {
  std::vector<double> scales, codes;
  for (const double w : weights.scales) scales.push_back(to_float(w * x_scale));
  for (int i = 0; i < count; ++i)
    codes.push_back(std::round(uniform(-0.5, 0.5) /
                               scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(i)]));
  const std::vector<int> of = scales.size() == 1 ? std::vector<int>{} : std::vector<int>{count};
  return node("DequantizeLinear",
              {initializer({count}, kInt32, codes), initializer(of, kFloat, scales)},
              number("axis", 0));
}

Tensor QuantisedModel::dense(const Tensor& x, int rows, bool relu) {
  const Weights w = weights({rows, x.count()}, x.count());
  std::string y = node("Gemm", {x.name, w.name, bias(rows, x.scale, w)}, number("transB", 1));
  if (relu) y = node("Relu", {y});
  return round(y, {1, rows}, relu ? 0 : -1.2, 1.2);
}

Tensor QuantisedModel::dense_sigmoid(const Tensor& x, int rows) {
  const Weights w = weights({rows, x.count()}, x.count());
  const std::string y = node("Gemm", {x.name, w.name, bias(rows, x.scale, w)}, number("transB", 1));
  return round(node("Sigmoid", {y}), {1, rows}, 0, 1);
}

Tensor QuantisedModel::dense_sums(const Tensor& x, int rows) {
  const Weights w = weights({rows, x.count()}, x.count());
  std::vector<double> values;
  for (int i = 0; i < rows; ++i) values.push_back(to_float(uniform(-0.5, 0.5)));
  return {node("Gemm", {x.name, w.name, initializer({rows}, kFloat, values)}, number("transB", 1)),
          {1, rows},
          1};
}

Tensor QuantisedModel::conv(const Tensor& x, int channels, int kernel, int stride, int pad,
                            int groups, bool relu) {
  const int inputs = x.shape[1] / groups;
  const Weights w = weights({channels, inputs, kernel, kernel}, inputs * kernel * kernel);
  std::string y = node("Conv", {x.name, w.name, bias(channels, x.scale, w)},
                       ints("kernel_shape", {kernel, kernel}) + ints("strides", {stride, stride}) +
                           ints("pads", {pad, pad, pad, pad}) + number("group", groups));
  if (relu) y = node("Relu", {y});
  const int height = (x.shape[2] + 2 * pad - kernel) / stride + 1;
  const int width = (x.shape[3] + 2 * pad - kernel) / stride + 1;
  return round(y, {1, channels, height, width}, relu ? 0 : -1.2, 1.2);
}

Tensor QuantisedModel::qlinear_matmul(const Tensor& x, int columns) {
  const Codes a = quantize(x.name, -1, 1);
  std::vector<double> codes;
  for (int i = 0; i < x.count() * columns; ++i) codes.push_back(pick(-90, 90));
  const double size = scale(0.01, 0.02) / std::sqrt(static_cast<double>(x.count()));
  const Codes y = parameters(-1.2, 1.2, kInt8);
  const std::string made = node(
      "QLinearMatMul", {a.codes, a.scale, a.zero, initializer({x.count(), columns}, kInt8, codes),
                        initializer({}, kFloat, {to_float(size)}),
                        initializer({}, kInt8, {1.0 * pick(-3, 3)}), y.scale, y.zero});
  return {node("DequantizeLinear", {made, y.scale, y.zero}), {1, columns}, y.step};
}

Tensor QuantisedModel::qlinear_conv(const Tensor& x, int channels, int kernel, int pad) {
  const Codes a = quantize(x.name, -1, 1);
  const int inputs = x.shape[1];
  std::vector<double> codes, bias;
  for (int i = 0; i < channels * inputs * kernel * kernel; ++i) codes.push_back(pick(-90, 90));
  const double size = scale(0.01, 0.02) / std::sqrt(static_cast<double>(inputs * kernel * kernel));
  for (int i = 0; i < channels; ++i) bias.push_back(pick(-2000, 2000));
  const Codes y = parameters(-1.2, 1.2, kUint8);
  const std::string made =
      node("QLinearConv",
           {a.codes, a.scale, a.zero, initializer({channels, inputs, kernel, kernel}, kInt8, codes),
            initializer({}, kFloat, {to_float(size)}), initializer({}, kInt8, {0}), y.scale, y.zero,
            initializer({channels}, kInt32, bias)},
           ints("kernel_shape", {kernel, kernel}) + ints("pads", {pad, pad, pad, pad}));
  return {node("DequantizeLinear", {made, y.scale, y.zero}),
          {1, channels, x.shape[2] + 2 * pad - kernel + 1, x.shape[3] + 2 * pad - kernel + 1},
          y.step};
}

Tensor QuantisedModel::add(const Tensor& a, const Tensor& b) {
  std::string y = node("Add", {a.name, b.name});
  const bool relu = pick(0, 1) == 0;
  if (relu) y = node("Relu", {y});
  return round(y, a.shape, relu ? 0 : -1.8, 1.8);
}

Tensor QuantisedModel::concat(const Tensor& a, const Tensor& b, int axis, bool rounded) {
  const std::string y = node("Concat", {a.name, b.name}, number("axis", axis));
  std::vector<int> shape = a.shape;
  shape[static_cast<std::size_t>(axis)] += b.shape[static_cast<std::size_t>(axis)];
  if (!rounded) return {y, shape, a.scale};
  return round(y, shape, -1, 1);
}

Tensor QuantisedModel::unary(const Tensor& x, const std::string& op, double low, double high) {
  return round(node(op, {x.name}), x.shape, low, high);
}

// Of twice two: the codes of the result are those of the input, or others.
Tensor QuantisedModel::max_pool(const Tensor& x) {
  return round(node("MaxPool", {x.name}, ints("kernel_shape", {2, 2}) + ints("strides", {2, 2})),
               {1, x.shape[1], x.shape[2] / 2, x.shape[3] / 2}, -1, 1);
}

Tensor QuantisedModel::average_pool(const Tensor& x, int pad) {
  return round(node("AveragePool", {x.name},
                    ints("kernel_shape", {2, 2}) + ints("strides", {2, 2}) +
                        ints("pads", {pad, pad, pad, pad}) + number("count_include_pad", 1)),
               {1, x.shape[1], (x.shape[2] + 2 * pad) / 2, (x.shape[3] + 2 * pad) / 2}, -1, 1);
}

Tensor QuantisedModel::global_average(const Tensor& x) {
  return round(node("GlobalAveragePool", {x.name}), {1, x.shape[1], 1, 1}, -0.6, 0.6);
}

Tensor QuantisedModel::flatten(const Tensor& x) {
  return {node("Flatten", {x.name}), {1, x.count()}, x.scale};
}

Tensor QuantisedModel::transpose(const Tensor& x) {
  return {node("Transpose", {x.name}, ints("perm", {0, 1, 3, 2})),
          {x.shape[0], x.shape[1], x.shape[3], x.shape[2]},
          x.scale};
}

std::string QuantisedModel::finish(const std::vector<Tensor>& outputs) {
  std::string listed;
  for (const Tensor& x : outputs) listed += "output " + value_info(x.name, x.shape) + " ";
  return fmt::format(
      "ir_version: 8 opset_import {{ version: 13 }} graph {{ name: \"g\"\n{}{}input {} {}}}\n",
      nodes_, initializers_, value_info("x", input_shape_), listed);
}

namespace {

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

std::string dense_model(Random& random, QuantisedModel& model) {
  Tensor x = model.input({1, pick(random, 1, 9)});
  const int layers = pick(random, 1, 3);
  for (int i = 0; i < layers; ++i) {
    const int kind = pick(random, 0, 7);
    x = kind < 2    ? model.qlinear_matmul(x, pick(random, 1, 8))
        : kind == 2 ? model.dense_sigmoid(x, pick(random, 1, 8))
                    : model.dense(x, pick(random, 1, 8), i + 1 < layers);
    if (pick(random, 0, 3) == 0)
      x = pick(random, 0, 1) == 0 ? model.unary(x, "Sigmoid", 0, 1) : model.unary(x, "Tanh", -1, 1);
  }
  return model.finish(pick(random, 0, 2) == 0 ? model.dense_sums(x, 3) : x);
}

std::string image_model(Random& random, QuantisedModel& model) {
  const int channels = pick(random, 1, 3);
  Tensor x = model.input({1, pick(random, 1, 2), 6, 6});
  x = pick(random, 0, 2) == 0 ? model.qlinear_conv(x, channels, 3, pick(random, 0, 1))
                              : model.conv(x, channels, pick(random, 1, 3), pick(random, 1, 2),
                                           pick(random, 0, 1), 1, true);
  switch (pick(random, 0, 6)) {
    case 0:
      x = model.max_pool(x);
      break;
    case 1:
      x = model.average_pool(x, pick(random, 0, 1));
      break;
    case 2:
      x = model.add(x, model.conv(x, channels, 3, 1, 1, channels, false));
      break;
    case 3:
      x = model.add(model.unary(x, "Sigmoid", 0, 1), x);
      break;
    case 4:
      x = model.transpose(x);
      break;
    case 5:
      x = model.concat(x, model.unary(x, "Sigmoid", 0, 1), pick(random, 1, 3), true);
      break;
    case 6:
      x = model.concat(x, x, pick(random, 1, 2), false);
      break;
  }
  if (pick(random, 0, 1) == 0) x = model.global_average(x);
  return model.finish(model.dense(model.flatten(x), pick(random, 1, 4), false));
}

}  // namespace

std::string random_model(Random& random) {
  const int kind = pick(random, 0, 4);
  const Scales scales = kind == 0   ? Scales::kPowersOfTwo
                        : kind == 1 ? Scales::kFractions
                                    : Scales::kAny;
  QuantisedModel model(random, scales);
  return pick(random, 0, 1) == 0 ? dense_model(random, model) : image_model(random, model);
}

}  // namespace bf_aot::integer_test
