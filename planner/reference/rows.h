#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/plan/plan.h"
#include "planner/reference/linear.h"
#include "planner/reference/numbers.h"

// Backward rows of the reference machine.
namespace bf_aot::reference {

// The layers' affine maps, made when first asked for.
template <typename Scalar>
class MapCache {
 public:
  explicit MapCache(const Plan& plan) : plan_(plan) {}

  const AffineMap<Scalar>& of(LayerId index) {
    const auto found = maps_.find(index);
    if (found != maps_.end()) return found->second;
    const Layer& layer = plan_.layer(index);
    return maps_.emplace(index, AffineMap<Scalar>(layer)).first->second;
  }

 private:
  const Plan& plan_;
  std::map<LayerId, AffineMap<Scalar>> maps_;
};

// Lower slopes of ReLUs that the rows choose, [neuron][row], and what the rows' coefficients over
// each layer's activations were.
template <typename Scalar>
struct RowSlopes {
  std::map<LayerId, Matrix<Scalar>> slope, coefficients;

  const Matrix<Scalar>* find(LayerId layer) const {
    const auto found = slope.find(layer);
    return found == slope.end() ? nullptr : &found->second;
  }
};

// Returns true if a ReLU has one line for both bounds, as its sign is known.
template <typename Scalar>
bool is_fixed(const Vector<Scalar>& table, Eigen::Index n, Eigen::Index j) {
  return table(bf::kSlopeUpper * n + j) == table(bf::kSlopeLower * n + j) &&
         table(bf::kOffsetUpper * n + j) == table(bf::kOffsetLower * n + j);
}

// A ReLU layer in a ball: bounds of z, the lines' table, and how far z is from its centre at most.
template <typename Scalar>
struct BallView {
  const Vector<Scalar>&centre, &below, &above, &table;
  const Scalar& reach;
};

// The least value of slope max(distance - d, 0) + d^2 / (4 curve).
template <typename Scalar>
Scalar least_gap(const Scalar& slope, const Scalar& distance, const Scalar& curve) {
  const Scalar w = smaller<Scalar>(slope, distance / (2 * curve));
  return Scalar(w * (distance - curve * w));
}

// Bounds the gain of row i where its lines touch the ReLUs in few points of the ball at once:
// docs/proofs/balls.md, "Gains of rows".
template <typename Scalar>
Scalar gain_in_ball(const BallView<Scalar>& ball, const Matrix<Scalar>& rows, Eigen::Index i) {
  const Eigen::Index n = rows.rows();
  const auto in_double = [](const Scalar& x) {
    if constexpr (std::is_floating_point_v<Scalar>)
      return x;
    else
      return x.get_d();
  };
  const auto is_open = [&](Eigen::Index j) {
    return ball.centre(j) - ball.below(j) < 0 && ball.centre(j) + ball.above(j) > 0;
  };
  double squares = 0;
  for (Eigen::Index j = 0; j < n; ++j)
    if (is_open(j)) squares += in_double(rows(j, i)) * in_double(rows(j, i));
  if (!(squares > 0) || !(ball.reach > 0) || !is_finite(ball.reach)) return Scalar(0);
  const auto with = [&](double exponent) {
    const Scalar curve(in_double(ball.reach) / (2 * std::sqrt(squares)) * std::exp2(exponent));
    Scalar sum = -ball.reach * ball.reach / (4 * curve);
    for (Eigen::Index j = 0; j < n; ++j) {
      const Scalar& a = rows(j, i);
      if (a == 0 || !is_open(j)) continue;
      if (a > 0) {
        const Scalar& slope = ball.table(bf::kSlopeLower * n + j);
        const Scalar& z = ball.centre(j);
        sum += z > 0 ? least_gap<Scalar>(a * (1 - slope), z, curve)
                     : least_gap<Scalar>(a * slope, -z, curve);
      } else {
        const Scalar& slope = ball.table(bf::kSlopeUpper * n + j);
        sum += smaller<Scalar>(
            least_gap<Scalar>(-a * slope, larger<Scalar>(ball.below(j), Scalar(0)), curve),
            least_gap<Scalar>(-a * (1 - slope), larger<Scalar>(ball.above(j), Scalar(0)), curve));
      }
    }
    return sum;
  };
  Scalar best(0);
  double at = 0;
  const auto attempt = [&](double exponent) {
    const Scalar gain = with(exponent);
    if (!(gain > best)) return;
    best = gain;
    at = exponent;
  };
  for (int t = 0; t < 8; ++t) attempt(t);
  const double around = at;
  for (const double finer : {-0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8}) attempt(around + finer);
  return best;
}

// Lower bounds of linear forms: the sum over tensors of coefficients times the tensor, + constant.
// Coefficients are [neuron][row]; each tensor's are complete when its link reads them, because its
// readers have larger numbers. Keyed by tensor, not by buffer.
template <typename Scalar>
class RowSet {
 public:
  // slopes: the rows' own, and room for the coefficients; or null.
  RowSet(const Plan& plan, MapCache<Scalar>& maps, Eigen::Index rows,
         RowSlopes<Scalar>* slopes = nullptr)
      : plan_(plan), maps_(maps), slopes_(slopes), constant_(zeros<Scalar>(rows)) {}

  const Vector<Scalar>& constant() const { return constant_; }
  Matrix<Scalar>& of(LayerId tensor) {
    const auto found = held_.find(tensor);
    if (found != held_.end()) return found->second;
    const int count = tensor < 0 ? plan_.input_count : layer(tensor).out;
    return held_.emplace(tensor, zeros<Scalar>(count, constant_.size())).first->second;
  }

  // Coefficients over z of a dense or sum layer -> over its inputs.
  void through_affine(LayerId index, const Matrix<Scalar>& from) {
    const AffineMap<Scalar>& map = maps_.of(index);
    for (Eigen::Index j = 0; j < from.rows(); ++j)
      if (map.bias(j) != 0)
        for (Eigen::Index i = 0; i < from.cols(); ++i) constant_(i) += from(j, i) * map.bias(j);
    const std::vector<LayerId> inputs = inputs_of(layer(index));
    for (std::size_t k = 0; k < inputs.size(); ++k) map.parts[k]->apply_back(from, of(inputs[k]));
  }

  // Passes coefficients over the activations of a link's layer on to the layer's inputs.
  template <typename Memory>
  void through(const BackwardLink& link, const Memory& memory) {
    const auto found = held_.find(link.layer);
    BF_CHECK(found != held_.end());
    Matrix<Scalar> from = std::move(found->second);
    held_.erase(found);
    if (slopes_ != nullptr) slopes_->coefficients[link.layer] = from;
    const Layer& target = layer(link.layer);
    const Vector<Scalar>& table = memory.table(link);
    if (link.ball.reach != BufferId::kNone) {
      const BallView<Scalar> ball = {memory(link.ball.centre), memory(link.ball.below),
                                     memory(link.ball.above), table, memory(link.ball.reach)(0)};
      for (Eigen::Index i = 0; i < from.cols(); ++i) constant_(i) += gain_in_ball(ball, from, i);
    }
    switch (target.kind) {
      case LayerKind::kDense:
      case LayerKind::kSum:
        relax(link.layer, table, from);
        return through_affine(link.layer, from);
      case LayerKind::kProduct:
        return through_product(target, table, from);
      case LayerKind::kMax:
        return through_max(target, table, memory(link.choice), from);
      case LayerKind::kContraction:
        return through_contraction(target, table, from);
      case LayerKind::kLogSoftmax:
        return through_log_softmax(target, table, from);
    }
    BF_CHECK(!"a LayerKind");
  }

 private:
  const Layer& layer(LayerId index) const { return plan_.layer(index); }

  // The line of the coefficient's sign. An infinite intercept counts where a coefficient meets it.
  void relax(LayerId index, const Vector<Scalar>& table, Matrix<Scalar>& rows) {
    const Eigen::Index n = rows.rows();
    const Matrix<Scalar>* const chosen = slopes_ == nullptr ? nullptr : slopes_->find(index);
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < rows.cols(); ++i) {
        Scalar& a = rows(j, i);
        if (a == 0) continue;
        const bool lower = a > 0;
        if (lower && chosen != nullptr) {  // through the origin, or as the table has it
          if (!is_fixed(table, n, j)) {
            a *= (*chosen)(j, i);
            continue;
          }
        }
        constant_(i) += a * table((lower ? bf::kOffsetLower : bf::kOffsetUpper) * n + j);
        a *= table((lower ? bf::kSlopeLower : bf::kSlopeUpper) * n + j);
      }
  }

  void through_product(const Layer& target, const Vector<Scalar>& table,
                       const Matrix<Scalar>& from) {
    const Eigen::Index n = from.rows();
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < from.cols(); ++i)
        if (from(j, i) != 0)
          constant_(i) +=
              from(j, i) * table((from(j, i) > 0 ? bf::kProductLower : bf::kProductUpper) * n + j);
    for (std::size_t side = 0; side < 2; ++side) {
      const Term& term = target.terms[side];
      Matrix<Scalar>& to = of(term.input);
      const int upper = side == 0 ? bf::kUpperSlopeX : bf::kUpperSlopeY;
      const int lower = side == 0 ? bf::kLowerSlopeX : bf::kLowerSlopeY;
      for (Eigen::Index j = 0; j < n; ++j)
        for (Eigen::Index i = 0; i < from.cols(); ++i)
          to(source_of(std::get<GatherMap>(term.map), j), i) +=
              table((from(j, i) < 0 ? upper : lower) * n + j) * from(j, i);
    }
  }

  void through_max(const Layer& target, const Vector<Scalar>& table, const Vector<Scalar>& choice,
                   const Matrix<Scalar>& from) {
    const Eigen::Index n = from.rows();
    Matrix<Scalar>& to = of(target.terms[0].input);
    for (Eigen::Index j = 0; j < n; ++j) {
      const std::int32_t chosen = index_at(choice, j);
      const bool constant = table(bf::kMaxConstant * n + j) == 1;
      for (Eigen::Index i = 0; i < from.cols(); ++i) {
        const Scalar& a = from(j, i);
        if (a < 0 && constant)
          constant_(i) += a * table(bf::kMaxUpper * n + j);
        else if (a != 0)
          to(chosen, i) += a;
      }
    }
  }

  void through_contraction(const Layer& target, const Vector<Scalar>& table,
                           const Matrix<Scalar>& from) {
    const Eigen::Index n = from.rows();
    const Eigen::Index left = target.contraction.left(), right = target.contraction.right();
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < from.cols(); ++i)
        if (from(j, i) != 0) constant_(i) += from(j, i) * table((from(j, i) > 0 ? n : 0) + j);
    Matrix<Scalar>& to_x = of(target.terms[0].input);
    Matrix<Scalar>& to_y = of(target.terms[1].input);
    for_each_contracted(target, [&](Eigen::Index j, Eigen::Index from_x, Eigen::Index from_y,
                                    Eigen::Index at_x, Eigen::Index at_y, bool) {
      const Eigen::Index x = 2 * n + at_x, y = 2 * n + 3 * left + at_y;
      const Scalar &half_x = table(x + 2 * left), &half_y = table(y + 2 * right);
      for (Eigen::Index i = 0; i < from.cols(); ++i) {
        const Scalar& a = from(j, i);
        const Scalar size = magnitude(a);
        to_x(from_x, i) += a * table(y) - size * table(y + right) * half_x;
        to_y(from_y, i) += a * table(x) - size * table(x + left) * half_y;
      }
    });
  }

  void through_log_softmax(const Layer& target, const Vector<Scalar>& table,
                           const Matrix<Scalar>& from) {
    const Eigen::Index n = from.rows();
    const SparseMap& map = std::get<SparseMap>(target.terms[0].map);
    Matrix<Scalar>& to = of(target.terms[0].input);
    for_each_group(map, [&](Eigen::Index begin, Eigen::Index end) {
      for (Eigen::Index i = 0; i < from.cols(); ++i) {
        Scalar positive(0), negative(0);
        for (Eigen::Index k = begin; k < end; ++k) {
          const Scalar& a = from(k, i);
          if (a == 0) continue;
          (a > 0 ? positive : negative) += a;
          constant_(i) += a * table((a > 0 ? bf::kLogSoftmaxLower : bf::kLogSoftmaxUpper) * n + k);
        }
        for (Eigen::Index k = begin; k < end; ++k)
          to(map.column[static_cast<std::size_t>(k)], i) +=
              from(k, i) - positive * table(bf::kAboveSlope * n + k) -
              negative * table(bf::kBelowSlope * n + k);
      }
    });
  }

  static std::int32_t index_at(const Vector<Scalar>& choice, Eigen::Index j) {
    if constexpr (std::is_floating_point_v<Scalar>)
      return static_cast<std::int32_t>(choice(j));
    else
      return static_cast<std::int32_t>(choice(j).get_d());
  }

  const Plan& plan_;
  MapCache<Scalar>& maps_;
  RowSlopes<Scalar>* slopes_;
  std::map<LayerId, Matrix<Scalar>> held_;  // by layer; -1: the input
  Vector<Scalar> constant_;
};

// Bounds each row over the ball in the box: A c less the dual norm of (A_k r_k).
template <typename Scalar>
Vector<Scalar> concretize_ball(Vector<Scalar> least, const Matrix<Scalar>& coefficients,
                               const Interval<Scalar>& box, Norm norm) {
  const Vector<Scalar> centre = box.centre(), radius = box.radius();
  for (Eigen::Index i = 0; i < coefficients.cols(); ++i) {
    Scalar squares(0), largest(0);
    for (Eigen::Index k = 0; k < coefficients.rows(); ++k) {
      const Scalar& a = coefficients(k, i);
      if (a == 0) continue;
      least(i) += a * centre(k);
      const Scalar part = Scalar((a > 0 ? a : Scalar(-a)) * radius(k));
      squares += part * part;
      if (part > largest) largest = part;
    }
    least(i) -= norm == Norm::kEuclid ? root_above(squares) : largest;
  }
  return least;
}

// Bounds each row over one-hot inputs: of each group of elements that vary one is at its upper end.
template <typename Scalar>
Vector<Scalar> concretize_one_hot(Vector<Scalar> least, const Matrix<Scalar>& coefficients,
                                  const Interval<Scalar>& box, Eigen::Index size) {
  for (Eigen::Index i = 0; i < coefficients.cols(); ++i)
    for (Eigen::Index first = 0; first < coefficients.rows(); first += size) {
      std::optional<Scalar> chosen;
      for (Eigen::Index k = first; k < first + size; ++k) {
        const Scalar& a = coefficients(k, i);
        if (a != 0) least(i) += a * box.lower(k);
        if (!(box.lower(k) < box.upper(k))) continue;
        const Scalar more = a * (box.upper(k) - box.lower(k));
        if (!chosen || more < *chosen) chosen = more;
      }
      if (chosen) least(i) += *chosen;
    }
  return least;
}

// Least values of rows over the inputs' set.
template <typename Scalar>
Vector<Scalar> concretize(RowSet<Scalar>& rows, const Interval<Scalar>& box, const Plan& plan) {
  Vector<Scalar> least = rows.constant();
  const Matrix<Scalar>& coefficients = rows.of(-1);
  if (plan.one_hot.size > 0)
    return concretize_one_hot(std::move(least), coefficients, box, plan.one_hot.size);
  const Norm norm = plan.config.norm;
  if (norm != Norm::kLargest) return concretize_ball(std::move(least), coefficients, box, norm);
  for (Eigen::Index k = 0; k < coefficients.rows(); ++k)
    for (Eigen::Index i = 0; i < coefficients.cols(); ++i) {
      const Scalar& a = coefficients(k, i);
      if (a != 0) least(i) += a * (a > 0 ? box.lower(k) : box.upper(k));
    }
  return least;
}

// The number of neurons that go through the links together, such that the two widest tensors'
// coefficients stay within some memory.
inline std::size_t neurons_at_once(const Plan& plan) {
  std::int64_t widest = plan.input_count;
  for (const Layer& layer : plan.layers) widest = std::max<std::int64_t>(widest, layer.out);
  constexpr std::int64_t kNumbers = std::int64_t{1} << 23;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(kNumbers / widest / 2, 1, 256));
}

// Rows +z_j and -z_j of the chosen neurons, passed down all links.
template <typename Scalar, typename Memory>
RowSet<Scalar> rows_of(const Plan& plan, const BackwardRows& step,
                       const std::vector<Eigen::Index>& chosen, MapCache<Scalar>& maps,
                       const Memory& memory, RowSlopes<Scalar>* slopes) {
  const auto count = static_cast<Eigen::Index>(chosen.size());
  const int neurons = plan.layer(step.layer).out;
  Matrix<Scalar> start = zeros<Scalar>(neurons, 2 * count);
  for (Eigen::Index i = 0; i < count; ++i) {
    start(chosen[static_cast<std::size_t>(i)], i) = 1;
    start(chosen[static_cast<std::size_t>(i)], count + i) = -1;
  }
  RowSet<Scalar> rows(plan, maps, 2 * count, slopes);
  rows.through_affine(step.layer, start);
  for (const BackwardLink& link : step.links) rows.through(link, memory);
  return rows;
}

// Keeps what is tighter. A NaN tightens nothing.
template <typename Scalar>
void keep_tighter(const std::vector<Eigen::Index>& chosen, const Vector<Scalar>& least,
                  Interval<Scalar>& bounds) {
  const auto count = static_cast<Eigen::Index>(chosen.size());
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index j = chosen[static_cast<std::size_t>(i)];
    bounds.lower(j) = larger<Scalar>(bounds.lower(j), least(i));
    bounds.upper(j) = smaller<Scalar>(bounds.upper(j), -least(count + i));
  }
}

// The chosen neurons, some at a time.
template <typename Visit>
void for_each_tile(const Plan& plan, const std::vector<Eigen::Index>& chosen, const Visit& visit) {
  const std::size_t unit = neurons_at_once(plan);
  for (std::size_t first = 0; first < chosen.size(); first += unit) {
    const std::size_t end = std::min(first + unit, chosen.size());
    visit(std::vector<Eigen::Index>(chosen.begin() + static_cast<std::ptrdiff_t>(first),
                                    chosen.begin() + static_cast<std::ptrdiff_t>(end)));
  }
}

}  // namespace bf_aot::reference
