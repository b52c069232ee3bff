#include <string>

#include "tests/unit/planner/toy_graph.h"

namespace bf_aot::testing {
namespace {

class RandomGraph {
 public:
  RandomGraph(int input_count, RandomActivations activations, std::mt19937& random)
      : input_count_(input_count), activations_(activations), random_(random) {}

  std::vector<Layer> run(int count) {
    for (int i = 0; i + 1 < count; ++i) {
      const int kind = below(activations_ == RandomActivations::kNone ? 6 : 9);
      if (kind < 2)
        add_dense();
      else if (kind < 6)
        add_sum(1 + below(3), 1 + below(4));
      else if (kind < 8)
        add_product();
      else
        add_maximum();
    }
    add_sum(3, 1 + below(2));
    layers_.back().relu = false;
    layers_.back().function.reset();
    return std::move(layers_);
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  // Odd, so that intervals are rarely symmetric, and not 0.
  float number() { return static_cast<float>(2 * below(32) - 31) / 32; }

  int any_tensor() { return below(static_cast<int>(layers_.size()) + 1) - 1; }
  int elements(int tensor) const {
    return tensor < 0 ? input_count_ : layers_[static_cast<std::size_t>(tensor)].out;
  }
  std::string name() const { return "t" + std::to_string(layers_.size()); }

  std::vector<double> bias(int out) {
    std::vector<double> list;
    for (int i = 0; i < out; ++i) list.push_back(static_cast<double>(number()));
    return list;
  }

  void activate(Layer& layer) {
    if (activations_ == RandomActivations::kNone || below(3) == 0) return;
    static const Function kLinear[] = {{FunctionKind::kLeakyRelu, 0.25, 0},
                                       {FunctionKind::kAbs, 0, 0},
                                       {FunctionKind::kClip, -0.5, 0.75},
                                       {FunctionKind::kHardSigmoid, 0.25, 0.5}};
    static const Function kSmooth[] = {{FunctionKind::kSigmoid, 0, 0}, {FunctionKind::kTanh, 0, 0},
                                       {FunctionKind::kExp, 0, 0},     {FunctionKind::kSin, 0, 0},
                                       {FunctionKind::kGelu, 0, 0},    {FunctionKind::kElu, 1, 0}};
    const bool smooth = activations_ == RandomActivations::kSmooth;
    switch (below(3)) {
      case 0:
        layer.relu = true;
        break;
      default:
        layer.function = smooth ? kSmooth[below(6)] : kLinear[below(4)];
    }
  }

  void add_dense() {
    const int input = any_tensor(), out = 1 + below(4);
    std::vector<std::vector<float>> weight(static_cast<std::size_t>(out));
    for (auto& row : weight)
      for (int k = 0; k < elements(input); ++k) row.push_back(number());
    layers_.push_back(dense(name(), input, weight, bias(out)));
    activate(layers_.back());
  }

  // A one-dimensional convolution or its transpose, of whatever fits.
  Term conv_term(int input, int out) {
    ConvGeometry g;
    g.transposed = below(2) == 0;
    g.in_size = {1, 1, elements(input)};
    g.out_size = {1, 1, out};
    g.kernel = {1, 1, 1 + below(3)};
    g.stride = {1, 1, 1 + below(2)};
    g.dilation = {1, 1, 1 + below(2)};
    g.pad = {0, 0, below(2)};
    g.in = dense_layout(1, g.in_size);
    g.out = dense_layout(1, g.out_size);
    std::vector<float> weight;
    for (std::int64_t t = 0; t < g.taps(); ++t) weight.push_back(number());
    return conv(input, g, std::move(weight));
  }

  Term sparse_term(int input, int out) {
    SparseRows rows(static_cast<std::size_t>(out));
    for (auto& row : rows)
      for (int k = 0; k < elements(input); ++k)
        if (below(2) == 0) row.emplace_back(k, number());
    return sparse(input, elements(input), rows);
  }

  Term gather_term(int input, int out, int least) {
    std::vector<int> source;
    for (int i = 0; i < out; ++i) source.push_back(below(elements(input) - least) + least);
    return gather(input, elements(input), std::move(source));
  }

  void add_sum(int terms, int out) {
    std::vector<Term> list;
    for (int i = 0; i < terms; ++i) {
      const int input = any_tensor();
      switch (below(4)) {
        case 0:
          list.push_back(conv_term(input, out));
          break;
        case 1:
          list.push_back(gather_term(input, out, -1));
          break;
        default:
          list.push_back(sparse_term(input, out));
      }
    }
    layers_.push_back(sum(name(), std::move(list), bias(out)));
    activate(layers_.back());
  }

  void add_product() {
    const int x = any_tensor(), y = any_tensor(), out = 1 + below(3);
    layers_.push_back(product(name(), gather_term(x, out, 0), gather_term(y, out, 0)));
  }

  void add_maximum() {
    const int input = any_tensor();
    std::vector<std::vector<int>> rows(static_cast<std::size_t>(1 + below(3)));
    for (auto& row : rows) {
      for (int k = 0; k < elements(input); ++k)
        if (below(2) == 0) row.push_back(k);
      if (row.empty()) row.push_back(below(elements(input)));
    }
    layers_.push_back(maximum(name(), candidates(input, elements(input), rows)));
  }

  int input_count_;
  RandomActivations activations_;
  std::mt19937& random_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> random_graph(int input_count, int layers, RandomActivations activations,
                                std::mt19937& random) {
  return RandomGraph(input_count, activations, random).run(layers);
}

}  // namespace bf_aot::testing
