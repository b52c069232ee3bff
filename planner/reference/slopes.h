#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "planner/reference/rows.h"

// Rows with lower slopes of their own at ReLUs, in double: docs/proofs/optimised-slopes.md. Lines
// of other functions stay those of their tables.
namespace bf_aot::reference {

// The values that the rows' lines have where the rows are least.
template <typename Memory>
class RowPoints {
 public:
  RowPoints(const Plan& plan, const BackwardRows& step, MapCache<double>& maps,
            const Memory& memory, const RowSlopes<double>& slopes)
      : plan_(plan), step_(step), maps_(maps), memory_(memory), slopes_(slopes) {}

  // visit(link, z) for each layer with slopes.
  template <typename Visit>
  void walk(const Matrix<double>& input_coefficients, const Interval<double>& box,
            const Visit& visit) {
    Matrix<double> corner(input_coefficients.rows(), input_coefficients.cols());
    for (Eigen::Index k = 0; k < corner.rows(); ++k)
      for (Eigen::Index i = 0; i < corner.cols(); ++i)
        corner(k, i) = input_coefficients(k, i) > 0 ? box.lower(k) : box.upper(k);
    values_[-1] = std::move(corner);
    for (auto link = step_.links.rbegin(); link != step_.links.rend(); ++link) {
      if (link->values == BufferId::kNone) continue;
      const Matrix<double> z = forward(*link);
      Matrix<double> a = z;
      if (layer(link->layer).is_affine()) follow_lines(*link, a);
      if (slopes_.find(link->layer) != nullptr) visit(*link, z);  // may change the slopes
      values_[link->layer] = std::move(a);
    }
  }

 private:
  const Layer& layer(LayerId index) const { return plan_.layer(index); }
  double coefficient(LayerId index, Eigen::Index j, Eigen::Index i) const {
    return slopes_.coefficients.at(index)(j, i);
  }

  Matrix<double> forward(const BackwardLink& link) {
    const Layer& target = layer(link.layer);
    const Eigen::Index rows = values_.at(-1).cols();
    Matrix<double> z = zeros<double>(target.out, rows);
    if (target.is_affine()) {
      const AffineMap<double>& map = maps_.of(link.layer);
      const std::vector<LayerId> inputs = inputs_of(target);
      for (Eigen::Index i = 0; i < rows; ++i) {
        Vector<double> column = map.bias;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          const Vector<double> from = values_.at(inputs[k]).col(i);
          map.parts[k]->apply(from, column);
        }
        z.col(i) = column;
      }
      return z;
    }
    const Vector<double>& table = memory_.table(link);
    const Matrix<double>& x = values_.at(target.terms[0].input);
    const Eigen::Index n = target.out;
    if (target.kind == LayerKind::kContraction) {
      follow_contraction(link.layer, table, z);
      return z;
    }
    if (target.kind == LayerKind::kLogSoftmax) {
      for_each_group(map_of(target), [&](Eigen::Index begin, Eigen::Index end) {
        for (Eigen::Index i = 0; i < rows; ++i)
          follow_group(link.layer, table, x, begin, end, i, z);
      });
      return z;
    }
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < rows; ++i) {
        const bool lower = coefficient(link.layer, j, i) >= 0;
        if (target.kind == LayerKind::kProduct) {
          const Matrix<double>& y = values_.at(target.terms[1].input);
          z(j, i) = table((lower ? bf::kLowerSlopeX : bf::kUpperSlopeX) * n + j) *
                        x(source_of(std::get<GatherMap>(target.terms[0].map), j), i) +
                    table((lower ? bf::kLowerSlopeY : bf::kUpperSlopeY) * n + j) *
                        y(source_of(std::get<GatherMap>(target.terms[1].map), j), i) +
                    table((lower ? bf::kProductLower : bf::kProductUpper) * n + j);
        } else {
          const bool constant = !lower && table(bf::kMaxConstant * n + j) == 1;
          z(j, i) = constant ? table(bf::kMaxUpper * n + j)
                             : x(static_cast<Eigen::Index>(memory_(link.choice)(j)), i);
        }
      }
    return z;
  }

  void follow_contraction(LayerId index, const Vector<double>& table, Matrix<double>& z) const {
    const Layer& target = layer(index);
    const Eigen::Index n = target.out;
    const Eigen::Index left = target.contraction.left(), right = target.contraction.right();
    const Matrix<double>& x = values_.at(target.terms[0].input);
    const Matrix<double>& y = values_.at(target.terms[1].input);
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < z.cols(); ++i)
        z(j, i) = table((coefficient(index, j, i) >= 0 ? n : 0) + j);
    for_each_contracted(target, [&](Eigen::Index j, Eigen::Index from_x, Eigen::Index from_y,
                                    Eigen::Index at_x, Eigen::Index at_y, bool) {
      const Eigen::Index of_x = 2 * n + at_x, of_y = 2 * n + 3 * left + at_y;
      for (Eigen::Index i = 0; i < z.cols(); ++i) {
        const double sign = coefficient(index, j, i) >= 0 ? 1 : -1;
        z(j, i) +=
            (table(of_y) - sign * table(of_y + right) * table(of_x + 2 * left)) * x(from_x, i) +
            (table(of_x) - sign * table(of_x + left) * table(of_y + 2 * right)) * y(from_y, i);
      }
    });
  }

  static const SparseMap& map_of(const Layer& target) {
    return std::get<SparseMap>(target.terms[0].map);
  }

  void follow_group(LayerId index, const Vector<double>& table, const Matrix<double>& x,
                    Eigen::Index begin, Eigen::Index end, Eigen::Index i, Matrix<double>& z) const {
    const Eigen::Index n = z.rows();
    const auto at = [&](Eigen::Index k) {
      return x(map_of(layer(index)).column[static_cast<std::size_t>(k)], i);
    };
    double above = 0, below = 0;
    for (Eigen::Index k = begin; k < end; ++k) {
      above += table(bf::kAboveSlope * n + k) * at(k);
      below += table(bf::kBelowSlope * n + k) * at(k);
    }
    for (Eigen::Index k = begin; k < end; ++k) {
      const bool lower = coefficient(index, k, i) >= 0;
      z(k, i) = at(k) - (lower ? above : below) +
                table((lower ? bf::kLogSoftmaxLower : bf::kLogSoftmaxUpper) * n + k);
    }
  }

  void follow_lines(const BackwardLink& link, Matrix<double>& z) const {
    const Vector<double>& table = memory_.table(link);
    const Matrix<double>* const chosen = slopes_.find(link.layer);
    const Eigen::Index n = z.rows();
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < z.cols(); ++i) {
        const bool lower = coefficient(link.layer, j, i) >= 0;
        if (lower && chosen != nullptr && !is_fixed(table, n, j))
          z(j, i) *= (*chosen)(j, i);
        else
          z(j, i) = table((lower ? bf::kSlopeLower : bf::kSlopeUpper) * n + j) * z(j, i) +
                    table((lower ? bf::kOffsetLower : bf::kOffsetUpper) * n + j);
      }
  }

  const Plan& plan_;
  const BackwardRows& step_;
  MapCache<double>& maps_;
  const Memory& memory_;
  const RowSlopes<double>& slopes_;
  std::map<LayerId, Matrix<double>> values_;
};

// Adam, as in Kingma and Ba 2015, arXiv:1412.6980, with the rate that falls by 2 % each time and
// projected on [0, 1]: what auto_LiRPA does.
class SlopeAscent {
 public:
  void next() {
    rate_ = steps_ == 0 ? kRate : rate_ * kDecay;
    ++steps_;
    correction_ = rate_ * std::sqrt(1 - std::pow(kSquare, steps_)) / (1 - std::pow(kMean, steps_));
  }

  // The slope moves along the gradient of the row's bound.
  void step(double gradient, double& mean, double& square, double& slope) const {
    if (!is_finite(gradient)) return;
    mean = kMean * mean + (1 - kMean) * gradient;
    square = kSquare * square + (1 - kSquare) * gradient * gradient;
    if (square > 0) slope = std::clamp(slope + correction_ * mean / std::sqrt(square), 0.0, 1.0);
  }

 private:
  static constexpr double kRate = 0.1, kDecay = 0.98, kMean = 0.9, kSquare = 0.999;
  int steps_ = 0;
  double rate_ = 0, correction_ = 0;
};

template <typename Memory>
void optimise_tile(const Plan& plan, const BackwardRows& step, const Interval<double>& box,
                   const std::vector<Eigen::Index>& chosen, MapCache<double>& maps,
                   const Memory& memory, Interval<double>& bounds) {
  const Eigen::Index rows = 2 * static_cast<Eigen::Index>(chosen.size());
  RowSlopes<double> slopes;
  std::map<LayerId, std::pair<Matrix<double>, Matrix<double>>> moments;
  for (const BackwardLink& link : step.links) {
    if (link.slopes.table == BufferId::kNone || !plan.layer(link.layer).relu) continue;
    const Eigen::Index n = plan.layer(link.layer).out;
    const Vector<double> first = memory.table(link).segment(bf::kSlopeLower * n, n);
    slopes.slope[link.layer] = first.replicate(1, rows);
    moments[link.layer] = {zeros<double>(n, rows), zeros<double>(n, rows)};
  }
  SlopeAscent ascent;
  for (int iteration = 0; iteration < step.iterations; ++iteration) {
    RowSet<double> set = rows_of<double>(plan, step, chosen, maps, memory, &slopes);
    keep_tighter<double>(chosen, concretize(set, box, plan), bounds);
    if (iteration + 1 == step.iterations) break;
    ascent.next();
    RowPoints<Memory> points(plan, step, maps, memory, slopes);
    points.walk(set.of(-1), box, [&](const BackwardLink& link, const Matrix<double>& z) {
      auto& [mean, square] = moments.at(link.layer);
      Matrix<double>& slope = slopes.slope.at(link.layer);
      const Matrix<double>& a = slopes.coefficients.at(link.layer);
      for (Eigen::Index j = 0; j < z.rows(); ++j)
        for (Eigen::Index i = 0; i < z.cols(); ++i)
          ascent.step(a(j, i) > 0 ? a(j, i) * z(j, i) : 0, mean(j, i), square(j, i), slope(j, i));
    });
  }
}

}  // namespace bf_aot::reference
