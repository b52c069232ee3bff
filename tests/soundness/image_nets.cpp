#include "tests/soundness/image_nets.h"

#include <string>
#include <utility>

#include "frontend/evaluate/evaluate_exact.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

// A network's chain of nodes on one image, with integer weights.
class Chain {
 public:
  explicit Chain(std::int64_t inputs, int bias = -1) : bias_(bias) {
    last_ = graph_.add_value("x", {inputs});
    graph_.inputs = {last_};
  }

  ConvGeometry conv(std::int64_t channels_in, std::int64_t channels_out, Extent size,
                    Extent kernel) const {
    ConvGeometry g;
    g.in_channels = channels_in;
    g.out_channels = channels_out;
    g.kernel = kernel;
    g.in_size = g.out_size = size;
    for (std::size_t d = 0; d < 3; ++d) g.pad[d] = kernel[d] / 2;
    g.in = dense_layout(channels_in, size);
    g.out = dense_layout(channels_out, size);
    return g;
  }

  // Biases lie between the integers that the sums are next to: no sign is in doubt.
  ValueId add(const ConvGeometry& g, bool relu = true) {
    Conv conv;
    conv.geometry = g;
    conv.weight.shape = {g.out_channels, g.in_group(), g.taps()};
    for (std::int64_t i = 0; i < g.out_channels * g.in_group() * g.taps(); ++i)
      conv.weight.data.push_back(pick(random_, -2, 2));
    conv.bias.shape = {g.out_channels};
    scale_ /= 2;
    for (std::int64_t c = 0; c < g.out_channels; ++c)
      conv.bias.data.push_back(pick(random_, bias_ - 3, bias_ + 3) + scale_);
    add_node(std::move(conv), {last_}, g.out_count());
    return relu ? add_node(Relu{}, {last_}, g.out_count()) : last_;
  }

  // Row i adds up to 3 elements, from element 5i on.
  ValueId add_sparse(std::int64_t rows) {
    const std::int64_t count = graph_.value(last_).shape.at(0);
    SparseAffine sparse;
    sparse.row_start = {0};
    scale_ /= 2;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k <= i % 3; ++k) {
        sparse.column.push_back((5 * i + 2 * k) % count);
        sparse.value.data.push_back(pick(random_, 0, 1) == 0 ? -2 : 1);
      }
      sparse.row_start.push_back(static_cast<std::int64_t>(sparse.column.size()));
      sparse.bias.data.push_back(pick(random_, bias_ - 3, bias_ + 3) + scale_);
    }
    sparse.value.shape = {static_cast<std::int64_t>(sparse.column.size())};
    sparse.bias.shape = {rows};
    add_node(std::move(sparse), {last_}, rows);
    return add_relu();
  }

  // The largest of each window of width x width pixels of every channel.
  ValueId add_max(std::int64_t channels, Extent size, std::int64_t width, std::int64_t stride) {
    GroupMax max;
    max.row_start = {0};
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t y = 0; y + width <= size[1]; y += stride)
        for (std::int64_t x = 0; x + width <= size[2]; x += stride) {
          for (std::int64_t k = 0; k < width * width; ++k)
            max.source.push_back((c * size[1] + y + k / width) * size[2] + x + k % width);
          max.row_start.push_back(static_cast<std::int64_t>(max.source.size()));
        }
    const std::int64_t rows = max.rows();
    return add_node(std::move(max), {last_}, rows);
  }

  ValueId add_sum(ValueId other, bool relu = true) {
    const std::int64_t count = graph_.value(other).shape.at(0);
    add_node(Binary{Binary::Kind::kAdd}, {last_, other}, count);
    return relu ? add_node(Relu{}, {last_}, count) : last_;
  }

  ValueId add_relu() { return add_node(Relu{}, {last_}, graph_.value(last_).shape.at(0)); }

  // What is added next reads it.
  void go_on_from(ValueId value) { last_ = value; }
  ValueId input() const { return graph_.inputs.front(); }

  Graph finish() {
    graph_.outputs = {last_};
    verify(graph_);
    return graph_;
  }

 private:
  ValueId add_node(Op op, std::vector<ValueId> inputs, std::int64_t count) {
    const std::string number = std::to_string(graph_.nodes.size());
    last_ = graph_.add_value("v" + number, {count});
    graph_.nodes.push_back({std::move(op), std::move(inputs), last_, "N" + number});
    return last_;
  }

  Graph graph_;
  ValueId last_{};
  int bias_;  // about which biases lie
  double scale_ = 1;
  Random random_{3};
};

constexpr Extent kImage = {1, 4, 4};
constexpr Extent kSquare = {1, 3, 3};

Graph three_layers(int bias) {
  Chain chain(2 * 16, bias);
  chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.add(chain.conv(8, 9, kImage, kSquare));
  chain.add(chain.conv(9, 3, kImage, kSquare), false);
  return chain.finish();
}
Graph few_live() {
  return three_layers(-8);
}
Graph many_live() {
  return three_layers(8);
}

// The second convolution sees the first one's image with rows and columns exchanged.
Graph transposed_image() {
  Chain chain(2 * 12);
  chain.add(chain.conv(2, 8, {1, 3, 4}, kSquare));
  ConvGeometry second = chain.conv(8, 9, {1, 4, 3}, kSquare);
  second.in.spatial = {12, 1, 4};
  chain.add(second);
  chain.add(chain.conv(9, 3, {1, 4, 3}, kSquare), false);
  return chain.finish();
}

// It sees fewer pixels of more channels.
Graph reshaped_image() {
  Chain chain(2 * 16);
  chain.add(chain.conv(2, 4, kImage, kSquare));
  chain.add(chain.conv(16, 9, {1, 2, 2}, kSquare));
  chain.add(chain.conv(9, 3, {1, 2, 2}, kSquare), false);
  return chain.finish();
}

Graph residual_block() {
  Chain chain(2 * 16);
  const ValueId first = chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.add(chain.conv(8, 9, kImage, kSquare));
  chain.add(chain.conv(9, 8, kImage, kSquare), false);
  chain.add_sum(first);
  chain.add(chain.conv(8, 3, kImage, kSquare), false);
  return chain.finish();
}

// Two convolutions read the input, and sums of both branches: rows have coefficients of its pixels.
Graph two_of_the_input() {
  Chain chain(2 * 16);
  const ValueId first = chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.go_on_from(chain.input());
  chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.add_sum(first);
  chain.add(chain.conv(8, 9, kImage, kSquare));
  chain.add(chain.conv(9, 3, kImage, kSquare), false);
  return chain.finish();
}

// Activations come before convolutions: what is added goes on unchanged.
Graph residual_before() {
  Chain chain(2 * 16);
  const ValueId first = chain.add(chain.conv(2, 8, kImage, kSquare), false);
  chain.add_relu();
  chain.add(chain.conv(8, 8, kImage, kSquare), false);
  const ValueId second = chain.add_sum(first, false);
  chain.add_relu();
  chain.add(chain.conv(8, 8, kImage, kSquare), false);
  chain.add_sum(second, false);
  chain.add_relu();
  chain.add(chain.conv(8, 3, kImage, kSquare), false);
  return chain.finish();
}

Graph depthwise() {
  Chain chain(2 * 16);
  chain.add(chain.conv(2, 8, kImage, kSquare));
  ConvGeometry second = chain.conv(8, 16, kImage, kSquare);
  second.groups = 8;
  chain.add(second, false);
  chain.add(chain.conv(16, 6, kImage, {1, 1, 1}));
  chain.add(chain.conv(6, 3, kImage, kSquare), false);
  return chain.finish();
}

// Windows side by side, and ones that overlap, so that two choose the same neuron.
Graph max_of_windows(std::int64_t stride) {
  const std::int64_t size = stride == 2 ? 2 : 3;
  Chain chain(2 * 16, 2);
  chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.add_max(8, kImage, 2, stride);
  chain.add(chain.conv(8, 9, {1, size, size}, kSquare));
  chain.add(chain.conv(9, 3, {1, size, size}, kSquare), false);
  return chain.finish();
}
Graph max_pool() {
  return max_of_windows(2);
}
Graph max_of_overlaps() {
  return max_of_windows(1);
}

// Something else reads the candidates: rows have coefficients of all of them.
Graph max_beside_sum() {
  Chain chain(2 * 16, 2);
  const ValueId first = chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.add_max(8, kImage, 1, 1);
  chain.add_sum(first);
  chain.add(chain.conv(8, 3, kImage, kSquare), false);
  return chain.finish();
}

Graph sums_of_pixels() {
  Chain chain(2 * 16);
  chain.add(chain.conv(2, 8, kImage, kSquare));
  chain.add_sparse(9 * 4);
  chain.add(chain.conv(9, 3, {1, 2, 2}, kSquare), false);
  return chain.finish();
}

}  // namespace

const std::vector<ImageNet>& image_nets() {
  static const std::vector<ImageNet> all = {
      {"few_live", few_live},
      {"many_live", many_live},
      {"transposed_image", transposed_image},
      {"reshaped_image", reshaped_image},
      {"residual_block", residual_block},
      {"two_of_the_input", two_of_the_input},
      {"residual_before", residual_before},
      {"depthwise", depthwise},
      {"max_pool", max_pool, 100, true},
      {"max_of_overlaps", max_of_overlaps, 100, true},
      {"max_beside_sum", max_beside_sum, 100},
      {"sums_of_pixels", sums_of_pixels},
  };
  return all;
}

FloatBox small_box(Random& random, std::int64_t inputs, int reach) {
  constexpr float kRadius = 0x1p-16F;
  FloatBox box;
  for (std::int64_t i = 0; i < inputs; ++i) {
    const auto centre = static_cast<float>(pick(random, -reach, reach));
    box.lower.push_back(centre - kRadius);
    box.upper.push_back(centre + kRadius);
  }
  return box;
}

std::vector<mpq_class> exact_values(const Graph& graph, const std::vector<float>& x) {
  return evaluate_exact(graph, std::vector<std::vector<double>>{{x.begin(), x.end()}}).at(0);
}

std::vector<std::vector<float>> corners(const Graph& graph, const FloatBox& box) {
  const std::vector<mpq_class> base = exact_values(graph, box.lower);
  std::vector<std::vector<float>> made(2 * base.size(), box.lower);
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    std::vector<float> x = box.lower;
    x[i] = box.upper[i];
    const std::vector<mpq_class> y = exact_values(graph, x);
    for (std::size_t j = 0; j < y.size(); ++j) made[2 * j + (y[j] > base[j] ? 1 : 0)][i] = x[i];
  }
  return made;
}

}  // namespace bf_aot::soundness
