#include "bench/eigen_baseline.h"

#include <Eigen/Dense>

namespace bf_aot::bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;

struct Interval {
  Vector lower, upper;
};

struct Dense {
  Matrix weight, magnitude;  // W and |W|
  Vector bias;
  bool relu;
};

// Lines around relu(z), or z itself: lower_slope z <= a <= upper_slope z + upper_offset.
struct Lines {
  Vector lower_slope, upper_slope, upper_offset;
};

Interval affine(const Dense& layer, const Interval& box) {
  const Vector centre = 0.5f * (box.lower + box.upper);
  const Vector radius = 0.5f * (box.upper - box.lower);
  const Vector middle = layer.weight * centre + layer.bias;
  const Vector spread = layer.magnitude * radius;
  return {middle - spread, middle + spread};
}

Interval activation(const Dense& layer, const Interval& z) {
  if (!layer.relu) return z;
  return {z.lower.cwiseMax(0), z.upper.cwiseMax(0)};
}

Lines relax(const Dense& layer, const Interval& z) {
  const Eigen::Index n = z.lower.size();
  Lines lines{Vector::Ones(n), Vector::Ones(n), Vector::Zero(n)};
  if (!layer.relu) return lines;
  for (Eigen::Index j = 0; j < n; ++j) {
    const float low = z.lower[j];
    const float high = z.upper[j];
    if (low >= 0) continue;
    if (high <= 0) {
      lines.lower_slope[j] = lines.upper_slope[j] = 0;
      continue;
    }
    lines.upper_slope[j] = high / (high - low);
    lines.upper_offset[j] = -lines.upper_slope[j] * low;
    lines.lower_slope[j] = high > -low ? 1.0f : 0.0f;
  }
  return lines;
}

}  // namespace

class EigenBaseline::Network {
 public:
  explicit Network(const std::vector<DenseLayer>& layers) {
    for (const DenseLayer& layer : layers) {
      Dense made;
      made.weight = Eigen::Map<const Matrix>(layer.weight.data(), layer.out, layer.in);
      made.magnitude = made.weight.cwiseAbs();
      made.bias = Eigen::Map<const Vector>(layer.bias.data(), layer.out);
      made.relu = layer.relu;
      layers_.push_back(std::move(made));
    }
  }

  Interval box(const float* lower, const float* upper) const {
    const Eigen::Index n = layers_.front().weight.cols();
    return {Eigen::Map<const Vector>(lower, n), Eigen::Map<const Vector>(upper, n)};
  }

  Interval bounds(BaselineMethod method, const Interval& box, std::vector<int>& counts) const {
    Interval value = box;
    std::vector<Lines> lines;
    counts.assign(layers_.size(), 0);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Dense& layer = layers_[i];
      Interval z = affine(layer, value);
      const bool last = i + 1 == layers_.size();
      if (i > 0 && (last ? method != BaselineMethod::kIbp : method == BaselineMethod::kCrown))
        counts[i] = tighten(i, last, box, lines, z);
      if (method != BaselineMethod::kIbp) lines.push_back(relax(layer, z));
      value = activation(layer, z);
    }
    return value;
  }

 private:
  // Meets the intervals of z with the backward bounds of layer `index`, for all its rows or the
  // unstable ones; returns their number.
  int tighten(std::size_t index, bool all, const Interval& box, const std::vector<Lines>& lines,
              Interval& z) const {
    std::vector<Eigen::Index> rows;
    for (Eigen::Index j = 0; j < z.lower.size(); ++j)
      if (all || (z.lower[j] < 0 && z.upper[j] > 0)) rows.push_back(j);
    if (rows.empty()) return 0;
    const Interval found = backward(index, rows, box, lines);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto row = static_cast<Eigen::Index>(r);
      z.lower[rows[r]] = std::max(z.lower[rows[r]], found.lower[row]);
      z.upper[rows[r]] = std::min(z.upper[rows[r]], found.upper[row]);
    }
    return static_cast<int>(rows.size());
  }

  Interval backward(std::size_t index, const std::vector<Eigen::Index>& rows, const Interval& box,
                    const std::vector<Lines>& lines) const {
    Matrix lower = layers_[index].weight(rows, Eigen::all);
    Matrix upper = lower;
    Vector low = layers_[index].bias(rows);
    Vector high = low;
    for (std::size_t i = index; i-- > 0;) {
      const Lines& line = lines[i];
      const Matrix lower_plus = lower.cwiseMax(0), lower_minus = lower.cwiseMin(0);
      const Matrix upper_plus = upper.cwiseMax(0), upper_minus = upper.cwiseMin(0);
      low.noalias() += lower_minus * line.upper_offset;
      high.noalias() += upper_plus * line.upper_offset;
      lower = lower_plus * line.lower_slope.asDiagonal();
      lower += lower_minus * line.upper_slope.asDiagonal();
      upper = upper_plus * line.upper_slope.asDiagonal();
      upper += upper_minus * line.lower_slope.asDiagonal();
      low.noalias() += lower * layers_[i].bias;
      high.noalias() += upper * layers_[i].bias;
      Matrix next(lower.rows(), layers_[i].weight.cols());
      next.noalias() = lower * layers_[i].weight;
      lower.swap(next);
      next.resize(upper.rows(), layers_[i].weight.cols());
      next.noalias() = upper * layers_[i].weight;
      upper.swap(next);
    }
    const Vector centre = 0.5f * (box.lower + box.upper);
    const Vector radius = 0.5f * (box.upper - box.lower);
    low += lower * centre - lower.cwiseAbs() * radius;
    high += upper * centre + upper.cwiseAbs() * radius;
    return {low, high};
  }

  std::vector<Dense> layers_;
};

EigenBaseline::EigenBaseline(const std::vector<DenseLayer>& layers)
    : network_(std::make_unique<Network>(layers)) {}

EigenBaseline::~EigenBaseline() = default;

void EigenBaseline::bounds(BaselineMethod method, const float* lower, const float* upper,
                           float* out_lower, float* out_upper) const {
  std::vector<int> counts;
  const Interval result = network_->bounds(method, network_->box(lower, upper), counts);
  Eigen::Map<Vector>(out_lower, result.lower.size()) = result.lower;
  Eigen::Map<Vector>(out_upper, result.upper.size()) = result.upper;
}

std::vector<int> EigenBaseline::backward_counts(BaselineMethod method, const float* lower,
                                                const float* upper) const {
  std::vector<int> counts;
  network_->bounds(method, network_->box(lower, upper), counts);
  return counts;
}

}  // namespace bf_aot::bench
