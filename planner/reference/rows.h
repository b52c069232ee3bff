#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/plan.h"
#include "planner/reference/linear.h"
#include "planner/reference/numbers.h"

// Backward rows of the reference machine.
namespace bf::reference {

// The layers' affine maps, made when first asked for.
template <typename Scalar>
class MapCache {
 public:
  explicit MapCache(const Plan& plan) : plan_(plan) {}

  const AffineMap<Scalar>& of(int index) {
    const auto found = maps_.find(index);
    if (found != maps_.end()) return found->second;
    const Layer& layer = plan_.layers.at(static_cast<std::size_t>(index));
    return maps_.emplace(index, AffineMap<Scalar>(layer)).first->second;
  }

 private:
  const Plan& plan_;
  std::map<int, AffineMap<Scalar>> maps_;
};

// Lower bounds of linear forms: the sum over tensors of coefficients times the tensor, + constant.
// Coefficients are [neuron][row]; each tensor's are complete when its link reads them, because its
// readers have larger numbers. Keyed by tensor, not by buffer.
template <typename Scalar>
class RowSet {
 public:
  RowSet(const Plan& plan, MapCache<Scalar>& maps, Eigen::Index rows)
      : plan_(plan), maps_(maps), constant_(zeros<Scalar>(rows)) {}

  const Vector<Scalar>& constant() const { return constant_; }
  Matrix<Scalar>& of(int tensor) {
    const auto found = held_.find(tensor);
    if (found != held_.end()) return found->second;
    const int count = tensor < 0 ? plan_.input_count : layer(tensor).out;
    return held_.emplace(tensor, zeros<Scalar>(count, constant_.size())).first->second;
  }

  // Coefficients over z of a dense or sum layer -> over its inputs.
  void through_affine(int index, const Matrix<Scalar>& from) {
    const AffineMap<Scalar>& map = maps_.of(index);
    for (Eigen::Index j = 0; j < from.rows(); ++j)
      if (map.bias(j) != 0)
        for (Eigen::Index i = 0; i < from.cols(); ++i) constant_(i) += from(j, i) * map.bias(j);
    const std::vector<int> inputs = inputs_of(layer(index));
    for (std::size_t k = 0; k < inputs.size(); ++k) map.parts[k]->apply_back(from, of(inputs[k]));
  }

  // Over the activations of a link's layer -> over its inputs.
  template <typename Memory>
  void through(const BackwardLink& link, const Memory& memory) {
    const auto found = held_.find(link.layer);
    BF_CHECK(found != held_.end());
    Matrix<Scalar> from = std::move(found->second);
    held_.erase(found);
    const Layer& target = layer(link.layer);
    const Vector<Scalar>& table = memory(link.table);
    switch (target.kind) {
      case LayerKind::kDense:
      case LayerKind::kSum:
        relax(table, from);
        return through_affine(link.layer, from);
      case LayerKind::kProduct:
        return through_product(target, table, from);
      case LayerKind::kMax:
        return through_max(target, table, memory(link.choice), from);
    }
    BF_CHECK(!"a LayerKind");
  }

 private:
  const Layer& layer(int index) const { return plan_.layers.at(static_cast<std::size_t>(index)); }

  // The line of the coefficient's sign. An infinite intercept counts where a coefficient meets it.
  void relax(const Vector<Scalar>& table, Matrix<Scalar>& rows) {
    const Eigen::Index n = rows.rows();
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < rows.cols(); ++i) {
        Scalar& a = rows(j, i);
        if (a == 0) continue;
        const bool lower = a > 0;
        constant_(i) += a * table((lower ? kOffsetLower : kOffsetUpper) * n + j);
        a *= table((lower ? kSlopeLower : kSlopeUpper) * n + j);
      }
  }

  void through_product(const Layer& target, const Vector<Scalar>& table,
                       const Matrix<Scalar>& from) {
    const Eigen::Index n = from.rows();
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < from.cols(); ++i)
        if (from(j, i) != 0)
          constant_(i) +=
              from(j, i) * table((from(j, i) > 0 ? kProductLower : kProductUpper) * n + j);
    for (std::size_t side = 0; side < 2; ++side) {
      const Term& term = target.terms[side];
      Matrix<Scalar>& to = of(term.input);
      for (Eigen::Index j = 0; j < n; ++j)
        to.row(source_of(std::get<GatherMap>(term.map), j)) +=
            table((side == 0 ? kSlopeX : kSlopeY) * n + j) * from.row(j);
    }
  }

  void through_max(const Layer& target, const Vector<Scalar>& table, const Vector<Scalar>& choice,
                   const Matrix<Scalar>& from) {
    const Eigen::Index n = from.rows();
    Matrix<Scalar>& to = of(target.terms[0].input);
    for (Eigen::Index j = 0; j < n; ++j) {
      const std::int32_t chosen = index_at(choice, j);
      const bool constant = table(kMaxConstant * n + j) == 1;
      for (Eigen::Index i = 0; i < from.cols(); ++i) {
        const Scalar& a = from(j, i);
        if (a < 0 && constant)
          constant_(i) += a * table(kMaxUpper * n + j);
        else if (a != 0)
          to(chosen, i) += a;
      }
    }
  }

  static std::int32_t index_at(const Vector<Scalar>& choice, Eigen::Index j) {
    if constexpr (std::is_floating_point_v<Scalar>)
      return static_cast<std::int32_t>(choice(j));
    else
      return static_cast<std::int32_t>(choice(j).get_d());
  }

  const Plan& plan_;
  MapCache<Scalar>& maps_;
  std::map<int, Matrix<Scalar>> held_;  // by layer; -1: the input
  Vector<Scalar> constant_;
};

// Least values of rows over the input box.
template <typename Scalar>
Vector<Scalar> concretize(RowSet<Scalar>& rows, const Interval<Scalar>& box) {
  Vector<Scalar> least = rows.constant();
  const Matrix<Scalar>& coefficients = rows.of(-1);
  for (Eigen::Index k = 0; k < coefficients.rows(); ++k)
    for (Eigen::Index i = 0; i < coefficients.cols(); ++i) {
      const Scalar& a = coefficients(k, i);
      if (a != 0) least(i) += a * (a > 0 ? box.lower(k) : box.upper(k));
    }
  return least;
}

// How many neurons go through together: the two widest tensors' coefficients stay within some
// memory.
inline std::size_t neurons_at_once(const Plan& plan) {
  std::int64_t widest = plan.input_count;
  for (const Layer& layer : plan.layers) widest = std::max<std::int64_t>(widest, layer.out);
  constexpr std::int64_t kNumbers = std::int64_t{1} << 23;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(kNumbers / widest / 2, 1, 256));
}

// Rows +z_j and -z_j of the chosen neurons, passed down all links; keeps what is tighter. A NaN
// tightens nothing.
template <typename Scalar, typename Memory>
void tighten(const Plan& plan, const BackwardRows& step, const Interval<Scalar>& box,
             const std::vector<Eigen::Index>& chosen, MapCache<Scalar>& maps, const Memory& memory,
             Interval<Scalar>& bounds) {
  const std::size_t unit = neurons_at_once(plan);
  for (std::size_t first = 0; first < chosen.size(); first += unit) {
    const std::size_t pairs = std::min(unit, chosen.size() - first);
    const auto count = static_cast<Eigen::Index>(pairs);
    Matrix<Scalar> start = zeros<Scalar>(bounds.lower.size(), 2 * count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const Eigen::Index j = chosen[first + static_cast<std::size_t>(i)];
      start(j, i) = 1;
      start(j, count + i) = -1;
    }
    RowSet<Scalar> rows(plan, maps, 2 * count);
    rows.through_affine(step.layer, start);
    for (const BackwardLink& link : step.links) rows.through(link, memory);
    const Vector<Scalar> least = concretize(rows, box);
    for (Eigen::Index i = 0; i < count; ++i) {
      const Eigen::Index j = chosen[first + static_cast<std::size_t>(i)];
      bounds.lower(j) = larger<Scalar>(bounds.lower(j), least(i));
      bounds.upper(j) = smaller<Scalar>(bounds.upper(j), -least(count + i));
    }
  }
}

// `most` of the neurons, evenly spread.
inline std::vector<Eigen::Index> spread(const std::vector<Eigen::Index>& chosen, std::size_t most) {
  std::vector<Eigen::Index> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(chosen[i * chosen.size() / most]);
  return some;
}

// As tighten(), with at most `most` rows of each sign. Where that is not all of them, the result is
// an estimate and no bound: every other neuron's interval shrinks at both ends by the same share as
// that of its nearest neighbour below with rows.
template <typename Scalar, typename Memory>
void tighten(const Plan& plan, const BackwardRows& step, const Interval<Scalar>& box,
             const std::vector<Eigen::Index>& chosen, std::size_t most, MapCache<Scalar>& maps,
             const Memory& memory, Interval<Scalar>& bounds) {
  if (chosen.size() <= most) return tighten(plan, step, box, chosen, maps, memory, bounds);
  const std::vector<Eigen::Index> some = spread(chosen, most);
  const Interval<Scalar> before = bounds;
  tighten(plan, step, box, some, maps, memory, bounds);
  std::size_t at = 0;
  for (const Eigen::Index j : chosen) {
    if (at + 1 < some.size() && some[at + 1] <= j) ++at;
    const Eigen::Index model = some[at];
    if (j == model || !before.is_finite(model) || !before.is_finite(j)) continue;
    const Scalar width = before.upper(model) - before.lower(model);
    if (!(width > 0)) continue;
    const Scalar scale = Scalar((before.upper(j) - before.lower(j)) / width);
    bounds.lower(j) += Scalar((bounds.lower(model) - before.lower(model)) * scale);
    bounds.upper(j) -= Scalar((before.upper(model) - bounds.upper(model)) * scale);
  }
}

}  // namespace bf::reference
