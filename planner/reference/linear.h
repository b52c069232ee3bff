#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/network/layer_loops.h"
#include "planner/plan/plan.h"
#include "planner/reference/numbers.h"

// The linear part of what a layer reads of one tensor, exactly: weight + residual, as far as Scalar
// can hold the sum. Coefficients are [neuron][row], so that a row of the matrix is one neuron's.
namespace bf_aot::reference {

// `count` products of one weight: out + k out_step reads in + k in_step.
struct ProductRun {
  std::int64_t weight = 0;
  std::int64_t out = 0, out_step = 0;
  std::int64_t in = 0, in_step = 0;
  std::int64_t count = 1;
};

// The positions p of the strided side for which p stride - pad + tap dilation lies in the other.
struct PositionRange {
  std::int64_t first = 0, end = 0;  // empty when end <= first
};

inline PositionRange positions(const ConvGeometry& g, std::size_t d, std::int64_t tap) {
  const std::int64_t near = g.transposed ? g.in_size[d] : g.out_size[d];
  const std::int64_t far = g.transposed ? g.out_size[d] : g.in_size[d];
  const std::int64_t shift = tap * g.dilation[d] - g.pad[d];
  const std::int64_t stride = g.stride[d];
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t last = far - 1 - shift;  // the largest p stride
  return {first, last < 0 ? 0 : std::min(near, last / stride + 1)};
}

// visit(ProductRun) for the pixels that one weight meets, a line of them at a time.
template <typename Visit>
void for_each_line(const ConvGeometry& g, std::int64_t n, std::int64_t o, std::int64_t i,
                   const Extent& tap, std::int64_t weight, const Visit& visit) {
  const std::int64_t channel = o / g.out_group() * g.in_group() + i;
  PositionRange range[3];
  for (std::size_t d = 0; d < 3; ++d) {
    range[d] = positions(g, d, tap[d]);
    if (range[d].end <= range[d].first) return;
  }
  const ImageLayout& near = g.transposed ? g.in : g.out;
  const ImageLayout& far = g.transposed ? g.out : g.in;
  Extent p = {0, 0, range[2].first};
  for (p[0] = range[0].first; p[0] < range[0].end; ++p[0])
    for (p[1] = range[1].first; p[1] < range[1].end; ++p[1]) {
      Extent q;
      for (std::size_t d = 0; d < 3; ++d)
        q[d] = p[d] * g.stride[d] - g.pad[d] + tap[d] * g.dilation[d];
      const std::int64_t from = near.at(n, g.transposed ? channel : o, p);
      const std::int64_t to = far.at(n, g.transposed ? o : channel, q);
      const std::int64_t step = near.spatial[2];
      const std::int64_t far_step = far.spatial[2] * g.stride[2];
      const std::int64_t count = range[2].end - range[2].first;
      if (g.transposed)
        visit(ProductRun{weight, to, far_step, from, step, count});
      else
        visit(ProductRun{weight, from, step, to, far_step, count});
    }
}

template <typename Visit>
void for_each_run(const ConvMap& map, const Visit& visit) {
  const ConvGeometry& g = map.geometry;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    std::int64_t weight = 0;
    for (std::int64_t o = 0; o < g.out_channels; ++o)
      for (std::int64_t i = 0; i < g.in_group(); ++i) {
        Extent tap;
        for (tap[0] = 0; tap[0] < g.kernel[0]; ++tap[0])
          for (tap[1] = 0; tap[1] < g.kernel[1]; ++tap[1])
            for (tap[2] = 0; tap[2] < g.kernel[2]; ++tap[2])
              for_each_line(g, n, o, i, tap, weight++, visit);
      }
  }
}

template <typename Visit>
void for_each_run(const SparseMap& map, const Visit& visit) {
  for (std::size_t row = 0; row + 1 < map.row_start.size(); ++row)
    for (std::int64_t k = map.row_start[row]; k < map.row_start[row + 1]; ++k)
      visit(ProductRun{k, static_cast<std::int64_t>(row), 0,
                       map.column[static_cast<std::size_t>(k)], 0, 1});
}

// One tensor's part of a layer.
template <typename Scalar>
class LinearPart {
 public:
  virtual ~LinearPart() = default;
  // y += M x
  virtual void apply(const Vector<Scalar>& x, Vector<Scalar>& y) const = 0;
  // y += |M| r
  virtual void apply_magnitudes(const Vector<Scalar>& r, Vector<Scalar>& y) const = 0;
  // to += M' from; from: [out][rows], to: [in][rows].
  virtual void apply_back(const Matrix<Scalar>& from, Matrix<Scalar>& to) const = 0;
};

template <typename Scalar>
Scalar exact_weight(const std::vector<float>& weight, const std::vector<float>& residual,
                    std::size_t i) {
  Scalar w(static_cast<double>(weight[i]));
  if (!residual.empty()) w += Scalar(static_cast<double>(residual[i]));
  return w;
}

template <typename Scalar>
std::vector<Scalar> exact_weights(const std::vector<float>& weight,
                                  const std::vector<float>& residual) {
  std::vector<Scalar> exact;
  exact.reserve(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i)
    exact.push_back(exact_weight<Scalar>(weight, residual, i));
  return exact;
}

// A matrix. Eigen's products for machine numbers; for rationals loops that skip the many zeros.
//
// Of a large one blocks of rows are made when they are used: a second copy of all weights, in
// numbers of twice the size, would be most of what a process holds.
template <typename Scalar>
class DensePart final : public LinearPart<Scalar> {
 public:
  explicit DensePart(const Layer& layer)
      : layer_(layer),
        block_(std::is_floating_point_v<Scalar> && layer.weight.size() > kHeldWeights
                   ? std::min(kBlockRows, layer.out)
                   : layer.out) {
    if (block_ == layer.out) held_ = rows(0);
  }

  void apply(const Vector<Scalar>& x, Vector<Scalar>& y) const override {
    for_each_block([&](Eigen::Index first, const Matrix<Scalar>& weight) {
      if constexpr (std::is_floating_point_v<Scalar>) {
        y.segment(first, weight.rows()) += weight * x;
      } else {
        for (Eigen::Index i = 0; i < weight.rows(); ++i)
          for (Eigen::Index k = 0; k < weight.cols(); ++k) y(first + i) += weight(i, k) * x(k);
      }
    });
  }

  void apply_magnitudes(const Vector<Scalar>& r, Vector<Scalar>& y) const override {
    for_each_block([&](Eigen::Index first, const Matrix<Scalar>& weight) {
      for (Eigen::Index i = 0; i < weight.rows(); ++i)
        for (Eigen::Index k = 0; k < weight.cols(); ++k)
          if (weight(i, k) != 0) y(first + i) += magnitude(weight(i, k)) * r(k);
    });
  }

  void apply_back(const Matrix<Scalar>& from, Matrix<Scalar>& to) const override {
    for_each_block([&](Eigen::Index first, const Matrix<Scalar>& weight) {
      if constexpr (std::is_floating_point_v<Scalar>) {
        to.noalias() += weight.transpose() * from.middleRows(first, weight.rows());
      } else {
        for (Eigen::Index i = 0; i < weight.rows(); ++i)
          for (Eigen::Index row = 0; row < from.cols(); ++row)
            if (from(first + i, row) != 0)
              for (Eigen::Index k = 0; k < weight.cols(); ++k)
                to(k, row) += weight(i, k) * from(first + i, row);
      }
    });
  }

 private:
  static constexpr std::size_t kHeldWeights = std::size_t{1} << 20;
  static constexpr int kBlockRows = 64;

  Matrix<Scalar> rows(int first) const {
    const int count = std::min(block_, layer_.out - first);
    const std::size_t begin = static_cast<std::size_t>(first) * static_cast<std::size_t>(layer_.in);
    Matrix<Scalar> made(count, layer_.in);
    for (Eigen::Index i = 0; i < made.size(); ++i)
      made.data()[i] =
          exact_weight<Scalar>(layer_.weight, layer_.residual, begin + static_cast<std::size_t>(i));
    return made;
  }

  template <typename Use>  // use(first row, rows)
  void for_each_block(const Use& use) const {
    if (block_ == layer_.out) return use(0, held_);
    for (int first = 0; first < layer_.out; first += block_) use(first, rows(first));
  }

  const Layer& layer_;  // the plan's
  const int block_;     // rows
  Matrix<Scalar> held_;
};

// A convolution or a sparse matrix, in its own form.
template <typename Scalar, typename Map>
class RunPart final : public LinearPart<Scalar> {
 public:
  RunPart(const Term& term, const Map& map)
      : map_(map), weight_(exact_weights<Scalar>(term.weight, term.residual)) {}

  void apply(const Vector<Scalar>& x, Vector<Scalar>& y) const override {
    for_each_run(map_, [&](const ProductRun& run) { multiply(weight(run), run, x, y); });
  }

  void apply_magnitudes(const Vector<Scalar>& r, Vector<Scalar>& y) const override {
    for_each_run(
        map_, [&](const ProductRun& run) { multiply(Scalar(magnitude(weight(run))), run, r, y); });
  }

  void apply_back(const Matrix<Scalar>& from, Matrix<Scalar>& to) const override {
    std::vector<bool> used(static_cast<std::size_t>(from.rows()), false);
    for (Eigen::Index i = 0; i < from.rows(); ++i)
      for (Eigen::Index row = 0; row < from.cols(); ++row)
        if (from(i, row) != 0) used[static_cast<std::size_t>(i)] = true;
    for_each_run(map_, [&](const ProductRun& run) {
      const Scalar& w = weight(run);
      if (w == 0) return;
      for (std::int64_t k = 0; k < run.count; ++k) {
        const std::int64_t out = run.out + k * run.out_step;
        if (used[static_cast<std::size_t>(out)])
          to.row(run.in + k * run.in_step) += w * from.row(out);
      }
    });
  }

 private:
  const Scalar& weight(const ProductRun& run) const {
    return weight_[static_cast<std::size_t>(run.weight)];
  }

  static void multiply(const Scalar& w, const ProductRun& run, const Vector<Scalar>& x,
                       Vector<Scalar>& y) {
    if (w == 0) return;
    Scalar* to = y.data() + run.out;
    const Scalar* from = x.data() + run.in;
    if (run.out_step == 1 && run.in_step == 1)
      for (std::int64_t k = 0; k < run.count; ++k) to[k] += w * from[k];
    else
      for (std::int64_t k = 0; k < run.count; ++k)
        to[k * run.out_step] += w * from[k * run.in_step];
  }

  const Map& map_;  // the plan's
  std::vector<Scalar> weight_;
};

template <typename Scalar>
class GatherPart final : public LinearPart<Scalar> {
 public:
  explicit GatherPart(const GatherMap& map) : map_(map) {}

  void apply(const Vector<Scalar>& x, Vector<Scalar>& y) const override {
    for (Eigen::Index i = 0; i < y.size(); ++i)
      if (const std::int64_t k = source_of(map_, i); k >= 0) y(i) += x(k);
  }
  void apply_magnitudes(const Vector<Scalar>& r, Vector<Scalar>& y) const override { apply(r, y); }
  void apply_back(const Matrix<Scalar>& from, Matrix<Scalar>& to) const override {
    for (Eigen::Index i = 0; i < from.rows(); ++i)
      if (const std::int64_t k = source_of(map_, i); k >= 0) to.row(k) += from.row(i);
  }

 private:
  const GatherMap& map_;  // the plan's
};

// The affine map of a dense or sum layer: a bias, and one part for each entry of inputs_of.
template <typename Scalar>
struct AffineMap {
  std::vector<std::unique_ptr<LinearPart<Scalar>>> parts;
  Vector<Scalar> bias;

  explicit AffineMap(const Layer& layer) : bias(layer.out) {
    BF_CHECK(layer.is_affine());
    for (int row = 0; row < layer.out; ++row)
      bias(row) = Scalar(layer.bias[static_cast<std::size_t>(row)]);
    if (layer.kind == LayerKind::kDense)
      parts.push_back(std::make_unique<DensePart<Scalar>>(layer));
    for (const Term& term : layer.terms)
      parts.push_back(std::visit([&](const auto& map) { return part_of(term, map); }, term.map));
  }

 private:
  using Part = std::unique_ptr<LinearPart<Scalar>>;

  template <typename Map>
  static Part part_of(const Term& term, const Map& map) {
    return std::make_unique<RunPart<Scalar, Map>>(term, map);
  }
  static Part part_of(const Term&, const GatherMap& map) {
    return std::make_unique<GatherPart<Scalar>>(map);
  }
};

}  // namespace bf_aot::reference
