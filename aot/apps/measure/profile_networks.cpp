#include "aot/apps/measure/profile_networks.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace bf_aot::apps {
namespace {

// One input; layers one after the other, with branches where they are asked for.
class Builder {
 public:
  explicit Builder(std::int64_t inputs) {
    graph_.inputs = {graph_.add_value("x", {inputs})};
    last_ = graph_.inputs[0];
  }

  ValueId last() const { return last_; }

  Builder& dense(std::int64_t out) {
    const std::int64_t in = count(last_);
    return add(Affine{constant({out, in}, in), constant({out}, 1)}, {last_}, {out});
  }
  Builder& relu() { return add(Relu{}, {last_}, {count(last_)}); }
  Builder& function(FunctionKind kind, double a = 0) {
    return add(Unary{Function{kind, a, 0}}, {last_}, {count(last_)});
  }
  Builder& plus(ValueId other) { return binary(Binary::Kind::kAdd, other); }
  Builder& times(ValueId other) { return binary(Binary::Kind::kMul, other); }

  // A square image, kernel `size`, padded to keep it.
  Builder& conv(std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t size,
                std::int64_t stride) {
    Conv conv;
    ConvGeometry& g = conv.geometry;
    g.in_channels = in;
    g.out_channels = out;
    g.in_size = {1, side, side};
    g.out_size = {1, side / stride, side / stride};
    g.kernel = {1, size, size};
    g.stride = {1, stride, stride};
    g.pad = {0, size / 2, size / 2};
    g.in = dense_layout(in, g.in_size);
    g.out = dense_layout(out, g.out_size);
    conv.weight = constant({out, in, g.taps()}, in * g.taps());
    conv.bias = constant({out}, 1);
    return add(std::move(conv), {last_}, {g.out_count()});
  }

  // Every output is the sum of a few inputs that lie apart.
  Builder& sparse(std::int64_t out, std::int64_t entries) {
    SparseAffine map;
    const std::int64_t in = count(last_);
    map.row_start = {0};
    for (std::int64_t i = 0; i < out; ++i) {
      for (std::int64_t k = 0; k < entries; ++k)
        map.column.push_back((i + k * (in / entries)) % in);
      std::sort(map.column.end() - entries, map.column.end());
      map.row_start.push_back(static_cast<std::int64_t>(map.column.size()));
    }
    map.value = constant({out * entries}, entries);
    map.bias = constant({out}, 1);
    return add(std::move(map), {last_}, {out});
  }

  // The largest of `size` neighbours.
  Builder& max(std::int64_t size) {
    GroupMax map;
    const std::int64_t out = count(last_) / size;
    for (std::int64_t i = 0; i <= out; ++i) map.row_start.push_back(i * size);
    for (std::int64_t i = 0; i < out * size; ++i) map.source.push_back(i);
    return add(std::move(map), {last_}, {out});
  }

  Graph graph() {
    graph_.outputs = {last_};
    verify(graph_);
    return std::move(graph_);
  }

 private:
  std::int64_t count(ValueId id) const { return element_count(graph_.value(id).shape); }

  // A constant of numbers that keep the size of what passes through.
  Constant constant(Shape shape, std::int64_t terms) {
    std::normal_distribution<float> normal(0, std::sqrt(2.0F / static_cast<float>(terms)));
    std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
    for (double& x : data)
      x = static_cast<double>(terms == 1 ? 0.1F * normal(random_) : normal(random_));
    return {std::move(shape), std::move(data), {}};
  }

  Builder& binary(Binary::Kind kind, ValueId other) {
    return add(Binary{kind}, {last_, other}, {count(last_)});
  }

  Builder& add(Op op, std::vector<ValueId> inputs, Shape shape) {
    const std::string number = std::to_string(graph_.nodes.size());
    last_ = graph_.add_value("v" + number, std::move(shape));
    graph_.nodes.push_back({std::move(op), std::move(inputs), last_, "node " + number});
    return *this;
  }

  Graph graph_;
  ValueId last_;
  std::minstd_rand random_{1};
};

Graph chain(std::int64_t in, std::int64_t width, int layers, std::int64_t out) {
  Builder builder(in);
  for (int i = 0; i < layers; ++i) builder.dense(width).relu();
  return builder.dense(out).graph();
}

Graph functions(FunctionKind kind, double a) {
  Builder builder(32);
  builder.dense(200).function(kind, a).dense(200).function(kind, a);
  return builder.dense(10).graph();
}

Graph convolutions() {
  Builder builder(std::int64_t{3} * 16 * 16);
  builder.conv(3, 8, 16, 3, 1).relu().conv(8, 16, 16, 4, 2).relu().conv(16, 16, 8, 3, 1).relu();
  return builder.dense(100).relu().dense(10).graph();
}

Graph image() {
  Builder builder(std::int64_t{1} * 28 * 28);
  builder.conv(1, 16, 28, 3, 1).relu().conv(16, 8, 28, 2, 2).relu();
  return builder.dense(10).graph();
}

Graph wide_convolutions() {
  Builder builder(std::int64_t{3} * 32 * 32);
  builder.conv(3, 32, 32, 3, 2).relu().conv(32, 64, 16, 3, 2).relu();
  return builder.dense(10).graph();
}

// A channel at a time, and sums over channels at one pixel.
Graph thin_convolutions() {
  Builder builder(std::int64_t{1} * 32 * 32);
  builder.conv(1, 12, 32, 1, 1).relu().conv(12, 1, 32, 1, 1).relu().conv(1, 8, 32, 5, 2).relu();
  return builder.dense(10).graph();
}

Graph residual() {
  Builder builder(64);
  builder.dense(128).relu();
  for (int i = 0; i < 2; ++i) {
    const ValueId skip = builder.last();
    builder.dense(128).relu().dense(128).plus(skip).relu();
  }
  return builder.dense(10).graph();
}

Graph residual_image() {
  Builder builder(std::int64_t{8} * 16 * 16);
  builder.conv(8, 8, 16, 3, 1).relu();
  const ValueId skip = builder.last();
  builder.conv(8, 8, 16, 3, 1).relu().conv(8, 8, 16, 3, 1).plus(skip).relu();
  return builder.dense(10).graph();
}

Graph pools() {
  Builder builder(std::int64_t{4} * 16 * 16);
  builder.conv(4, 8, 16, 3, 1).relu().max(4);
  return builder.sparse(600, 6).relu().dense(10).graph();
}

Graph products() {
  Builder builder(40);
  builder.dense(200).relu();
  const ValueId left = builder.last();
  builder.dense(200).times(left);
  return builder.dense(50).relu().dense(10).graph();
}

}  // namespace

std::vector<ProfileNetwork> profile_networks() {
  std::vector<ProfileNetwork> list;
  const auto add = [&](std::string name, Graph graph, Method method, double radius) {
    list.push_back({std::move(name), std::move(graph), method, 0.5, radius});
  };
  add("dense_small", chain(5, 50, 5, 5), Method::kCrown, 0.2);
  add("dense", chain(784, 256, 3, 10), Method::kCrown, 0.02);
  add("dense_odd", chain(30, 100, 3, 3), Method::kCrown, 0.1);
  add("dense_ibp", chain(200, 300, 3, 10), Method::kIbp, 0.05);
  add("dense_large", chain(512, 1500, 2, 10), Method::kCrownIbp, 0.01);
  add("dense_large_ibp", chain(512, 1500, 2, 10), Method::kIbp, 0.01);
  add("convolutions", convolutions(), Method::kCrown, 0.02);
  add("convolutions_ibp", convolutions(), Method::kIbp, 0.02);
  add("image_ibp", image(), Method::kIbp, 0.02);
  add("wide_convolutions", wide_convolutions(), Method::kCrown, 0.005);
  add("dense_slopes", chain(784, 256, 3, 10), Method::kAlphaCrown, 0.02);
  add("dense_small_slopes", chain(5, 50, 5, 5), Method::kAlphaCrown, 0.2);
  add("convolutions_slopes", convolutions(), Method::kAlphaCrown, 0.005);
  add("thin_convolutions", thin_convolutions(), Method::kCrownIbp, 0.05);
  // Few neurons open, the others of either sign.
  add("dense_stable", chain(784, 256, 3, 10), Method::kCrown, 0.0005);
  add("dense_stable_ibp", chain(100, 1000, 3, 10), Method::kIbp, 0.0001);
  add("convolutions_stable", convolutions(), Method::kCrownIbp, 0.0005);
  add("image_stable_ibp", image(), Method::kIbp, 0.0005);
  add("residual", residual(), Method::kCrown, 0.05);
  add("residual_image", residual_image(), Method::kCrown, 0.02);
  add("pools", pools(), Method::kCrown, 0.02);
  add("products", products(), Method::kCrown, 0.02);
  add("sigmoid_ibp", functions(FunctionKind::kSigmoid, 0), Method::kIbp, 0.1);
  add("sigmoid", functions(FunctionKind::kSigmoid, 0), Method::kCrown, 0.1);
  add("tanh", functions(FunctionKind::kTanh, 0), Method::kCrown, 0.4);
  add("sigmoid_narrow", functions(FunctionKind::kSigmoid, 0), Method::kCrown, 0.005);
  add("sigmoid_wide", functions(FunctionKind::kSigmoid, 0), Method::kCrownIbp, 1);
  add("leaky_relu", functions(FunctionKind::kLeakyRelu, 0.01), Method::kCrown, 0.1);
  return list;
}

}  // namespace bf_aot::apps
